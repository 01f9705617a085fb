//! Reads the rollup `usage_destinations`.

use super::{DAY_SPAN, Days};
use db::{Conn, DbError, params, row, sql};
use values::AccountId;

/// Destinations that are looked at.
const MAX_DESTINATIONS: i64 = 50_000;

row! {
    /// Calls of a customer to a destination.
    #[derive(Clone, Debug)]
    pub struct CustomerCalls {
        pub country: String,
        pub destination_name: String,
        pub answered: i64,
        pub seconds: i64,
        pub charge: i64,
        pub cost: i64,
    }
}

/// What a customer called.
pub async fn calls_of(conn: &mut Conn, customer: AccountId, days: Days) -> Result<Vec<CustomerCalls>, DbError> {
    let sql = sql!(
        "SELECT country, destination_name, CAST(SUM(answered) AS BIGINT), CAST(SUM(seconds) AS BIGINT),
                CAST(SUM(charge) AS BIGINT), CAST(SUM(cost) AS BIGINT)
         FROM usage_destinations WHERE account_id = $1 AND span = $2 AND slot >= $3 AND slot < $4
             AND destination_name <> ''
         GROUP BY country, destination_name ORDER BY country, destination_name LIMIT $5"
    );
    conn.all(sql, params![customer, DAY_SPAN, days.start, days.end, MAX_DESTINATIONS]).await
}
