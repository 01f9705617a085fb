//! Jobs run at least once, their effects exactly once, on any number of nodes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use db::{Clock, Db, DbError};
use futures_util::future::BoxFuture;
use platform::jobs::{self, Class, JobContext, JobError, JobKind, Kind, Registry, Runner, Schedule};
use serde_json::{Value as Json, json};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::world::engines::{TestDb, both, uuid};

const NOTE: Kind = Kind::new("note");
const FAIL: Kind = Kind::new("fail").attempts(3);
const PANIC: Kind = Kind::new("panic");
const HOPELESS: Kind = Kind::new("hopeless");
const HANG: Kind = Kind::new("hang");
const BOOK: Kind = Kind::new("book");
const STUCK: Kind = HANG.class(Class::Outside);

/// What the jobs of a node can reach: the ids they ran for, and a signal that one has begun.
#[derive(Clone, Default)]
struct Seen {
    ran: Arc<Mutex<Vec<Uuid>>>,
    begun: Arc<Notify>,
}

type Running = BoxFuture<'static, Result<(), JobError>>;

fn note(ctx: JobContext<Seen>, _: Json) -> Running {
    Box::pin(async move {
        ctx.app.ran.lock().unwrap().push(ctx.job.id);
        Ok(())
    })
}

fn fail(ctx: JobContext<Seen>, payload: Json) -> Running {
    Box::pin(async move {
        ctx.app.ran.lock().unwrap().push(ctx.job.id);
        Err(JobError::Failed(payload["reason"].as_str().unwrap().to_owned()))
    })
}

fn panic(_: JobContext<Seen>, _: Json) -> Running {
    panic!("on purpose")
}

fn hopeless(_: JobContext<Seen>, _: Json) -> Running {
    Box::pin(async { Err(JobError::Permanent("no such customer".into())) })
}

fn hang(ctx: JobContext<Seen>, _: Json) -> Running {
    Box::pin(async move {
        ctx.app.begun.notify_one();
        std::future::pending().await
    })
}

/// Books in the transaction that ends the job, and then fails: the effect stands and must not happen again.
fn book(ctx: JobContext<Seen>, _: Json) -> Running {
    Box::pin(async move {
        let db = ctx.db.clone();
        db.tx(ctx, |conn, ctx| {
            Box::pin(async move {
                conn.exec("UPDATE tallies SET n = n + 1", &[]).await?;
                ctx.finish_in(conn).await
            })
        })
        .await?;
        Err(JobError::Failed("after the effect".into()))
    })
}

struct Node {
    seen: Seen,
    runner: Runner<Seen>,
}

fn node_with(db: &Db, clock: &Clock, schedules: Vec<Schedule>) -> Node {
    let kinds = [
        JobKind { kind: NOTE, run: note },
        JobKind { kind: FAIL, run: fail },
        JobKind { kind: PANIC, run: panic },
        JobKind { kind: HOPELESS, run: hopeless },
        JobKind { kind: HANG, run: hang },
        JobKind { kind: BOOK, run: book },
    ];
    let seen = Seen::default();
    let (registry, db) = (Registry::new(kinds), db.clone());
    let runner = Runner::new(seen.clone(), db, clock.clone(), registry, schedules).unwrap();
    Node { seen, runner }
}

fn node(db: &Db, clock: &Clock) -> Node {
    node_with(db, clock, Vec::new())
}

impl Node {
    fn ran(&self) -> Vec<Uuid> {
        self.seen.ran.lock().unwrap().clone()
    }
}

async fn enqueue(db: &Db, clock: &Clock, kind: Kind, payload: Json) -> Uuid {
    let input = (kind, payload, clock.now());
    let enqueued =
        db.tx(input, |conn, (kind, payload, now)| Box::pin(jobs::enqueue_at(conn, *kind, payload.clone(), *now)));
    enqueued.await.unwrap()
}

async fn waiting(db: &Db) -> i64 {
    let sql = "SELECT COUNT(*) FROM jobs WHERE dead_at IS NULL";
    db.read().await.unwrap().one::<(i64,)>(sql, &[]).await.unwrap().0
}

async fn dead(db: &Db) -> Vec<jobs::DeadJob> {
    jobs::list_dead(&mut db.read().await.unwrap(), None, 50).await.unwrap()
}

both! {
    async fn nodes_share_the_jobs_and_none_runs_twice(db) {
        let clock = Clock::movable();
        let mut expected = Vec::new();
        for _ in 0..200 {
            expected.push(enqueue(db, &clock, NOTE, json!({})).await);
        }
        let (one, two) = (node(db, &clock), node(db, &clock));
        let (first, second) = tokio::join!(one.runner.settle(), two.runner.settle());
        first.unwrap();
        second.unwrap();
        let mut ran = [one.ran(), two.ran()].concat();
        ran.sort();
        expected.sort();
        assert_eq!(ran, expected);
        assert_eq!(waiting(db).await, 0);
    }

    async fn a_job_exists_only_if_its_transaction_commits(db) {
        let undone: Result<(), DbError> = db.tx((), |conn, ()| Box::pin(async move {
            jobs::enqueue(conn, NOTE, json!({})).await?;
            Err(DbError::NotFound)
        })).await;
        assert!(undone.is_err());
        assert_eq!(waiting(db).await, 0);
    }

    async fn a_job_runs_when_it_is_due(db) {
        let clock = Clock::movable();
        let node = node(db, &clock);
        let run_at = clock.now().plus(Duration::from_secs(90));
        db.tx(run_at, |conn, at| Box::pin(jobs::enqueue_at(conn, NOTE, json!({}), *at))).await.unwrap();
        node.runner.settle().await.unwrap();
        assert!(node.ran().is_empty());
        let sql = "SELECT run_at > created_at FROM jobs";
        assert_eq!(db.read().await.unwrap().one::<(bool,)>(sql, &[]).await.unwrap(), (true,));
        clock.advance(Duration::from_secs(91));
        node.runner.settle().await.unwrap();
        assert_eq!(node.ran().len(), 1);
    }

    async fn a_dead_nodes_job_is_taken_over_when_its_lease_ends(db) {
        let clock = Clock::movable();
        enqueue(db, &clock, HANG, json!({})).await;
        let dying = node(db, &clock);
        let task = tokio::spawn({ let runner = dying.runner.clone(); async move { runner.settle().await } });
        dying.seen.begun.notified().await;
        task.abort();
        let _ = task.await;
        let heir = node(db, &clock);
        heir.runner.settle().await.unwrap();
        assert_eq!(attempts(db).await, 1, "the lease still holds");
        clock.advance(Duration::from_secs(61));
        let task = tokio::spawn({ let runner = heir.runner.clone(); async move { runner.settle().await } });
        heir.seen.begun.notified().await;
        assert_eq!(attempts(db).await, 2);
        task.abort();
    }

    async fn a_failed_job_backs_off_longer_each_time_and_then_is_dead(db) {
        let clock = Clock::movable();
        let id = enqueue(db, &clock, FAIL, json!({ "reason": "x".repeat(600) })).await;
        let node = node(db, &clock);
        for attempt in 1..=3 {
            node.runner.settle().await.unwrap();
            node.runner.settle().await.unwrap();
            assert_eq!(node.ran().len(), attempt, "it rests before it is tried again");
            clock.advance(Duration::from_secs(10));
        }
        let dead = dead(db).await;
        assert_eq!((dead.len(), dead[0].id, dead[0].attempts), (1, id, 3));
        assert_eq!(dead[0].last_error.as_deref(), Some("x".repeat(500).as_str()));
        clock.advance(Duration::from_secs(100_000));
        node.runner.settle().await.unwrap();
        assert_eq!(node.ran().len(), 3);

        let rerun = |id: Uuid| db.tx((id, clock.now()), |conn, (id, now)| {
            conn.set_now(*now);
            Box::pin(jobs::rerun(conn, *id))
        });
        assert!(rerun(id).await.unwrap());
        assert!(!rerun(id).await.unwrap(), "it is alive again");
        node.runner.settle().await.unwrap();
        assert_eq!(node.ran().len(), 4);
        assert_eq!(waiting(db).await, 1);
    }

    async fn a_job_with_a_permanent_error_is_dead_immediately(db) {
        let clock = Clock::movable();
        enqueue(db, &clock, HOPELESS, json!({})).await;
        node(db, &clock).runner.settle().await.unwrap();
        assert_eq!(dead(db).await[0].last_error.as_deref(), Some("no such customer"));
    }

    async fn dead_jobs_are_paged_newest_first(db) {
        let clock = Clock::movable();
        for _ in 0..5 {
            enqueue(db, &clock, HOPELESS, json!({})).await;
        }
        node(db, &clock).runner.settle().await.unwrap();
        let all: Vec<Uuid> = dead(db).await.iter().map(|job| job.id).collect();
        let mut reader = db.read().await.unwrap();
        let (mut paged, mut after) = (Vec::new(), None);
        loop {
            let page = jobs::list_dead(&mut reader, after, 2).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some((last.dead_at, last.id));
            paged.extend(page.iter().map(|job| job.id));
        }
        assert_eq!((paged.len(), paged), (5, all));
    }

    async fn a_panic_counts_as_a_failure(db) {
        let clock = Clock::movable();
        enqueue(db, &clock, PANIC, json!({})).await;
        let after = enqueue(db, &clock, NOTE, json!({})).await;
        let node = node(db, &clock);
        node.runner.settle().await.unwrap();
        assert_eq!(node.ran(), [after]);
        let sql = "SELECT last_error, attempts FROM jobs";
        let kept: (Option<String>, i64) = db.read().await.unwrap().one(sql, &[]).await.unwrap();
        assert_eq!(kept, (Some("it panicked".into()), 1));
    }

    async fn an_effect_committed_with_its_job_happens_once(db) {
        let clock = Clock::movable();
        tallies(db).await;
        enqueue(db, &clock, BOOK, json!({})).await;
        let node = node(db, &clock);
        node.runner.settle().await.unwrap();
        clock.advance(Duration::from_secs(100_000));
        node.runner.settle().await.unwrap();
        assert_eq!((booked(db).await, waiting(db).await), (1, 0));
    }

    async fn an_effect_without_a_lease_is_rolled_back(db) {
        let clock = Clock::movable();
        tallies(db).await;
        enqueue(db, &clock, BOOK, json!({})).await;
        let job = claimed_by_someone_who_is_slow(db, &clock).await;
        db.tx(uuid(), |conn, token| Box::pin(async move { conn.exec("UPDATE jobs SET lease_token = $1", db::params![*token]).await })).await.unwrap();
        let late = db.tx(job, |conn, ctx| Box::pin(async move {
            conn.exec("UPDATE tallies SET n = n + 1", &[]).await?;
            ctx.finish_in(conn).await
        })).await;
        assert!(matches!(late, Err(JobError::LeaseLost)), "{late:?}");
        assert_eq!((booked(db).await, waiting(db).await), (0, 1));
    }

    async fn a_schedule_fires_once_for_all_nodes_and_once_for_missed_ticks(db) {
        let clock = Clock::movable();
        let hourly = || vec![Schedule { name: "hourly", cron: "0 * * * *", kind: NOTE }];
        let (one, two) = (node_with(db, &clock, hourly()), node_with(db, &clock, hourly()));
        let settle = async || {
            let (first, second) = tokio::join!(one.runner.settle(), two.runner.settle());
            first.and(second).unwrap();
            one.ran().len() + two.ran().len()
        };
        assert_eq!(settle().await, 0, "a new schedule waits for its first tick");
        clock.advance(Duration::from_secs(3600));
        assert_eq!(settle().await, 1);
        assert_eq!(settle().await, 1);
        clock.advance(Duration::from_secs(10 * 3600));
        assert_eq!(settle().await, 2, "ten missed ticks are one");
    }

    async fn jobs_that_hang_delay_only_those_of_their_class(db) {
        let clock = Clock::system();
        let node = node(db, &clock);
        let running = tokio::spawn({
            let runner = node.runner.clone();
            async move { runner.run(std::future::pending()).await }
        });
        for _ in 0..40 {
            enqueue(db, &clock, STUCK, json!({})).await;
        }
        let mut expected = Vec::new();
        for class in [Class::Money, Class::Mail, Class::Bulk, Class::Mail, Class::Money] {
            expected.push(enqueue(db, &clock, NOTE.class(class), json!({})).await);
        }
        let behind = enqueue(db, &clock, NOTE.class(Class::Outside), json!({})).await;
        while node.ran().len() < expected.len() {
            tokio::task::yield_now().await;
        }
        let mut ran = node.ran();
        ran.sort();
        expected.sort();
        assert_eq!(ran, expected);
        assert!(!ran.contains(&behind));
        running.abort();
    }

    async fn a_job_with_a_key_is_enqueued_once_until_it_ends(db) {
        let clock = Clock::movable();
        let enqueue_keyed = async |kind: Kind, key: &'static str| {
            db.tx((kind, key), |conn, (kind, key)| Box::pin(jobs::enqueue_once(conn, *kind, key, json!({})))).await.unwrap();
        };
        for _ in 0..20 {
            enqueue_keyed(NOTE, "all").await;
        }
        enqueue_keyed(NOTE, "other").await;
        enqueue_keyed(HOPELESS, "all").await;
        assert_eq!(waiting(db).await, 3);
        let node = node(db, &clock);
        node.runner.settle().await.unwrap();
        assert_eq!((node.ran().len(), dead(db).await.len()), (2, 1));
        // One that ended or died keeps no other away, and may itself run again.
        enqueue_keyed(NOTE, "all").await;
        enqueue_keyed(HOPELESS, "all").await;
        assert_eq!(waiting(db).await, 2);
        let died = dead(db).await[0].id;
        assert!(db.tx(died, |conn, id| Box::pin(jobs::rerun(conn, *id))).await.unwrap());
        node.runner.settle().await.unwrap();
        assert_eq!((node.ran().len(), dead(db).await.len()), (3, 2));
    }

    async fn a_job_runner_works_when_woken_and_drains_when_stopped(db) {
        let clock = Clock::system();
        let node = node(db, &clock);
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let running = tokio::spawn({
            let runner = node.runner.clone();
            async move { runner.run(async { let _ = stopped.await; }).await }
        });
        let id = enqueue(db, &clock, NOTE, json!({})).await;
        while waiting(db).await > 0 {
            tokio::task::yield_now().await;
        }
        stop.send(()).unwrap();
        running.await.unwrap();
        assert_eq!(node.ran(), [id]);
    }
}

async fn tallies(db: &TestDb) {
    db.ddl("CREATE TABLE tallies (n BIGINT NOT NULL); INSERT INTO tallies (n) VALUES (0);").await;
}

async fn booked(db: &Db) -> i64 {
    db.read().await.unwrap().one::<(i64,)>("SELECT n FROM tallies", &[]).await.unwrap().0
}

async fn attempts(db: &Db) -> i64 {
    db.read().await.unwrap().one::<(i64,)>("SELECT attempts FROM jobs", &[]).await.unwrap().0
}

/// The context of a job that was claimed and whose handler has not got any further.
async fn claimed_by_someone_who_is_slow(db: &TestDb, clock: &Clock) -> JobContext<()> {
    type Slot = Arc<Mutex<Option<JobContext<()>>>>;
    #[derive(Clone, Default)]
    struct Keep(Slot, Arc<Notify>);
    fn keep(ctx: JobContext<Keep>, _: Json) -> Running {
        Box::pin(async move {
            let Keep(slot, begun) = ctx.app;
            *slot.lock().unwrap() = Some(JobContext { app: (), job: ctx.job, db: ctx.db, clock: ctx.clock });
            begun.notify_one();
            std::future::pending().await
        })
    }
    let kept = Keep::default();
    let registry = Registry::new([JobKind { kind: BOOK, run: keep }]);
    let runner = Runner::new(kept.clone(), Db::clone(db), clock.clone(), registry, Vec::new()).unwrap();
    let task = tokio::spawn(async move { runner.settle().await });
    kept.1.notified().await;
    task.abort();
    let _ = task.await;
    kept.0.lock().unwrap().take().unwrap()
}
