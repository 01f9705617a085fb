//! Tables `suspended_cdrs` and `suspense_counts`.

use std::collections::BTreeMap;

use super::types::{SuspendedCdrId, SuspenseReason};
use crate::cdrs::import::types::ImportLine;
use crate::cdrs::terms::{CallStatus, Leg};
use crate::cdrs::time::SwitchTime;
use db::{Conn, DbError, insert, params, row, sql};
use values::{Text, Time, TrunkId, UpstreamId};

row! {
    #[derive(Clone, Debug)]
    pub struct SuspendedRow {
        pub id: SuspendedCdrId,
        pub reason: SuspenseReason,
        pub call_id: Text<1, 255>,
        pub leg: Leg,
        pub trunk_id: Option<TrunkId>,
        pub source_ip: Option<Text<1, 64>>,
        pub upstream_id: Option<UpstreamId>,
        pub calling: Option<Text<0, 128>>,
        pub called: Text<1, 128>,
        pub started_at: Time,
        pub answered_at: Option<Time>,
        pub ended_at: Time,
        pub status: CallStatus,
        pub suspended_at: Time,
    }
}

impl SuspendedRow {
    /// The line as it was imported.
    pub fn line(&self) -> ImportLine {
        ImportLine {
            call_id: self.call_id.clone(),
            leg: self.leg,
            trunk_id: self.trunk_id,
            source_ip: self.source_ip.clone(),
            upstream_id: self.upstream_id,
            calling: self.calling.clone(),
            called: self.called.clone(),
            started_at: SwitchTime(self.started_at),
            answered_at: self.answered_at.map(SwitchTime),
            ended_at: SwitchTime(self.ended_at),
            status: self.status,
        }
    }
}

/// Suspends lines and returns how many were not suspended before.
pub async fn insert(conn: &mut Conn, lines: &[(ImportLine, SuspenseReason)]) -> Result<usize, DbError> {
    let mut added = BTreeMap::new();
    for (line, reason) in lines {
        let source_ip = line.source_ip.as_ref().map(ToString::to_string);
        let origin = line.trunk_id.map(|id| id.to_string()).or(source_ip).unwrap_or_default();
        let inserted = insert!(
            conn,
            suspended_cdrs {
                id: conn.new_id::<SuspendedCdrId>(),
                reason: *reason,
                call_id: line.call_id,
                leg: line.leg,
                trunk_id: line.trunk_id,
                source_ip: line.source_ip,
                upstream_id: line.upstream_id,
                calling: line.calling,
                called: line.called,
                started_at: line.started_at.0,
                answered_at: line.answered_at.map(|at| at.0),
                ended_at: line.ended_at.0,
                status: line.status,
                origin,
                suspended_at: conn.now()
            },
            "ON CONFLICT (call_id, leg, started_at, origin) DO NOTHING"
        )
        .await?;
        if inserted == 1 {
            *added.entry(*reason).or_default() += 1;
        }
    }
    add_to_counts(conn, &added).await?;
    Ok(usize::try_from(added.values().sum::<i64>()).unwrap_or_default())
}

/// In the order of the reasons, so that two transactions do not wait for each other.
async fn add_to_counts(conn: &mut Conn, changes: &BTreeMap<SuspenseReason, i64>) -> Result<(), DbError> {
    for (reason, change) in changes {
        insert!(conn, suspense_counts { reason: *reason, lines: 0i64 }, "ON CONFLICT (reason) DO NOTHING").await?;
        let sql = sql!("UPDATE suspense_counts SET lines = lines + $2 WHERE reason = $1");
        conn.exec(sql, params![*reason, *change]).await?;
    }
    Ok(())
}

/// Lines whose suspense a transaction ends, and why they were suspended.
pub type Taken = BTreeMap<SuspendedCdrId, SuspenseReason>;

/// Ends the suspense of these lines, and returns those that were suspended. Others wait for the rows until the commit, so
/// each line is taken once. [`count_taken`] counts them.
pub async fn take(conn: &mut Conn, ids: &[SuspendedCdrId]) -> Result<Taken, DbError> {
    let mut taken = Taken::new();
    for id in ids {
        let deleted: Option<(SuspenseReason,)> =
            conn.opt(sql!("DELETE FROM suspended_cdrs WHERE id = $1 RETURNING reason"), params![*id]).await?;
        taken.extend(deleted.map(|(reason,)| (*id, reason)));
    }
    Ok(taken)
}

/// Counts lines that were taken. It comes late in a transaction: all that change the suspense wait for the counts.
pub async fn count_taken(conn: &mut Conn, taken: &Taken) -> Result<(), DbError> {
    let mut changes: BTreeMap<SuspenseReason, i64> = BTreeMap::new();
    for reason in taken.values() {
        *changes.entry(*reason).or_default() -= 1;
    }
    add_to_counts(conn, &changes).await
}

/// Changes why lines are suspended. The counts come last, as when lines are [taken](count_taken).
pub async fn set_reasons(conn: &mut Conn, changes: &[(SuspendedRow, SuspenseReason)]) -> Result<(), DbError> {
    let mut counts: BTreeMap<SuspenseReason, i64> = BTreeMap::new();
    for (row, reason) in changes {
        let sql = sql!("UPDATE suspended_cdrs SET reason = $2 WHERE id = $1 AND reason = $3");
        if conn.exec(sql, params![row.id, *reason, row.reason]).await? == 1 {
            *counts.entry(row.reason).or_default() -= 1;
            *counts.entry(*reason).or_default() += 1;
        }
    }
    add_to_counts(conn, &counts).await
}

pub async fn find(conn: &mut Conn, id: SuspendedCdrId) -> Result<Option<SuspendedRow>, DbError> {
    conn.opt(sql!("SELECT ", SuspendedRow::COLS, " FROM suspended_cdrs WHERE id = $1"), params![id]).await
}

/// A page, newest first.
pub async fn list(
    conn: &mut Conn,
    reason: Option<SuspenseReason>,
    call_id: Option<&Text<1, 255>>,
    (at, id): (Time, SuspendedCdrId),
    limit: i64,
) -> Result<Vec<SuspendedRow>, DbError> {
    match (call_id, reason) {
        (Some(call_id), _) => {
            conn.all(
                sql!(
                    "SELECT ",
                    SuspendedRow::COLS,
                    " FROM suspended_cdrs WHERE call_id = $1 AND reason = COALESCE($2, reason)
                     AND (suspended_at, id) < ($3, $4) ORDER BY suspended_at DESC, id DESC LIMIT $5"
                ),
                params![*call_id, reason, at, id, limit],
            )
            .await
        }
        (None, Some(reason)) => {
            conn.all(
                sql!(
                    "SELECT ",
                    SuspendedRow::COLS,
                    " FROM suspended_cdrs WHERE reason = $1 AND (suspended_at, id) < ($2, $3)
                     ORDER BY suspended_at DESC, id DESC LIMIT $4"
                ),
                params![reason, at, id, limit],
            )
            .await
        }
        (None, None) => {
            conn.all(
                sql!(
                    "SELECT ",
                    SuspendedRow::COLS,
                    " FROM suspended_cdrs WHERE (suspended_at, id) < ($1, $2)
                     ORDER BY suspended_at DESC, id DESC LIMIT $3"
                ),
                params![at, id, limit],
            )
            .await
        }
    }
}

/// The oldest lines after this one.
pub async fn list_oldest(
    conn: &mut Conn,
    (at, id): (Time, SuspendedCdrId),
    limit: i64,
) -> Result<Vec<SuspendedRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            SuspendedRow::COLS,
            " FROM suspended_cdrs WHERE (suspended_at, id) > ($1, $2) ORDER BY suspended_at, id LIMIT $3"
        ),
        params![at, id, limit],
    )
    .await
}

/// Suspended lines by reason.
pub async fn counts(conn: &mut Conn) -> Result<Vec<(SuspenseReason, i64)>, DbError> {
    conn.all(sql!("SELECT reason, lines FROM suspense_counts WHERE lines > 0 ORDER BY reason"), params![]).await
}
