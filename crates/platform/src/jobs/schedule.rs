//! Schedules: enqueue jobs by cron expressions, once for all nodes.
//!
//! The table has the next tick of each schedule. The node that advances it enqueues the job in the same transaction.
//! Ticks that were missed while no node ran give one job, not many.

use std::sync::{Mutex, PoisonError};

use super::queue::{Kind, enqueue_at};
use db::{Clock, Conn, Db, DbError, Statement, params, sql};
use values::{Cron, Time};

/// A job that is enqueued by a cron expression, with an empty payload.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    pub name: &'static str,
    /// Minute, hour, day, month and weekday, in UTC.
    pub cron: &'static str,
    pub kind: Kind,
}

/// A schedule with its parsed cron expression.
pub(super) struct ParsedSchedule {
    pub(super) schedule: Schedule,
    cron: Cron,
    /// The last computed ticks, valid until the first of them.
    cached: Mutex<Option<NextTicks>>,
}

/// The next two ticks after a time.
#[derive(Clone, Copy)]
struct NextTicks {
    /// The time they were computed for.
    after: Time,
    next: Time,
    /// The tick after the next.
    following: Time,
}

/// A change of the stored next tick.
struct ScheduleUpdate {
    schedule: Schedule,
    /// The stored tick; absent for a new schedule.
    from: Option<Time>,
    to: Time,
    /// Whether the stored tick is due, so that its job is enqueued.
    is_due: bool,
}

impl ScheduleUpdate {
    /// The row of a new schedule, unless another node has added it.
    fn insert(&self) -> Option<Statement> {
        let sql = sql!("INSERT INTO schedules (name, next_run_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING");
        self.from.is_none().then(|| Statement::new(sql, params![self.schedule.name, self.to]))
    }
}

impl ParsedSchedule {
    pub(super) fn new(schedule: Schedule) -> Result<ParsedSchedule, String> {
        let cron = schedule.cron.parse().map_err(|error| format!("schedule {}: {error}", schedule.name))?;
        Ok(ParsedSchedule { schedule, cron, cached: Mutex::default() })
    }

    /// The ticks after `now`, cached: they are needed every second, and computing them is slow.
    fn next_ticks(&self, now: Time) -> Option<NextTicks> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        match *cached {
            Some(next_ticks) if next_ticks.after <= now && now < next_ticks.next => Some(next_ticks),
            _ => {
                let next = self.cron.after(now)?;
                *cached = Some(NextTicks { after: now, next, following: self.cron.after(next)? });
                *cached
            }
        }
    }

    /// The update of the table that is due now, if there is one.
    fn due_update(&self, stored: Option<Time>, now: Time) -> Option<ScheduleUpdate> {
        let NextTicks { next, following, .. } = self.next_ticks(now)?;
        let is_due = stored.is_some_and(|tick| tick <= now);
        // A node whose clock is ahead may have advanced to the tick after the next. A later one means that the cron
        // expression has changed.
        let stale = stored.is_none_or(|stored| stored > following);
        (is_due || stale).then_some(ScheduleUpdate { schedule: self.schedule, from: stored, to: next, is_due })
    }
}

/// Enqueues the job of every tick that is due and returns how many this node enqueued.
pub(super) async fn tick(db: &Db, clock: &Clock, schedules: &[ParsedSchedule]) -> Result<usize, DbError> {
    if schedules.is_empty() {
        return Ok(0);
    }
    let stored: Vec<(String, Time)> =
        db.read().await?.all(sql!("SELECT name, next_run_at FROM schedules"), &[]).await?;
    let now = clock.now();
    let updates: Vec<ScheduleUpdate> = schedules
        .iter()
        .filter_map(|plan| {
            let stored = stored.iter().find(|(name, _)| name == plan.schedule.name).map(|(_, at)| *at);
            plan.due_update(stored, now)
        })
        .collect();
    if updates.is_empty() {
        return Ok(0);
    }
    // In the same order on every node, so that two that tick together do not deadlock.
    db.tx(updates, |conn, updates| {
        Box::pin(async move {
            let added: Vec<Statement> = updates.iter().filter_map(ScheduleUpdate::insert).collect();
            conn.exec_many(&added).await?;
            let mut ticked = 0;
            for update in updates {
                ticked += usize::from(advance(conn, update).await?);
            }
            Ok(ticked)
        })
    })
    .await
}

/// Advances a stored schedule unless another node did, and returns whether a job was enqueued.
async fn advance(conn: &mut Conn, update: &ScheduleUpdate) -> Result<bool, DbError> {
    let Some(from) = update.from else { return Ok(false) };
    let name = update.schedule.name;
    let sql = sql!("UPDATE schedules SET next_run_at = $3 WHERE name = $1 AND next_run_at = $2");
    let advanced = conn.exec(sql, params![name, from, update.to]).await? == 1;
    if advanced && update.is_due {
        enqueue_at(conn, update.schedule.kind, serde_json::json!({}), from).await?;
    }
    Ok(advanced && update.is_due)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn hourly() -> ParsedSchedule {
        ParsedSchedule::new(Schedule { name: "hourly", cron: "0 * * * *", kind: Kind::new("hourly") }).unwrap()
    }

    fn at(millis: i64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn a_new_schedule_waits_for_its_first_tick() {
        let update = hourly().due_update(None, at(HOUR / 2)).unwrap();
        assert_eq!((update.to, update.is_due), (at(HOUR), false));
    }

    #[test]
    fn nothing_changes_between_ticks() {
        assert!(hourly().due_update(Some(at(HOUR)), at(HOUR / 2)).is_none());
    }

    #[test]
    fn a_tick_of_a_node_whose_clock_is_ahead_is_not_repeated() {
        assert!(hourly().due_update(Some(at(2 * HOUR)), at(HOUR - 5)).is_none());
    }

    #[test]
    fn missed_ticks_give_one_job() {
        let update = hourly().due_update(Some(at(HOUR)), at(5 * HOUR + 1)).unwrap();
        assert_eq!((update.from, update.to, update.is_due), (Some(at(HOUR)), at(6 * HOUR), true));
    }

    #[test]
    fn a_more_frequent_cron_expression_takes_effect_immediately() {
        let update = hourly().due_update(Some(at(900 * HOUR)), at(1)).unwrap();
        assert_eq!((update.to, update.is_due), (at(HOUR), false));
    }

    #[test]
    fn the_next_tick_is_right_after_any_jump_of_the_clock() {
        let hourly = hourly();
        for (now, next) in [(1, 1), (HOUR - 1, 1), (HOUR, 2), (HOUR + 1, 2), (7 * HOUR, 8), (5, 1)] {
            assert_eq!(hourly.next_ticks(at(now)).unwrap().next, at(next * HOUR), "at {now}");
        }
    }

    #[test]
    fn a_malformed_cron_expression_is_refused() {
        let refused = |cron| ParsedSchedule::new(Schedule { name: "x", cron, kind: Kind::new("x") }).is_err();
        assert!(refused("61 * * * *"));
        assert!(refused("0 0 30 2 *"));
    }
}
