//! How the queue stands: what waits, for how long, and what was given up.

use std::time::Duration;

use db::{Conn, Result};
use db::{params, sql};
use values::Time;

/// How many of the jobs that come next are looked at.
const MAX_LAG_SAMPLE: i64 = 64;
/// Beyond this nobody needs the exact number.
const MAX_COUNTED: i64 = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueStats {
    /// Jobs that are due and that nobody runs.
    pub waiting: i64,
    /// Jobs that were given up.
    pub dead: i64,
    pub lag: Duration,
}

/// How far the queue is behind: the longest that one of the next jobs has been there for anybody to take.
pub async fn lag(conn: &mut Conn, now: Time) -> Result<Duration> {
    let next: Vec<(Time, Time, Time)> = conn
        .all(
            sql!(
                "SELECT run_at, created_at, lease_until FROM jobs
                 WHERE dead_at IS NULL AND run_at <= $1 AND lease_until <= $1 ORDER BY run_at, id LIMIT $2"
            ),
            params![now, MAX_LAG_SAMPLE],
        )
        .await?;
    // The job of a tick that was missed has been due since then, and one whose node died since before it was begun.
    // Neither could be taken before it was made, or let go of.
    let waits = next.into_iter().map(|(run_at, created_at, freed_at)| now.since(run_at.max(created_at).max(freed_at)));
    Ok(waits.max().unwrap_or_default())
}

/// The counts are in the order of their indexes, so that no engine reads the whole table for them.
pub async fn queue_stats(conn: &mut Conn, now: Time) -> Result<QueueStats> {
    let (waiting,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM (SELECT id FROM jobs
                     WHERE dead_at IS NULL AND run_at <= $1 AND lease_until <= $1
                     ORDER BY run_at, id LIMIT $2) AS due"
            ),
            params![now, MAX_COUNTED],
        )
        .await?;
    let (dead,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM (SELECT id FROM jobs WHERE dead_at IS NOT NULL
                     ORDER BY dead_at, id LIMIT $1) AS dead"
            ),
            params![MAX_COUNTED],
        )
        .await?;
    Ok(QueueStats { waiting, dead, lag: lag(conn, now).await? })
}
