//! Which imported calls are known: as a CDR, from events or an earlier import, or as a live call.
//!
//! A call is the same if trunk, Call-ID, leg and start are. Files often have the start in whole seconds: such a start
//! is the same as any within its second.

mod store;

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::cdrs::row::CdrRow;
use crate::cdrs::terms::{CallTerms, Leg};
use db::{Conn, DbError};
use values::{Time, TrunkId};

/// A duplicate whose duration differs from that of the CDR.
#[derive(Clone, Debug, Serialize)]
pub struct DifferingLine {
    /// Line number, from 1.
    pub line: usize,
    /// Seconds from answer to end in the CDR.
    pub ours: i64,
    /// Seconds from answer to end in the line.
    pub theirs: i64,
}

fn second_of(time: Time) -> Time {
    Time::from_millis(time.millis() - time.millis().rem_euclid(1000))
}

fn is_same_start(one: Time, other: Time) -> bool {
    let second = second_of(one);
    one == other || (second == second_of(other) && (one == second || other == second))
}

/// The calls of the lines so far.
#[derive(Default)]
pub struct SeenCalls(HashMap<(TrunkId, String, Leg, Time), Vec<Time>>);

impl SeenCalls {
    /// Whether this is the first line of the call.
    pub fn insert(&mut self, call: &CallTerms) -> bool {
        let key = (call.trunk_id, call.call_id.clone(), call.leg, second_of(call.started_at));
        let starts = self.0.entry(key).or_default();
        let is_new = !starts.iter().any(|start| is_same_start(*start, call.started_at));
        starts.push(call.started_at);
        is_new
    }
}

/// The known calls by their position, with the duration of the CDR; a live call has none yet.
///
/// The live calls are locked first. A call that is ending is in one of the two tables at any time, so it is found.
pub async fn find(conn: &mut Conn, cdrs: &[(usize, CdrRow)]) -> Result<BTreeMap<usize, Option<i64>>, DbError> {
    if conn.is_in_process() { store::find_one_by_one(conn, cdrs).await } else { store::find_together(conn, cdrs).await }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_in_whole_seconds_is_the_same_as_any_within_its_second() {
        let at = Time::from_millis;
        assert!(is_same_start(at(5_000), at(5_999)) && is_same_start(at(5_999), at(5_000)));
        assert!(is_same_start(at(5_123), at(5_123)));
        assert!(!is_same_start(at(5_123), at(5_124)), "two calls with the same Call-ID");
        assert!(!is_same_start(at(5_000), at(6_000)) && !is_same_start(at(5_999), at(6_000)));
    }
}
