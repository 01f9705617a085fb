//! What was called in the last days, from the rollups `usage_routes` and `usage_trunks`.

use uuid::Uuid;

use crate::cdrs::{DAY_SPAN, Days};
use db::{Conn, DbError, params, row, sql};
use values::{AccountId, UpstreamId};

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
