//! Partitions of the table `cdrs`.

use db::{Conn, DbError, params, sql};

pub async fn create(conn: &mut Conn) -> Result<(), DbError> {
    let _: (i64,) =
        conn.one(sql!("SELECT CAST($1 AS BIGINT) /*pg * 0 + make_cdr_months($1) */"), params![conn.now()]).await?;
    Ok(())
}
