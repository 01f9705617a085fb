//! Partitions of the table `cdrs`.

use db::{Conn, DbError, params, sql};
use values::Time;

pub async fn create(conn: &mut Conn, moment: Time) -> Result<(), DbError> {
    let _: (i64,) =
        conn.one(sql!("SELECT CAST($1 AS BIGINT) /*pg * 0 + make_cdr_months($1) */"), params![moment]).await?;
    Ok(())
}
