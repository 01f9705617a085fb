//! Statements that find known calls: line by line where that costs nothing, all lines in one round trip elsewhere. They
//! look calls up by Call-ID, of which there are few, in the index of imported calls and in that of all others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{is_same_start, second_of};
use crate::cdrs::row::CdrRow;
use crate::cdrs::terms::{CallTerms, Leg};
use db::{Conn, DbError, params, pg_sql, row, sql};
use values::{AccountId, Time, TrunkId};

type Known = BTreeMap<usize, Option<i64>>;

/// Between the Call-IDs of a list, none of which has control characters.
const SEPARATOR: &str = "\u{1f}";

/// The times within the second of a start.
fn whole_second(started_at: Time) -> (Time, Time) {
    let second = second_of(started_at);
    (second, Time::from_millis(second.millis() + 999))
}

pub async fn find_one_by_one(conn: &mut Conn, cdrs: &[(usize, CdrRow)]) -> Result<Known, DbError> {
    let (has_live_calls,) = conn.one(sql!("SELECT EXISTS (SELECT 1 FROM live_calls)"), params![]).await?;
    let mut known = Known::new();
    for (at, (_, CdrRow { terms, .. })) in cdrs.iter().enumerate() {
        if has_live_calls && is_live(conn, terms).await? {
            known.insert(at, None);
        }
        if let Some(duration) = find_duration(conn, terms).await? {
            known.insert(at, Some(duration));
        }
    }
    Ok(known)
}

async fn is_live(conn: &mut Conn, call: &CallTerms) -> Result<bool, DbError> {
    let (first, last) = whole_second(call.started_at);
    let mut is_live = false;
    conn.each(
        sql!(
            "SELECT started_at FROM live_calls
             WHERE account_id = $1 AND started_at BETWEEN $2 AND $3 AND trunk_id = $4 AND call_id = $5 AND leg = $6"
        ),
        params![call.account_id, first, last, call.trunk_id, call.call_id, call.leg],
        |(started_at,): (Time,)| {
            is_live |= is_same_start(call.started_at, started_at);
            Ok(())
        },
    )
    .await?;
    Ok(is_live)
}

async fn find_duration(conn: &mut Conn, call: &CallTerms) -> Result<Option<i64>, DbError> {
    let (first, last) = whole_second(call.started_at);
    let mut duration = None;
    conn.each(
        sql!(
            "SELECT started_at, duration_seconds FROM cdrs
             WHERE call_id = $1 AND imported AND started_at BETWEEN $2 AND $3 AND trunk_id = $4 AND leg = $5
             UNION ALL SELECT started_at, duration_seconds FROM cdrs
             WHERE call_id = $1 AND NOT imported AND started_at BETWEEN $2 AND $3 AND trunk_id = $4 AND leg = $5"
        ),
        params![call.call_id, first, last, call.trunk_id, call.leg],
        |(started_at, seconds): (Time, i64)| {
            if is_same_start(call.started_at, started_at) {
                duration = Some(seconds);
            }
            Ok(())
        },
    )
    .await?;
    Ok(duration)
}

row! {
    /// A call with the Call-ID of a line.
    struct Found {
        trunk_id: TrunkId,
        call_id: String,
        leg: Leg,
        started_at: Time,
        /// None while it is live.
        duration_seconds: Option<i64>,
    }
}

/// The positions of the lines by trunk, Call-ID and leg.
struct Lines<'c> {
    cdrs: &'c [(usize, CdrRow)],
    positions: HashMap<(TrunkId, &'c str, Leg), Vec<usize>>,
}

impl<'c> Lines<'c> {
    fn new(cdrs: &'c [(usize, CdrRow)]) -> Lines<'c> {
        let mut positions: HashMap<_, Vec<usize>> = HashMap::with_capacity(cdrs.len());
        for (at, (_, CdrRow { terms, .. })) in cdrs.iter().enumerate() {
            positions.entry((terms.trunk_id, terms.call_id.as_str(), terms.leg)).or_default().push(at);
        }
        Lines { cdrs, positions }
    }

    /// Marks the lines whose call was found.
    fn mark(&self, found: &Found, known: &mut Known) {
        let same = self.positions.get(&(found.trunk_id, found.call_id.as_str(), found.leg));
        for at in same.into_iter().flatten() {
            let start = self.cdrs.get(*at).map(|(_, cdr)| cdr.terms.started_at);
            if start.is_some_and(|start| is_same_start(start, found.started_at)) {
                known.insert(*at, found.duration_seconds);
            }
        }
    }
}

pub async fn find_together(conn: &mut Conn, cdrs: &[(usize, CdrRow)]) -> Result<Known, DbError> {
    let terms = || cdrs.iter().map(|(_, cdr)| &cdr.terms);
    let starts = terms().map(|call| whole_second(call.started_at));
    let spans = starts.reduce(|(first, last), (next, end)| (first.min(next), last.max(end)));
    let Some((first, last)) = spans else { return Ok(Known::new()) };
    let trunks: BTreeSet<TrunkId> = terms().map(|call| call.trunk_id).collect();
    let trunks = trunks.iter().map(TrunkId::to_string).collect::<Vec<_>>().join(",");
    let accounts: BTreeSet<AccountId> = terms().map(|call| call.account_id).collect();
    let accounts = accounts.iter().map(|account| account.uuid().to_string()).collect::<Vec<_>>().join(",");
    let calls = terms().map(|call| call.call_id.as_str()).collect::<Vec<_>>().join(SEPARATOR);
    // Imports of one trunk follow each other. The unique index cannot tell that a start in milliseconds and one in whole
    // seconds are the same.
    let _: Vec<(i64,)> = conn
        .all(
            pg_sql!(
                "SELECT CAST(1 AS BIGINT) FROM (
                     SELECT pg_advisory_xact_lock(hashtextextended(trunk_id, 0))
                     FROM unnest(string_to_array($1, ',')) AS trunk_id OFFSET 0) AS locks"
            ),
            params![trunks],
        )
        .await?;
    let (lines, mut known) = (Lines::new(cdrs), Known::new());
    let live = pg_sql!(
        "SELECT trunk_id, call_id, leg, started_at, CAST(NULL AS BIGINT) FROM live_calls
         WHERE account_id = ANY (CAST(string_to_array($1, ',') AS UUID[])) AND started_at BETWEEN $2 AND $3
           AND call_id = ANY (string_to_array($4, chr(31)))
         ORDER BY token FOR SHARE"
    );
    let finished = pg_sql!(
        "SELECT trunk_id, call_id, leg, started_at, duration_seconds FROM cdrs
         WHERE trunk_id = ANY (CAST(string_to_array($1, ',') AS UUID[])) AND started_at BETWEEN $2 AND $3
           AND call_id = ANY (string_to_array($4, chr(31))) AND imported
         UNION ALL SELECT trunk_id, call_id, leg, started_at, duration_seconds FROM cdrs
         WHERE trunk_id = ANY (CAST(string_to_array($1, ',') AS UUID[])) AND started_at BETWEEN $2 AND $3
           AND call_id = ANY (string_to_array($4, chr(31))) AND NOT imported"
    );
    for (text, owners) in [(live, &accounts), (finished, &trunks)] {
        conn.each(text, params![owners, first, last, calls], |found: Found| {
            lines.mark(&found, &mut known);
            Ok(())
        })
        .await?;
    }
    Ok(known)
}
