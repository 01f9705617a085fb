//! Claims due jobs and runs them.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join_all};
use serde_json::Value as Json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::{Instrument, Span};

use super::class::{Class, SLOTS};
use super::context::{JobContext, JobError};
use super::queue::{self, Claim, Claimed, Kind, LEASE};
use super::retry::backoff;
use super::schedule::{self, ParsedSchedule, Schedule};
use db::{Clock, Db, DbError, Entropy};
use values::Time;

/// How often to look for due jobs without being woken.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A kind of job and the function that runs it.
pub struct JobKind<A> {
    pub kind: Kind,
    pub run: fn(JobContext<A>, Json) -> BoxFuture<'static, Result<(), JobError>>,
}

/// All kinds of jobs that this node can run.
pub struct Registry<A> {
    kinds: Vec<JobKind<A>>,
    observe: fn(&A, &Run<'_>),
    log_span: fn(&Claimed) -> Span,
    prepare: Prepare<A>,
}

/// Work before every look for due jobs, which may enqueue some; returns how much it did.
pub type Prepare<A> = for<'a> fn(&'a A) -> BoxFuture<'a, Result<usize, DbError>>;

/// One finished run of a job.
pub struct Run<'j> {
    pub kind: &'static str,
    pub job: &'j Claimed,
    pub outcome: Outcome,
    pub began: Time,
    pub took: Duration,
}

/// How a run of a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Success,
    /// It will be retried.
    Failure,
    /// It became a dead job.
    Dead,
    /// The lease was lost to another node.
    Lost,
}

impl Outcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::Failure => "failure",
            Outcome::Dead => "dead",
            Outcome::Lost => "lost",
        }
    }

    fn of(job: &Claimed, result: &Result<(), JobError>) -> Outcome {
        match result {
            Ok(()) => Outcome::Success,
            Err(JobError::LeaseLost) => Outcome::Lost,
            Err(JobError::Permanent(_)) => Outcome::Dead,
            Err(_) if job.attempts >= job.max_attempts => Outcome::Dead,
            Err(_) => Outcome::Failure,
        }
    }
}

impl<A> Registry<A> {
    pub fn new(kinds: impl IntoIterator<Item = JobKind<A>>) -> Registry<A> {
        Registry {
            kinds: kinds.into_iter().collect(),
            observe: |_, _| {},
            log_span: |_| Span::none(),
            prepare: |_| Box::pin(async { Ok(0) }),
        }
    }

    /// Calls `observe` after every run of a job.
    pub fn with_observer(self, observe: fn(&A, &Run<'_>)) -> Registry<A> {
        Registry { observe, ..self }
    }

    /// The span in which a run of a job is logged.
    pub fn with_log_span(self, log_span: fn(&Claimed) -> Span) -> Registry<A> {
        Registry { log_span, ..self }
    }

    /// Calls `prepare` before every look for due jobs.
    pub fn with_preparation(self, prepare: Prepare<A>) -> Registry<A> {
        Registry { prepare, ..self }
    }

    fn find(&self, name: &str) -> Option<&JobKind<A>> {
        self.kinds.iter().find(|known| known.kind.name == name)
    }

    /// Refuses two kinds with the same name.
    fn check(&self) -> Result<(), SetupError> {
        for (position, known) in self.kinds.iter().enumerate() {
            if self.kinds[..position].iter().any(|earlier| earlier.kind.name == known.kind.name) {
                return Err(SetupError(format!("two job kinds are named {}", known.kind.name)));
            }
        }
        Ok(())
    }
}

/// Why the kinds and schedules cannot be used together.
#[derive(Debug)]
pub struct SetupError(String);

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetupError {}

#[derive(Clone)]
pub struct Runner<A>(Arc<Inner<A>>);

struct Inner<A> {
    app: A,
    db: Db,
    clock: Clock,
    registry: Registry<A>,
    schedules: Vec<ParsedSchedule>,
    pools: Vec<Pool>,
}

/// The slots of a class.
struct Pool {
    class: Class,
    size: u32,
    slots: Arc<Semaphore>,
}

impl Pool {
    fn take_free(&self) -> Vec<OwnedSemaphorePermit> {
        std::iter::from_fn(|| self.slots.clone().try_acquire_owned().ok()).collect()
    }
}

impl<A: Clone + Send + Sync + 'static> Runner<A> {
    pub fn new(
        app: A,
        db: Db,
        clock: Clock,
        registry: Registry<A>,
        schedules: Vec<Schedule>,
    ) -> Result<Runner<A>, SetupError> {
        registry.check()?;
        if let Some(schedule) = schedules.iter().find(|schedule| registry.find(schedule.kind.name).is_none()) {
            return Err(SetupError(format!("schedule {} has an unknown job kind", schedule.name)));
        }
        let schedules = schedules.into_iter().map(ParsedSchedule::new).collect::<Result<_, _>>().map_err(SetupError)?;
        let pool = |(class, size)| Pool { class, size, slots: Arc::new(Semaphore::new(size as usize)) };
        let pools = SLOTS.map(pool).into();
        Ok(Runner(Arc::new(Inner { app, db, clock, registry, schedules, pools })))
    }

    /// Runs jobs until `shutdown`, then waits for the running ones.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut running = JoinSet::new();
        loop {
            if let Err(error) = self.start_due(&mut running).await {
                tracing::warn!(%error, "claiming jobs failed, retrying");
            }
            tokio::select! {
                () = &mut shutdown => break,
                () = self.0.db.jobs_due().notified() => {}
                () = sleep(POLL_INTERVAL) => {}
                Some(_) = running.join_next() => {}
            }
        }
        while running.join_next().await.is_some() {}
    }

    /// Runs all due jobs, and those that they enqueue, until none is left.
    pub async fn settle(&self) -> Result<(), DbError> {
        let mut running = JoinSet::new();
        loop {
            let started = self.start_due(&mut running).await?;
            while running.join_next().await.is_some() {}
            if started > 0 {
                continue;
            }
            // Jobs that `run` has started may enqueue more.
            let _idle = self.idle().await?;
            if !queue::is_due(&mut *self.0.db.read().await?).await? {
                return Ok(());
            }
        }
    }

    /// Waits until no job runs on this node, and takes all slots: none starts before they are dropped.
    pub async fn idle(&self) -> Result<Vec<SemaphorePermit<'_>>, DbError> {
        let slots = self.0.pools.iter().map(|pool| pool.slots.acquire_many(pool.size));
        try_join_all(slots).await.map_err(DbError::other)
    }

    /// Enqueues the jobs of all due ticks and returns how many.
    pub async fn tick(&self) -> Result<usize, DbError> {
        let inner = &self.0;
        schedule::tick(&inner.db, &inner.clock, &inner.schedules).await
    }

    /// Ticks the schedules and starts as many due jobs as there are free slots. Returns the number of ticks and jobs,
    /// and of what the preparation did.
    async fn start_due(&self, running: &mut JoinSet<()>) -> Result<usize, DbError> {
        let inner = &self.0;
        // Jobs run even if it fails.
        let prepared = (inner.registry.prepare)(&inner.app).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "publishing events failed, retrying");
            0
        });
        let ticked = prepared + self.tick().await?;
        let mut free: Vec<(Class, Vec<OwnedSemaphorePermit>)> = inner
            .pools
            .iter()
            .map(|pool| (pool.class, pool.take_free()))
            .filter(|(_, slots)| !slots.is_empty())
            .collect();
        if free.is_empty() {
            return Ok(ticked);
        }
        let now = inner.clock.now();
        let limits = free.iter().map(|(class, slots)| (*class, slots.len() as i64)).collect();
        let claim = Claim { token: Entropy.uuid(now), now, limits };
        let jobs = inner.db.tx(claim, |conn, claim| Box::pin(queue::claim(conn, claim))).await?;
        let started = jobs.len();
        for job in jobs {
            let slot = free.iter_mut().find(|(class, _)| *class == job.class).and_then(|(_, slots)| slots.pop());
            let runner = self.clone();
            let span = (inner.registry.log_span)(&job);
            let execute = async move {
                runner.execute(job).await;
                drop(slot);
            };
            running.spawn(execute.instrument(span));
        }
        Ok(ticked + started)
    }

    /// Runs one job and records its outcome.
    async fn execute(&self, job: Claimed) {
        let (began, started) = (self.0.clock.now(), Instant::now());
        let result = if job.attempts > job.max_attempts {
            Err(JobError::Permanent("its last attempt did not end".into()))
        } else {
            tokio::select! {
                result = self.call(&job) => result,
                () = self.renew_lease_until_lost(&job) => Err(JobError::LeaseLost),
            }
        };
        let outcome = Outcome::of(&job, &result);
        if let Some(known) = self.0.registry.find(&job.kind) {
            let run = Run { kind: known.kind.name, job: &job, outcome, began, took: started.elapsed() };
            (self.0.registry.observe)(&self.0.app, &run);
        }
        if let Err(error) = &result {
            tracing::warn!(job = %job.id, kind = job.kind, attempt = job.attempts, %error, "job failed");
        }
        // If this fails too, the lease ends and the job runs again.
        if let Err(error) = self.record(job, outcome, result).await {
            tracing::error!(%error, "recording the outcome of a job failed");
        }
    }

    async fn call(&self, job: &Claimed) -> Result<(), JobError> {
        let inner = &self.0;
        let Some(known) = inner.registry.find(&job.kind) else {
            return Err(JobError::Failed(format!("unknown job kind {}", job.kind)));
        };
        let payload = serde_json::from_str(&job.payload)
            .map_err(|error| JobError::Permanent(format!("the payload is not JSON: {error}")))?;
        let context =
            JobContext { app: inner.app.clone(), job: job.clone(), db: inner.db.clone(), clock: inner.clock.clone() };
        let called = async { (known.run)(context, payload).await };
        AssertUnwindSafe(called).catch_unwind().await.unwrap_or_else(|_| Err(JobError::Failed("it panicked".into())))
    }

    /// Renews the lease again and again, and returns when it is lost.
    async fn renew_lease_until_lost(&self, job: &Claimed) {
        let mut beat = interval(LEASE / 3);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        beat.tick().await;
        loop {
            beat.tick().await;
            match self.0.db.tx(job.clone(), |conn, job| Box::pin(job.renew_lease(conn))).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => tracing::warn!(job = %job.id, %error, "lease renewal failed"),
            }
        }
    }

    async fn record(&self, job: Claimed, outcome: Outcome, result: Result<(), JobError>) -> Result<(), DbError> {
        let retry_at = self.0.clock.now().plus(backoff(job.attempts, u32::from_le_bytes(Entropy.bytes())));
        let reason = result.err().map(|error| error.to_string()).unwrap_or_default();
        self.0
            .db
            .tx((job, outcome, reason, retry_at), |conn, (job, outcome, reason, retry_at)| {
                Box::pin(async move {
                    match outcome {
                        Outcome::Success => job.finish(conn).await.map(|_| ()),
                        Outcome::Failure => job.retry_at(conn, *retry_at, reason).await,
                        Outcome::Dead => job.mark_dead(conn, reason).await,
                        Outcome::Lost => Ok(()),
                    }
                })
            })
            .await
    }
}
