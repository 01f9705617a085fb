//! The length and the lag of the queue.

use std::time::Duration;

use super::class::Class;
use db::{Conn, Result};
use db::{params, sql};
use values::Time;

/// Number of the next jobs that the lag is computed from.
const MAX_LAG_SAMPLE: i64 = 64;
/// Counts stop here, to keep them cheap.
const MAX_COUNTED: i64 = 10_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStats {
    pub classes: Vec<ClassStats>,
    /// Dead jobs.
    pub dead: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassStats {
    pub class: Class,
    /// Jobs that are due and not running.
    pub waiting: i64,
    /// How long the class is behind, see [`lag`].
    pub lag: Duration,
}

/// How far a class is behind: the longest time that one of the next jobs could have been claimed and was not.
pub async fn lag(conn: &mut Conn, class: Class) -> Result<Duration> {
    let now = conn.now();
    let next: Vec<(Time, Time, Time)> = conn
        .all(
            sql!(
                "SELECT run_at, created_at, lease_until FROM jobs
                 WHERE class = $3 AND dead_at IS NULL AND run_at <= $1 AND lease_until <= $1
                 ORDER BY run_at, id LIMIT $2"
            ),
            params![now, MAX_LAG_SAMPLE, class],
        )
        .await?;
    // The job of a missed tick is due since before it was created, and that of a dead node since before its lease
    // ended. Neither could be claimed earlier.
    let waits = next.into_iter().map(|(run_at, created_at, freed_at)| now.since(run_at.max(created_at).max(freed_at)));
    Ok(waits.max().unwrap_or_default())
}

/// Counts in the order of the indexes, so that neither engine scans the whole table.
pub async fn queue_stats(conn: &mut Conn) -> Result<QueueStats> {
    let mut classes = Vec::new();
    for class in Class::ALL {
        classes.push(ClassStats {
            class: *class,
            waiting: waiting(conn, *class).await?,
            lag: lag(conn, *class).await?,
        });
    }
    let (dead,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM (SELECT id FROM jobs WHERE dead_at IS NOT NULL
                     ORDER BY dead_at, id LIMIT $1) AS dead"
            ),
            params![MAX_COUNTED],
        )
        .await?;
    Ok(QueueStats { classes, dead })
}

async fn waiting(conn: &mut Conn, class: Class) -> Result<i64> {
    let now = conn.now();
    let (waiting,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM (SELECT id FROM jobs
                     WHERE class = $3 AND dead_at IS NULL AND run_at <= $1 AND lease_until <= $1
                     ORDER BY run_at, id LIMIT $2) AS due"
            ),
            params![now, MAX_COUNTED, class],
        )
        .await?;
    Ok(waiting)
}
