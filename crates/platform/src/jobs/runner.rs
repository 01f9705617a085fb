//! Claims what is due and runs it.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value as Json;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::context::{JobContext, JobError};
use super::queue::{self, Claim, Claimed, Kind, LEASE};
use super::retry::backoff;
use super::schedule::{self, ParsedSchedule, Schedule};
use crate::clock::Clock;
use crate::entropy::Entropy;
use db::{Db, DbError};
use values::Time;

/// Jobs that a node runs at once.
const CONCURRENCY: u32 = 4;

/// How often to look for work that nobody woke the runner for.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// What a kind of job does.
pub struct JobKind<A> {
    pub kind: Kind,
    pub run: fn(JobContext<A>, Json) -> BoxFuture<'static, Result<(), JobError>>,
}

/// Every kind of job this node knows.
pub struct Registry<A> {
    kinds: Vec<JobKind<A>>,
    observe: fn(&A, &Run<'_>),
}

/// One run of a job, when it is over.
pub struct Run<'j> {
    pub kind: &'static str,
    pub job: &'j Claimed,
    pub outcome: Outcome,
    pub began: Time,
    pub took: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Success,
    /// It will be tried again.
    Failure,
    /// It was set aside.
    Dead,
    /// Another node has it by now.
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
        Registry { kinds: kinds.into_iter().collect(), observe: |_, _| {} }
    }

    /// Tells `observe` how every run of a job ended.
    pub fn with_observer(self, observe: fn(&A, &Run<'_>)) -> Registry<A> {
        Registry { observe, ..self }
    }

    fn find(&self, name: &str) -> Option<&JobKind<A>> {
        self.kinds.iter().find(|known| known.kind.name == name)
    }

    /// No name may mean two kinds.
    fn check(&self) -> Result<(), SetupError> {
        for (position, known) in self.kinds.iter().enumerate() {
            if self.kinds[..position].iter().any(|earlier| earlier.kind.name == known.kind.name) {
                return Err(SetupError(format!("two kinds of job are called {}", known.kind.name)));
            }
        }
        Ok(())
    }
}

/// Why kinds and schedules do not fit together.
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
    entropy: Entropy,
    registry: Registry<A>,
    schedules: Vec<ParsedSchedule>,
    wake: Arc<Notify>,
    slots: Arc<Semaphore>,
}

impl<A: Clone + Send + Sync + 'static> Runner<A> {
    /// `wake` is rung after a commit that enqueued something due at once.
    pub fn new(
        app: A,
        db: Db,
        clock: Clock,
        entropy: Entropy,
        registry: Registry<A>,
        schedules: Vec<Schedule>,
        wake: Arc<Notify>,
    ) -> Result<Runner<A>, SetupError> {
        registry.check()?;
        if let Some(orphan) = schedules.iter().find(|schedule| registry.find(schedule.kind.name).is_none()) {
            return Err(SetupError(format!("schedule {} has a kind that nobody runs", orphan.name)));
        }
        let schedules = schedules.into_iter().map(ParsedSchedule::new).collect::<Result<_, _>>().map_err(SetupError)?;
        let slots = Arc::new(Semaphore::new(CONCURRENCY as usize));
        Ok(Runner(Arc::new(Inner { app, db, clock, entropy, registry, schedules, wake, slots })))
    }

    /// Runs jobs until `shutdown`, then waits for those that are running.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut running = JoinSet::new();
        loop {
            if let Err(error) = self.start_due(&mut running).await {
                tracing::warn!(%error, "could not look for jobs");
            }
            tokio::select! {
                () = &mut shutdown => break,
                () = self.0.wake.notified() => {}
                () = sleep(POLL_INTERVAL) => {}
                Some(_) = running.join_next() => {}
            }
        }
        while running.join_next().await.is_some() {}
    }

    /// Runs everything that is due now, and what becomes due by that, until nothing is left.
    pub async fn settle(&self) -> Result<(), DbError> {
        let mut running = JoinSet::new();
        loop {
            let started = self.start_due(&mut running).await?;
            while running.join_next().await.is_some() {}
            if started > 0 {
                continue;
            }
            // Jobs that `run` has started may enqueue more: nothing runs here while all slots are free.
            let _idle = self.0.slots.acquire_many(CONCURRENCY).await.map_err(DbError::other)?;
            if !queue::is_due(&mut *self.0.db.read().await?, self.0.clock.now()).await? {
                return Ok(());
            }
        }
    }

    /// Enqueues what the schedules have due; answers how much that was.
    pub async fn tick(&self) -> Result<usize, DbError> {
        let inner = &self.0;
        schedule::tick(&inner.db, &inner.clock, inner.entropy, &inner.schedules).await
    }

    /// Ticks the schedules and starts as many due jobs as there are free slots; answers how much there was to do.
    async fn start_due(&self, running: &mut JoinSet<()>) -> Result<usize, DbError> {
        let inner = &self.0;
        let ticked = self.tick().await?;
        let mut slots: Vec<OwnedSemaphorePermit> = Vec::new();
        while let Ok(slot) = inner.slots.clone().try_acquire_owned() {
            slots.push(slot);
        }
        if slots.is_empty() {
            return Ok(ticked);
        }
        let now = inner.clock.now();
        let claim = Claim { token: inner.entropy.uuid(now), now, limit: slots.len() as i64 };
        let jobs = inner.db.tx(claim, |conn, claim| Box::pin(queue::claim(conn, claim))).await?;
        let started = jobs.len();
        for (job, slot) in jobs.into_iter().zip(slots) {
            let runner = self.clone();
            running.spawn(async move {
                runner.execute(job).await;
                drop(slot);
            });
        }
        Ok(ticked + started)
    }

    /// Runs one job and writes down how it went.
    async fn execute(&self, job: Claimed) {
        let (began, started) = (self.0.clock.now(), Instant::now());
        let result = if job.attempts > job.max_attempts {
            Err(JobError::Permanent("its last attempt never came to an end".into()))
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
            tracing::warn!(job = %job.id, kind = job.kind, attempt = job.attempts, %error, "a job failed");
        }
        // Should this fail too, the lease ends by itself and the job runs again.
        if let Err(error) = self.record(job, outcome, result).await {
            tracing::error!(%error, "could not record how a job went");
        }
    }

    async fn call(&self, job: &Claimed) -> Result<(), JobError> {
        let inner = &self.0;
        let Some(known) = inner.registry.find(&job.kind) else {
            return Err(JobError::Failed(format!("this node knows no job {}", job.kind)));
        };
        let payload = serde_json::from_str(&job.payload)
            .map_err(|error| JobError::Permanent(format!("the payload is not JSON: {error}")))?;
        let context =
            JobContext { app: inner.app.clone(), job: job.clone(), db: inner.db.clone(), clock: inner.clock.clone() };
        let called = async { (known.run)(context, payload).await };
        AssertUnwindSafe(called).catch_unwind().await.unwrap_or_else(|_| Err(JobError::Failed("it panicked".into())))
    }

    /// Prolongs the lease for as long as it can, and returns when it is lost.
    async fn renew_lease_until_lost(&self, job: &Claimed) {
        let mut beat = interval(LEASE / 3);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        beat.tick().await;
        loop {
            beat.tick().await;
            let input = (job.clone(), self.0.clock.now());
            match self.0.db.tx(input, |conn, (job, now)| Box::pin(job.renew_lease(conn, *now))).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => tracing::warn!(job = %job.id, %error, "lease renewal failed"),
            }
        }
    }

    async fn record(&self, job: Claimed, outcome: Outcome, result: Result<(), JobError>) -> Result<(), DbError> {
        let now = self.0.clock.now();
        let again = now.plus(backoff(job.attempts, u32::from_le_bytes(self.0.entropy.bytes())));
        let reason = result.err().map(|error| error.to_string()).unwrap_or_default();
        self.0
            .db
            .tx((job, outcome, reason, now, again), |conn, (job, outcome, reason, now, again)| {
                Box::pin(async move {
                    match outcome {
                        Outcome::Success => job.finish(conn).await.map(|_| ()),
                        Outcome::Failure => job.retry_at(conn, *again, reason).await,
                        Outcome::Dead => job.mark_dead(conn, *now, reason).await,
                        Outcome::Lost => Ok(()),
                    }
                })
            })
            .await
    }
}
