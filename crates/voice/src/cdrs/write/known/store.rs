//! Statements that find known calls: line by line where that costs nothing, all lines in one round trip elsewhere.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::same_starts;
use crate::cdrs::row::CdrRow;
use crate::cdrs::terms::CallTerms;
use db::{Conn, DbError, params, pg_sql, sql};
use values::Time;

type Known = BTreeMap<usize, Option<i64>>;

pub async fn find_one_by_one(conn: &mut Conn, cdrs: &[(usize, CdrRow)]) -> Result<Known, DbError> {
    let (has_live_calls,) = conn.one(sql!("SELECT EXISTS (SELECT 1 FROM live_calls)"), params![]).await?;
    let mut known = Known::new();
    for (at, (_, CdrRow { terms, .. })) in cdrs.iter().enumerate() {
        for starts in same_starts(terms.started_at) {
            if has_live_calls && is_live(conn, terms, starts).await? {
                known.insert(at, None);
            }
            if let Some(duration) = find_duration(conn, terms, starts).await? {
                known.insert(at, Some(duration));
            }
        }
    }
    Ok(known)
}

async fn is_live(conn: &mut Conn, call: &CallTerms, (first, last): (Time, Time)) -> Result<bool, DbError> {
    let (live,) = conn
        .one(
            sql!(
                "SELECT EXISTS (SELECT 1 FROM live_calls
                     WHERE account_id = $1 AND started_at BETWEEN $2 AND $3 AND trunk_id = $4 AND call_id = $5 AND leg = $6)"
            ),
            params![call.account_id, first, last, call.trunk_id, call.call_id, call.leg],
        )
        .await?;
    Ok(live)
}

async fn find_duration(conn: &mut Conn, call: &CallTerms, (first, last): (Time, Time)) -> Result<Option<i64>, DbError> {
    let found: Option<(i64,)> = conn
        .opt(
            sql!(
                "SELECT duration_seconds FROM cdrs
                 WHERE account_id = $1 AND trunk_id = $2 AND started_at BETWEEN $3 AND $4 AND call_id = $5 AND leg = $6"
            ),
            params![call.account_id, call.trunk_id, first, last, call.call_id, call.leg],
        )
        .await?;
    Ok(found.map(|(duration,)| duration))
}

pub async fn find_together(conn: &mut Conn, cdrs: &[(usize, CdrRow)]) -> Result<Known, DbError> {
    let calls = cdrs.iter().enumerate().flat_map(|(at, (_, CdrRow { terms, .. }))| {
        same_starts(terms.started_at).into_iter().map(move |(first, last)| {
            json!({
                "n": at, "account_id": terms.account_id.uuid(), "trunk_id": terms.trunk_id.uuid(),
                "call_id": terms.call_id, "leg": terms.leg, "first": first.millis(), "last": last.millis(),
            })
        })
    });
    let calls = Value::from_iter(calls).to_string();
    // Imports of one trunk follow each other. The unique index cannot tell that a start in milliseconds and one in whole
    // seconds are the same.
    let _: Vec<(i64,)> = conn
        .all(
            pg_sql!(
                "SELECT CAST(1 AS BIGINT) FROM (
                     SELECT pg_advisory_xact_lock(hashtextextended(CAST(trunk_id AS TEXT), 0)) FROM (
                         SELECT DISTINCT trunk_id FROM jsonb_to_recordset(CAST($1 AS JSONB)) AS call (trunk_id UUID)
                         ORDER BY trunk_id) AS trunks OFFSET 0) AS locks"
            ),
            params![calls],
        )
        .await?;
    let live: Vec<(i64,)> = conn
        .all(
            pg_sql!(
                "SELECT call.n FROM jsonb_to_recordset(CAST($1 AS JSONB)) AS call
                     (n BIGINT, account_id UUID, trunk_id UUID, call_id TEXT, leg TEXT, first BIGINT, last BIGINT)
                 JOIN live_calls live ON live.account_id = call.account_id
                     AND live.started_at BETWEEN call.first AND call.last
                     AND live.trunk_id = call.trunk_id AND live.call_id = call.call_id AND live.leg = call.leg
                 ORDER BY live.token FOR SHARE OF live"
            ),
            params![calls],
        )
        .await?;
    let finished: Vec<(i64, i64)> = conn
        .all(
            pg_sql!(
                "SELECT call.n, cdrs.duration_seconds FROM jsonb_to_recordset(CAST($1 AS JSONB)) AS call
                     (n BIGINT, account_id UUID, trunk_id UUID, call_id TEXT, leg TEXT, first BIGINT, last BIGINT)
                 JOIN cdrs ON cdrs.account_id = call.account_id AND cdrs.trunk_id = call.trunk_id
                     AND cdrs.started_at BETWEEN call.first AND call.last
                     AND cdrs.call_id = call.call_id AND cdrs.leg = call.leg"
            ),
            params![calls],
        )
        .await?;
    let position = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut known: Known = live.into_iter().map(|(n,)| (position(n), None)).collect();
    known.extend(finished.into_iter().map(|(n, duration)| (position(n), Some(duration))));
    Ok(known)
}
