//! Tables `usage_trunks`, `usage_destinations` and `usage_routes`.
//!
//! A statement names every slot that it reads, each of which is a lookup in an index, whatever else is in the table. With
//! a join of ranges PostgreSQL may choose to read all slots for each of them.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::buckets::{DAY_SPAN, HOUR_SPAN, Part};
use crate::cdrs::rollups::{RollupDelta, TrunkHours};
use db::{Conn, DbError, Statement, Value, row, sql};
use values::AccountId;

/// Rows that a statement returns at most.
pub const MAX_ROWS: i64 = 100_000;

/// By hour, country and destination.
pub type DestinationHours = BTreeMap<(i64, String, String), RollupDelta>;
/// By hour, country, destination and upstream, which is the UUID of zeros if there is none.
pub type RouteHours = BTreeMap<(i64, String, String, Uuid), RollupDelta>;

row! {
    /// Calls of one point and one id.
    pub struct IdPoint {
        pub number: i64,
        pub id: Uuid,
        pub attempts: i64,
        pub answered: i64,
        pub seconds: i64,
        pub charge: i64,
        pub cost: i64,
    }
}

row! {
    /// Calls of one point and one country or destination.
    pub struct NamePoint {
        pub number: i64,
        pub name: String,
        pub attempts: i64,
        pub answered: i64,
        pub seconds: i64,
        pub charge: i64,
        pub cost: i64,
    }
}

/// By what an account's calls are summed up, where that is a text.
#[derive(Clone, Copy)]
pub enum ByName {
    Nothing,
    Country,
    Destination,
}

/// By what the calls of all accounts are summed up, where that is an id.
#[derive(Clone, Copy)]
pub enum ById {
    Trunk,
    Customer,
    Upstream,
}

/// An account's points by trunk.
pub async fn trunks_of(conn: &mut Conn, account: AccountId, part: &Part) -> Result<Vec<IdPoint>, DbError> {
    let sql = sql!(
        "SELECT slot / $4, trunk_id, /*pg big*/SUM(attempts), /*pg big*/SUM(answered),
                /*pg big*/SUM(seconds), /*pg big*/SUM(charge), /*pg big*/SUM(cost)
         FROM usage_trunks WHERE account_id = $1 AND span = $2 AND slot
             /*pg = ANY (CAST(translate($3, '[]', '{}') AS BIGINT[])) --*/ IN (SELECT value FROM json_each($3))
         GROUP BY 1, 2 LIMIT $5"
    );
    conn.all(sql, &of_account(account, part)).await
}

/// An account's points of each part, all together or by country or destination.
pub async fn names_of(
    conn: &mut Conn,
    account: AccountId,
    by: ByName,
    parts: &[Part],
) -> Result<Vec<Vec<NamePoint>>, DbError> {
    let sql = match by {
        ByName::Nothing => sql!(
            "SELECT slot / $4, CAST('' AS TEXT), /*pg big*/SUM(attempts), /*pg big*/SUM(answered),
                    /*pg big*/SUM(seconds), /*pg big*/SUM(charge), /*pg big*/SUM(cost)
             FROM usage_trunks WHERE account_id = $1 AND span = $2 AND slot
                 /*pg = ANY (CAST(translate($3, '[]', '{}') AS BIGINT[])) --*/ IN (SELECT value FROM json_each($3))
             GROUP BY 1 LIMIT $5"
        ),
        ByName::Country => sql!(
            "SELECT slot / $4, country, /*pg big*/SUM(attempts), /*pg big*/SUM(answered),
                    /*pg big*/SUM(seconds), /*pg big*/SUM(charge), /*pg big*/SUM(cost)
             FROM usage_destinations WHERE account_id = $1 AND span = $2 AND slot
                 /*pg = ANY (CAST(translate($3, '[]', '{}') AS BIGINT[])) --*/ IN (SELECT value FROM json_each($3))
             GROUP BY 1, 2 LIMIT $5"
        ),
        ByName::Destination if parts.iter().all(Part::has_few_slots_per_number) => sql!(
            "SELECT slot / $4, destination_name, attempts, answered, seconds, charge, cost
             FROM usage_destinations WHERE account_id = $1 AND span = $2 AND slot
                 /*pg = ANY (CAST(translate($3, '[]', '{}') AS BIGINT[])) --*/ IN (SELECT value FROM json_each($3))
             LIMIT $5"
        ),
        ByName::Destination => sql!(
            "SELECT slot / $4, destination_name, /*pg big*/SUM(attempts), /*pg big*/SUM(answered),
                    /*pg big*/SUM(seconds), /*pg big*/SUM(charge), /*pg big*/SUM(cost)
             FROM usage_destinations WHERE account_id = $1 AND span = $2 AND slot
                 /*pg = ANY (CAST(translate($3, '[]', '{}') AS BIGINT[])) --*/ IN (SELECT value FROM json_each($3))
             GROUP BY 1, 2 LIMIT $5"
        ),
    };
    let lists: Vec<Vec<Value<'_>>> = parts.iter().map(|part| of_account(account, part).into()).collect();
    conn.all_each(sql, &lists).await
}

/// The points of all accounts by trunk, customer or upstream.
pub async fn ids_of_all(conn: &mut Conn, by: ById, part: &Part) -> Result<Vec<IdPoint>, DbError> {
    let sql = match by {
        ById::Trunk => sql!(
            "SELECT slot / $3, trunk_id, /*pg big*/SUM(attempts), /*pg big*/SUM(answered),
                    /*pg big*/SUM(seconds), /*pg big*/SUM(charge), /*pg big*/SUM(cost)
             FROM usage_trunks WHERE span = $1 AND slot
                 /*pg = ANY (CAST(translate($2, '[]', '{}') AS BIGINT[])) --*/ IN (SELECT value FROM json_each($2))
             GROUP BY 1, 2 LIMIT $4"
        ),
        ById::Customer => sql!(
            "SELECT slot / $3, account_id, /*pg big*/SUM(attempts), /*pg big*/SUM(answered),
                    /*pg big*/SUM(seconds), /*pg big*/SUM(charge), /*pg big*/SUM(cost)
             FROM usage_trunks WHERE span = $1 AND slot
                 /*pg = ANY (CAST(translate($2, '[]', '{}') AS BIGINT[])) --*/ IN (SELECT value FROM json_each($2))
             GROUP BY 1, 2 LIMIT $4"
        ),
        ById::Upstream => sql!(
            "SELECT slot / $3, upstream_id, /*pg big*/SUM(attempts), /*pg big*/SUM(answered),
                    /*pg big*/SUM(seconds), /*pg big*/SUM(charge), /*pg big*/SUM(cost)
             FROM usage_routes WHERE span = $1 AND slot
                 /*pg = ANY (CAST(translate($2, '[]', '{}') AS BIGINT[])) --*/ IN (SELECT value FROM json_each($2))
             GROUP BY 1, 2 LIMIT $4"
        ),
    };
    conn.all(sql, &of_part(part)).await
}

/// The points of all accounts, all together or by country or destination. Most destinations have few upstreams, so that
/// reading their rows takes less than summing them up; there may be several rows of a point then.
pub async fn names_of_all(conn: &mut Conn, by: ByName, part: &Part) -> Result<Vec<NamePoint>, DbError> {
    if matches!(by, ByName::Destination) && part.has_few_slots_per_number() {
        let sql = sql!(
            "SELECT slot / $3, destination_name, attempts, answered, seconds, charge, cost
             FROM usage_routes WHERE span = $1 AND slot
                 /*pg = ANY (CAST(translate($2, '[]', '{}') AS BIGINT[])) --*/ IN (SELECT value FROM json_each($2))
             LIMIT $4"
        );
        let rows: Vec<NamePoint> = conn.all(sql, &of_part(part)).await?;
        if is_within_limit(rows.len()) {
            return Ok(rows);
        }
    }
    let sql = match by {
        ByName::Nothing => sql!(
            "SELECT slot / $3, CAST('' AS TEXT), /*pg big*/SUM(attempts), /*pg big*/SUM(answered),
                    /*pg big*/SUM(seconds), /*pg big*/SUM(charge), /*pg big*/SUM(cost)
             FROM usage_routes WHERE span = $1 AND slot
                 /*pg = ANY (CAST(translate($2, '[]', '{}') AS BIGINT[])) --*/ IN (SELECT value FROM json_each($2))
             GROUP BY 1 LIMIT $4"
        ),
        ByName::Country => sql!(
            "SELECT slot / $3, country, /*pg big*/SUM(attempts), /*pg big*/SUM(answered),
                    /*pg big*/SUM(seconds), /*pg big*/SUM(charge), /*pg big*/SUM(cost)
             FROM usage_routes WHERE span = $1 AND slot
                 /*pg = ANY (CAST(translate($2, '[]', '{}') AS BIGINT[])) --*/ IN (SELECT value FROM json_each($2))
             GROUP BY 1, 2 LIMIT $4"
        ),
        ByName::Destination => sql!(
            "SELECT slot / $3, destination_name, /*pg big*/SUM(attempts), /*pg big*/SUM(answered),
                    /*pg big*/SUM(seconds), /*pg big*/SUM(charge), /*pg big*/SUM(cost)
             FROM usage_routes WHERE span = $1 AND slot
                 /*pg = ANY (CAST(translate($2, '[]', '{}') AS BIGINT[])) --*/ IN (SELECT value FROM json_each($2))
             GROUP BY 1, 2 LIMIT $4"
        ),
    };
    conn.all(sql, &of_part(part)).await
}

/// Whether a statement returned all rows.
pub fn is_within_limit(rows: usize) -> bool {
    i64::try_from(rows).is_ok_and(|rows| rows <= MAX_ROWS)
}

/// Span, slots as a JSON array, width and limit.
fn of_part(part: &Part) -> [Value<'static>; 4] {
    let slots: Vec<String> = part.slots.iter().map(i64::to_string).collect();
    let [span, width, limit] = [part.span, part.width, MAX_ROWS + 1].map(Value::Int);
    [span, text(format!("[{}]", slots.join(","))), width, limit]
}

fn of_account(account: AccountId, part: &Part) -> [Value<'static>; 5] {
    let [span, slots, width, limit] = of_part(part);
    [Value::Uuid(account.uuid()), span, slots, width, limit]
}

/// What adds to the rollups of an account.
pub fn add(account: AccountId, trunks: &TrunkHours, destinations: &DestinationHours) -> Vec<Statement> {
    let into_trunks = sql!(
        "INSERT INTO usage_trunks (account_id, span, slot, trunk_id, attempts, answered, seconds, charge, cost)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (account_id, span, slot, trunk_id) DO UPDATE SET
             attempts = usage_trunks.attempts + excluded.attempts,
             answered = usage_trunks.answered + excluded.answered,
             seconds = usage_trunks.seconds + excluded.seconds,
             charge = usage_trunks.charge + excluded.charge,
             cost = usage_trunks.cost + excluded.cost"
    );
    let into_destinations = sql!(
        "INSERT INTO usage_destinations
             (account_id, span, slot, country, destination_name, attempts, answered, seconds, charge, cost)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (account_id, span, slot, country, destination_name) DO UPDATE SET
             attempts = usage_destinations.attempts + excluded.attempts,
             answered = usage_destinations.answered + excluded.answered,
             seconds = usage_destinations.seconds + excluded.seconds,
             charge = usage_destinations.charge + excluded.charge,
             cost = usage_destinations.cost + excluded.cost"
    );
    let mut statements = Vec::new();
    for (span, slots) in with_days(trunks, |(hour, trunk), slot| (slot(*hour), *trunk)) {
        statements.extend(slots.into_iter().map(|((slot, trunk), sums)| {
            let key = [Value::Uuid(account.uuid()), Value::Int(span), Value::Int(slot), Value::Uuid(trunk.uuid())];
            Statement { text: into_trunks, params: key.into_iter().chain(amounts(sums)).collect() }
        }));
    }
    let of_slot = |(hour, country, name): &(i64, String, String), slot: &dyn Fn(i64) -> i64| {
        (slot(*hour), country.clone(), name.clone())
    };
    for (span, slots) in with_days(destinations, of_slot) {
        statements.extend(slots.into_iter().map(|((slot, country, name), sums)| {
            let key = [Value::Uuid(account.uuid()), Value::Int(span), Value::Int(slot), text(country), text(name)];
            Statement { text: into_destinations, params: key.into_iter().chain(amounts(sums)).collect() }
        }));
    }
    statements
}

/// Adds to the rollups of all accounts, which every transaction with calls changes: to be called last, so that the
/// others wait for no more than the commit.
pub async fn add_routes(conn: &mut Conn, routes: &RouteHours) -> Result<(), DbError> {
    let into_routes = sql!(
        "INSERT INTO usage_routes
             (span, slot, country, destination_name, upstream_id, attempts, answered, seconds, charge, cost)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (span, slot, country, destination_name, upstream_id) DO UPDATE SET
             attempts = usage_routes.attempts + excluded.attempts,
             answered = usage_routes.answered + excluded.answered,
             seconds = usage_routes.seconds + excluded.seconds,
             charge = usage_routes.charge + excluded.charge,
             cost = usage_routes.cost + excluded.cost"
    );
    let of_slot = |(hour, country, name, upstream): &(i64, String, String, Uuid), slot: &dyn Fn(i64) -> i64| {
        (slot(*hour), country.clone(), name.clone(), *upstream)
    };
    let mut statements = Vec::new();
    for (span, slots) in with_days(routes, of_slot) {
        statements.extend(slots.into_iter().map(|((slot, country, name, upstream), sums)| {
            let key = [Value::Int(span), Value::Int(slot), text(country), text(name), Value::Uuid(upstream)];
            Statement { text: into_routes, params: key.into_iter().chain(amounts(sums)).collect() }
        }));
    }
    conn.exec_many(&statements).await?;
    Ok(())
}

/// The same sums by hour and by UTC day, each in the order of the keys, which is that of the locks.
fn with_days<K: Ord>(
    hours: &BTreeMap<K, RollupDelta>,
    of_slot: impl Fn(&K, &dyn Fn(i64) -> i64) -> K,
) -> [(i64, BTreeMap<K, RollupDelta>); 2] {
    [HOUR_SPAN, DAY_SPAN].map(|span| {
        let mut slots: BTreeMap<K, RollupDelta> = BTreeMap::new();
        for (key, sums) in hours.iter().filter(|(_, sums)| **sums != RollupDelta::default()) {
            slots.entry(of_slot(key, &|hour| hour.div_euclid(span) * span)).or_default().add(*sums);
        }
        (span, slots)
    })
}

fn text(text: String) -> Value<'static> {
    Value::Text(text.into())
}

fn amounts(sums: RollupDelta) -> [Value<'static>; 5] {
    [sums.attempts, sums.answered, sums.seconds, sums.charge, sums.cost].map(Value::Int)
}
