//! Partitions of the table `cdrs`.

use db::{Conn, DbError, params, sql};
use values::Time;

pub async fn create(conn: &mut Conn, moment: Time) -> Result<(), DbError> {
    let _: (i64,) =
        conn.one(sql!("SELECT CAST($1 AS BIGINT) /*pg * 0 + make_cdr_months($1) */"), params![moment]).await?;
    Ok(())
}

/// Drops the months that end at a time or before, whose calls the archive has. Does nothing on SQLite.
pub async fn drop_before(conn: &mut Conn, moment: Time) -> Result<(), DbError> {
    let _: (i64,) =
        conn.one(sql!("SELECT CAST($1 AS BIGINT) /*pg * 0 + drop_cdr_months($1) */"), params![moment]).await?;
    Ok(())
}
