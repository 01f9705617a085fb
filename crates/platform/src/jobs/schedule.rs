//! Jobs by the calendar, once for all nodes.
//!
//! The table holds when each schedule ticks next. Whoever moves that time on enqueues the tick's job in the same
//! transaction. Ticks missed while no node ran are made up for by one job, not by many.

use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use super::queue::{Kind, NewJob, enqueue};
use crate::clock::Clock;
use crate::entropy::Entropy;
use db::{Conn, Db, DbError};
use db::{params, sql};
use values::{Cron, Time};

/// A kind of job that is enqueued by the calendar, with an empty payload.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    pub name: &'static str,
    /// Minute, hour, day, month and weekday, in UTC.
    pub cron: &'static str,
    pub kind: Kind,
}

/// A schedule whose pattern was understood.
pub(super) struct ParsedSchedule {
    pub(super) schedule: Schedule,
    cron: Cron,
    /// The pattern's last answer, which holds until the first of its ticks has come.
    known: Mutex<Option<NextTicks>>,
}

/// What a pattern says of the time after a moment.
#[derive(Clone, Copy)]
struct NextTicks {
    asked_at: Time,
    /// The next tick.
    next: Time,
    /// The one after that.
    following: Time,
}

struct ScheduleUpdate {
    schedule: Schedule,
    /// The stored time, absent when the schedule is new.
    from: Option<Time>,
    to: Time,
    /// The job of a tick that has come.
    job: Option<NewJob>,
}

impl ParsedSchedule {
    pub(super) fn new(schedule: Schedule) -> Result<ParsedSchedule, String> {
        let cron = schedule.cron.parse().map_err(|error| format!("schedule {}: {error}", schedule.name))?;
        Ok(ParsedSchedule { schedule, cron, known: Mutex::default() })
    }

    /// The ticks after this moment. They are asked for every second, and a pattern takes its time to answer.
    fn next_ticks(&self, now: Time) -> Option<NextTicks> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match *known {
            Some(next_ticks) if next_ticks.asked_at <= now && now < next_ticks.next => Some(next_ticks),
            _ => {
                let next = self.cron.after(now)?;
                *known = Some(NextTicks { asked_at: now, next, following: self.cron.after(next)? });
                *known
            }
        }
    }

    /// What is to change in the table at this moment, if anything.
    fn due_update(&self, stored: Option<Time>, now: Time, id: Uuid) -> Option<ScheduleUpdate> {
        let NextTicks { next, following, .. } = self.next_ticks(now)?;
        let job = stored.filter(|tick| *tick <= now).map(|tick| NewJob {
            id,
            kind: self.schedule.kind,
            payload: serde_json::json!({}),
            run_at: tick,
        });
        // A node whose clock is ahead may have had the next tick already. Later than the one after that means that the
        // pattern has changed.
        let stale = stored.is_none_or(|stored| stored > following);
        (job.is_some() || stale).then_some(ScheduleUpdate { schedule: self.schedule, from: stored, to: next, job })
    }
}

/// Enqueues the job of every tick that has come and answers how many were this node's.
pub(super) async fn tick(
    db: &Db,
    clock: &Clock,
    entropy: Entropy,
    planned: &[ParsedSchedule],
) -> Result<usize, DbError> {
    if planned.is_empty() {
        return Ok(0);
    }
    let stored: Vec<(String, Time)> =
        db.read().await?.all(sql!("SELECT name, next_run_at FROM schedules"), &[]).await?;
    let now = clock.now();
    let moves: Vec<ScheduleUpdate> = planned
        .iter()
        .filter_map(|plan| {
            let stored = stored.iter().find(|(name, _)| name == plan.schedule.name).map(|(_, at)| *at);
            plan.due_update(stored, now, entropy.uuid(now))
        })
        .collect();
    if moves.is_empty() {
        return Ok(0);
    }
    // In the same order on every node, so that two that tick together wait for each other and no more.
    db.tx(moves, |conn, moves| {
        Box::pin(async move {
            let mut ticked = 0;
            for change in moves {
                ticked += usize::from(apply(conn, change).await?);
            }
            Ok(ticked)
        })
    })
    .await
}

/// Moves the schedule on unless another node did, and answers whether a job was enqueued.
async fn apply(conn: &mut Conn, change: &ScheduleUpdate) -> Result<bool, DbError> {
    let name = change.schedule.name;
    let Some(from) = change.from else {
        let sql = sql!("INSERT INTO schedules (name, next_run_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING");
        conn.exec(sql, params![name, change.to]).await?;
        return Ok(false);
    };
    let sql = sql!("UPDATE schedules SET next_run_at = $3 WHERE name = $1 AND next_run_at = $2");
    let moved = conn.exec(sql, params![name, from, change.to]).await? == 1;
    match &change.job {
        Some(job) if moved => enqueue(conn, job).await.map(|()| true),
        _ => Ok(false),
    }
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
        let change = hourly().due_update(None, at(HOUR / 2), Uuid::nil()).unwrap();
        assert_eq!((change.to, change.job.is_some()), (at(HOUR), false));
    }

    #[test]
    fn nothing_changes_between_ticks() {
        assert!(hourly().due_update(Some(at(HOUR)), at(HOUR / 2), Uuid::nil()).is_none());
    }

    #[test]
    fn a_tick_that_a_node_with_a_faster_clock_has_had_is_left_to_it() {
        assert!(hourly().due_update(Some(at(2 * HOUR)), at(HOUR - 5), Uuid::nil()).is_none());
    }

    #[test]
    fn missed_ticks_are_one_job() {
        let change = hourly().due_update(Some(at(HOUR)), at(5 * HOUR + 1), Uuid::nil()).unwrap();
        assert_eq!((change.to, change.job.unwrap().run_at), (at(6 * HOUR), at(HOUR)));
    }

    #[test]
    fn a_pattern_that_became_more_frequent_counts_at_once() {
        let change = hourly().due_update(Some(at(900 * HOUR)), at(1), Uuid::nil()).unwrap();
        assert_eq!((change.to, change.job.is_some()), (at(HOUR), false));
    }

    #[test]
    fn the_next_tick_follows_the_time_wherever_it_goes() {
        let hourly = hourly();
        for (now, next) in [(1, 1), (HOUR - 1, 1), (HOUR, 2), (HOUR + 1, 2), (7 * HOUR, 8), (5, 1)] {
            assert_eq!(hourly.next_ticks(at(now)).unwrap().next, at(next * HOUR), "at {now}");
        }
    }

    #[test]
    fn a_pattern_that_makes_no_sense_is_refused() {
        let refused = |cron| ParsedSchedule::new(Schedule { name: "x", cron, kind: Kind::new("x") }).is_err();
        assert!(refused("61 * * * *"));
        assert!(refused("0 0 30 2 *"));
    }
}
