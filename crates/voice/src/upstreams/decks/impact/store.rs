//! What was called in the last days, from the rollups `usage_routes`, `usage_trunks` and `usage_destinations`.

use uuid::Uuid;

use db::{Conn, DbError, params, row, sql};
use values::{AccountId, UpstreamId};

/// Hours of a slot of the rollups of days.
const DAY_SPAN: i64 = 24;
/// Destinations that are looked at.
const MAX_DESTINATIONS: i64 = 50_000;

row! {
    /// Calls to a destination, and which part of them an upstream took.
    #[derive(Clone, Debug)]
    pub struct RouteCalls {
        pub country: String,
        pub destination_name: String,
        pub answered: i64,
        pub seconds: i64,
        pub charge: i64,
        pub cost: i64,
        /// The cost of all upstreams.
        pub total_cost: i64,
    }
}

row! {
    /// Calls of a customer to a destination.
    pub struct CustomerCalls {
        pub country: String,
        pub destination_name: String,
        pub charge: i64,
        pub cost: i64,
    }
}

/// Whole days as the rollups count them, in hours since 1970; the end is exclusive.
#[derive(Clone, Copy, Debug)]
pub struct Days {
    pub start: i64,
    pub end: i64,
}

/// Destinations of answered calls that the upstream took.
pub async fn routes(conn: &mut Conn, upstream: UpstreamId, days: Days) -> Result<Vec<RouteCalls>, DbError> {
    let sql = sql!(
        "SELECT country, destination_name,
                CAST(SUM(CASE WHEN upstream_id = $4 THEN answered ELSE 0 END) AS BIGINT),
                CAST(SUM(CASE WHEN upstream_id = $4 THEN seconds ELSE 0 END) AS BIGINT),
                CAST(SUM(CASE WHEN upstream_id = $4 THEN charge ELSE 0 END) AS BIGINT),
                CAST(SUM(CASE WHEN upstream_id = $4 THEN cost ELSE 0 END) AS BIGINT),
                CAST(SUM(cost) AS BIGINT)
         FROM usage_routes WHERE span = $1 AND slot >= $2 AND slot < $3 AND destination_name <> ''
         GROUP BY country, destination_name
         HAVING SUM(CASE WHEN upstream_id = $4 THEN answered ELSE 0 END) > 0
         ORDER BY country, destination_name LIMIT $5"
    );
    conn.all(sql, params![DAY_SPAN, days.start, days.end, upstream, MAX_DESTINATIONS]).await
}

/// Customers with calls in these days, after another one.
pub async fn customers(conn: &mut Conn, days: Days, after: Uuid, limit: i64) -> Result<Vec<(AccountId,)>, DbError> {
    let sql = sql!(
        "SELECT DISTINCT account_id FROM usage_trunks WHERE span = $1 AND slot >= $2 AND slot < $3 AND account_id > $4
         ORDER BY account_id LIMIT $5"
    );
    conn.all(sql, params![DAY_SPAN, days.start, days.end, after, limit]).await
}

/// What a customer called.
pub async fn calls_of(conn: &mut Conn, customer: AccountId, days: Days) -> Result<Vec<CustomerCalls>, DbError> {
    let sql = sql!(
        "SELECT country, destination_name, CAST(SUM(charge) AS BIGINT), CAST(SUM(cost) AS BIGINT)
         FROM usage_destinations WHERE account_id = $1 AND span = $2 AND slot >= $3 AND slot < $4
             AND destination_name <> ''
         GROUP BY country, destination_name LIMIT $5"
    );
    conn.all(sql, params![customer, DAY_SPAN, days.start, days.end, MAX_DESTINATIONS]).await
}
