//! Room for records.

use db::{Conn, DbError, params, sql};
use values::Time;

/// Makes the parts of the table for the months around a moment, where the table has parts.
pub async fn make_months(conn: &mut Conn, now: Time) -> Result<(), DbError> {
    let _: (i64,) = conn.one(sql!("SELECT CAST($1 AS BIGINT) /*pg * 0 + make_cdr_months($1) */"), params![now]).await?;
    Ok(())
}
