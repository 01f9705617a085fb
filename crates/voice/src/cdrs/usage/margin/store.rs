//! Sums of the tables `usage_trunks` and `usage_routes` by key, in the order of the keys.
//!
//! A statement reads the slots of the period and returns at most a page. A key without calls has no row: they may have
//! been moved to another one.

use uuid::Uuid;

use crate::cdrs::rollups::RollupDelta;
use crate::cdrs::usage::buckets::Slots;
use crate::cdrs::usage::store::NamePoint;
use db::{Conn, DbError, params, row, sql};

row! {
    /// Calls of a customer or upstream.
    pub struct IdSums {
        pub id: Uuid,
        pub attempts: i64,
        pub answered: i64,
        pub seconds: i64,
        pub charge: i64,
        pub cost: i64,
    }
}

row! {
    /// Calls to a destination.
    pub struct NameSums {
        pub name: String,
        pub attempts: i64,
        pub answered: i64,
        pub seconds: i64,
        pub charge: i64,
        pub cost: i64,
    }
}

impl IdSums {
    pub fn sums(&self) -> RollupDelta {
        let IdSums { attempts, answered, seconds, charge, cost, .. } = *self;
        RollupDelta { attempts, answered, seconds, charge, cost }
    }
}

impl NameSums {
    pub fn sums(&self) -> RollupDelta {
        let NameSums { attempts, answered, seconds, charge, cost, .. } = *self;
        RollupDelta { attempts, answered, seconds, charge, cost }
    }
}

impl NamePoint {
    pub fn sums(&self) -> RollupDelta {
        let NamePoint { attempts, answered, seconds, charge, cost, .. } = *self;
        RollupDelta { attempts, answered, seconds, charge, cost }
    }
}

/// By customer, from this id on.
pub async fn customers(conn: &mut Conn, slots: &Slots, from: Uuid, limit: i64) -> Result<Vec<IdSums>, DbError> {
    let sql = sql!(
        "SELECT account_id, CAST(SUM(attempts) AS BIGINT), CAST(SUM(answered) AS BIGINT),
                CAST(SUM(seconds) AS BIGINT), CAST(SUM(charge) AS BIGINT), CAST(SUM(cost) AS BIGINT)
         FROM usage_trunks WHERE span = $1 AND slot >= $2 AND slot < $3 AND account_id >= $4
         GROUP BY account_id HAVING SUM(attempts) > 0 ORDER BY account_id LIMIT $5"
    );
    conn.all(sql, params![slots.span, slots.start, slots.end, from, limit]).await
}

/// By upstream, from this id on.
pub async fn upstreams(conn: &mut Conn, slots: &Slots, from: Uuid, limit: i64) -> Result<Vec<IdSums>, DbError> {
    let sql = sql!(
        "SELECT upstream_id, CAST(SUM(attempts) AS BIGINT), CAST(SUM(answered) AS BIGINT),
                CAST(SUM(seconds) AS BIGINT), CAST(SUM(charge) AS BIGINT), CAST(SUM(cost) AS BIGINT)
         FROM usage_routes WHERE span = $1 AND slot >= $2 AND slot < $3 AND upstream_id >= $4
         GROUP BY upstream_id HAVING SUM(attempts) > 0 ORDER BY upstream_id LIMIT $5"
    );
    conn.all(sql, params![slots.span, slots.start, slots.end, from, limit]).await
}

/// By destination, from this name on.
pub async fn destinations(conn: &mut Conn, slots: &Slots, from: &str, limit: i64) -> Result<Vec<NameSums>, DbError> {
    let sql = sql!(
        "SELECT destination_name, CAST(SUM(attempts) AS BIGINT), CAST(SUM(answered) AS BIGINT),
                CAST(SUM(seconds) AS BIGINT), CAST(SUM(charge) AS BIGINT), CAST(SUM(cost) AS BIGINT)
         FROM usage_routes WHERE span = $1 AND slot >= $2 AND slot < $3
             AND destination_name /*pg COLLATE \"C\" */ >= $4
         GROUP BY destination_name HAVING SUM(attempts) > 0
         ORDER BY destination_name /*pg COLLATE \"C\" */ LIMIT $5"
    );
    conn.all(sql, params![slots.span, slots.start, slots.end, from, limit]).await
}

row! {
    struct Totals {
        attempts: i64,
        answered: i64,
        seconds: i64,
        charge: i64,
        cost: i64,
    }
}

/// All calls of the period.
pub async fn totals(conn: &mut Conn, period: &[Slots]) -> Result<RollupDelta, DbError> {
    let sql = sql!(
        "SELECT CAST(COALESCE(SUM(attempts), 0) AS BIGINT), CAST(COALESCE(SUM(answered), 0) AS BIGINT),
                CAST(COALESCE(SUM(seconds), 0) AS BIGINT), CAST(COALESCE(SUM(charge), 0) AS BIGINT),
                CAST(COALESCE(SUM(cost), 0) AS BIGINT)
         FROM usage_routes WHERE span = $1 AND slot >= $2 AND slot < $3"
    );
    let mut all = RollupDelta::default();
    for slots in period {
        let Totals { attempts, answered, seconds, charge, cost } =
            conn.one(sql, params![slots.span, slots.start, slots.end]).await?;
        all.add(RollupDelta { attempts, answered, seconds, charge, cost });
    }
    Ok(all)
}
