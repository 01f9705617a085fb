//! A standby that answers lists and reports while it is up to date.
//!
//! It is measured when somebody wants to read and the last measurement is a second old. A standby that has replayed what
//! the primary had written by then is not behind at all. Otherwise it is no further behind than the measurement before,
//! if it has replayed what was written by that one, and than the last transaction that it replayed is old; both by the
//! primary's clock. A server that is not in recovery is never used: it may be a standby that was promoted, and nobody
//! could tell how old its rows are.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use values::Time;

use super::{Postgres, no_answer};
use crate::clock::Clock;
use crate::error::{DbError, Result};
use crate::metrics::Metrics;
use crate::options::{DbOptions, ReplicaOptions};
use crate::signals::Signals;

/// How long a standby that was up to date is taken to be so.
const MEASURE_AFTER: Duration = Duration::from_secs(1);
/// How long one that was not is left alone.
const RETRY_AFTER: Duration = Duration::from_secs(5);
const MEASURE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often, and how many times, a standby is asked whether it has caught up.
const CATCH_UP_PAUSE: Duration = Duration::from_millis(50);
const CATCH_UP_CHECKS: u32 = 20;

/// Position in the write-ahead log in bytes, and the time in Unix milliseconds.
const WRITTEN: &str = "SELECT CAST(pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS BIGINT),
                       CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
/// The same as the standby replayed it: NULL before the first.
const REPLAYED: &str = "SELECT pg_is_in_recovery(), CAST(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') AS BIGINT),
                        CAST(EXTRACT(EPOCH FROM pg_last_xact_replay_timestamp()) * 1000 AS BIGINT)";

pub(crate) struct Replica {
    postgres: Postgres,
    max_lag: Duration,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    measured_at: Option<Time>,
    /// Not known before the first measurement.
    is_current: Option<bool>,
    lag: Option<Duration>,
    /// The primary at the last measurement.
    written: Option<Progress>,
}

/// How far a server got.
#[derive(Clone, Copy)]
struct Progress {
    position: Option<i64>,
    at: Option<i64>,
}

impl Replica {
    /// Does not connect: a standby may be away when the service starts.
    pub(crate) fn open(
        replica: &ReplicaOptions,
        options: &DbOptions,
        metrics: &Arc<Metrics>,
        signals: &Arc<Signals>,
    ) -> Result<Replica> {
        let postgres = Postgres::pooled(&replica.url, options, metrics, signals)?;
        Ok(Replica { postgres, max_lag: replica.max_lag, clock: options.clock.clone(), state: Mutex::default() })
    }

    /// Its pool, if it is up to date.
    pub(crate) async fn current(&self, primary: &Postgres) -> Option<Postgres> {
        let is_current = match self.known() {
            Some(is_current) => is_current,
            None => self.measure(primary).await,
        };
        is_current.then(|| self.postgres.clone())
    }

    /// Its pool, once it has replayed all that the primary had written when this was called. `None` if it is not up to
    /// date, or does not catch up within a second or so.
    pub(crate) async fn caught_up(&self, primary: &Postgres) -> Option<Postgres> {
        let postgres = self.current(primary).await?;
        let written = timeout(MEASURE_TIMEOUT, written(primary)).await.ok()?.ok()?;
        for _ in 0..CATCH_UP_CHECKS {
            let replayed = timeout(MEASURE_TIMEOUT, replayed(&postgres)).await.ok()?.ok()?;
            if replayed.position >= written.position {
                return Some(postgres);
            }
            sleep(CATCH_UP_PAUSE).await;
        }
        None
    }

    /// Leaves it alone for a while: it did not lend a connection.
    pub(crate) fn set_away(&self, error: &DbError) {
        self.note(Err(error));
    }

    /// Whether it was up to date when it was last measured, and how far it was behind.
    pub(crate) fn status(&self) -> (bool, Option<Duration>) {
        let state = self.state();
        (state.is_current == Some(true), state.lag)
    }

    /// What was measured just now. `None` makes the caller measure it; others go by the last measurement meanwhile.
    fn known(&self) -> Option<bool> {
        let now = self.clock.now();
        let mut state = self.state();
        let is_current = state.is_current == Some(true);
        let valid_for = if is_current { MEASURE_AFTER } else { RETRY_AFTER };
        if state.measured_at.is_some_and(|at| at <= now && now.since(at) < valid_for) {
            return Some(is_current);
        }
        state.measured_at = Some(now);
        None
    }

    async fn measure(&self, primary: &Postgres) -> bool {
        let lag = timeout(MEASURE_TIMEOUT, self.lag(primary)).await.unwrap_or_else(|_| Err(no_answer()));
        self.note(lag.as_ref().copied())
    }

    async fn lag(&self, primary: &Postgres) -> Result<Duration> {
        let written = written(primary).await?;
        let before = self.state().written.replace(written);
        let replayed = replayed(&self.postgres).await?;
        lag(before, written, replayed).ok_or_else(|| DbError::unavailable("it has replayed nothing yet"))
    }

    /// Remembers a measurement, and logs it if it changes anything.
    fn note(&self, lag: Result<Duration, &DbError>) -> bool {
        let is_current = lag.as_ref().is_ok_and(|lag| *lag <= self.max_lag);
        let mut state = self.state();
        let before = state.is_current.replace(is_current);
        state.lag = lag.as_ref().ok().copied();
        drop(state);
        if before != Some(is_current) {
            let why: &dyn fmt::Display = match &lag {
                Ok(_) => &"it is behind",
                Err(error) => error,
            };
            let lag_seconds = lag.as_ref().ok().map(Duration::as_secs_f64);
            match is_current {
                true => tracing::info!(lag_seconds, "lists and reports read from the replica"),
                false => tracing::warn!(lag_seconds, %why, "the replica is skipped, the primary answers"),
            }
        }
        is_current
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far behind a standby is at most, if that is known.
fn lag(before: Option<Progress>, written: Progress, replayed: Progress) -> Option<Duration> {
    if replayed.position >= written.position {
        return Some(Duration::ZERO);
    }
    let measured = before.filter(|before| replayed.position >= before.position).and_then(|before| before.at);
    let millis = written.at?.saturating_sub(measured.max(replayed.at)?);
    Some(Duration::from_millis(u64::try_from(millis).unwrap_or_default()))
}

async fn written(primary: &Postgres) -> Result<Progress> {
    let client = primary.pool.get().await?;
    let statement = client.prepare_cached(WRITTEN).await?;
    let row = client.query_one(&statement, &[]).await?;
    Ok(Progress { position: Some(row.try_get(0)?), at: Some(row.try_get(1)?) })
}

async fn replayed(standby: &Postgres) -> Result<Progress> {
    let client = standby.pool.get().await?;
    let statement = client.prepare_cached(REPLAYED).await?;
    let row = client.query_one(&statement, &[]).await?;
    if !row.try_get::<_, bool>(0)? {
        return Err(DbError::unavailable("it is not in recovery, so it is no standby"));
    }
    Ok(Progress { position: row.try_get(1)?, at: row.try_get(2)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standby_that_has_replayed_everything_is_not_behind_however_old_that_is() {
        let at = |position, at| Progress { position, at };
        let lag = |replayed| lag(None, at(Some(500), Some(90_000)), replayed);
        assert_eq!(lag(at(Some(500), Some(1_000))), Some(Duration::ZERO));
        assert_eq!(lag(at(Some(501), None)), Some(Duration::ZERO));
        assert_eq!(lag(at(Some(499), Some(88_500))), Some(Duration::from_millis(1_500)));
        assert_eq!(lag(at(Some(499), Some(90_001))), Some(Duration::ZERO), "a clock that went back");
        assert_eq!(lag(at(Some(499), None)), None);
        assert_eq!(lag(at(None, None)), None);
    }

    #[test]
    fn a_standby_that_passed_the_last_measurement_is_no_further_behind() {
        let at = |position, at| Progress { position: Some(position), at: Some(at) };
        let (before, written) = (at(400, 88_000), at(500, 90_000));
        assert_eq!(lag(Some(before), written, at(450, 1_000)), Some(Duration::from_secs(2)));
        assert_eq!(lag(Some(before), written, at(450, 89_000)), Some(Duration::from_secs(1)));
        assert_eq!(lag(Some(before), written, at(399, 1_000)), Some(Duration::from_secs(89)));
    }
}
