//! The job queue: background work that runs at least once, on any node.
//!
//! A change calls [`enqueue`] in its own transaction, so that neither exists without the other. A [`Runner`] on every
//! node claims due jobs under a lease, renews the lease while a job runs, and retries a failed job with exponential
//! backoff. A job that failed too often becomes a dead job: [`list_dead`] shows it and [`rerun`] enqueues it again. If
//! a node dies, its leases end and another node takes over.
//!
//! So a job may run twice, but its effect need not happen twice: [`JobContext::finish_in`] ends the job in the
//! transaction of the effect, and fails if another node has the job by now. [`Schedule`]s enqueue jobs by a cron
//! expression, once for all nodes. [`queue_stats`] has the length and the lag of the queue.
//!
//! A kind belongs to a [`Class`], which has slots of its own on every node: jobs that wait for a service that hangs
//! delay only others of their class.

mod class;
mod context;
mod queue;
mod retry;
mod runner;
mod schedule;
mod stats;

pub use class::Class;
pub use context::{JobContext, JobError};
pub use queue::{
    Claimed, DeadJob, Kind, enqueue, enqueue_at, enqueue_once, enqueue_once_by, list_dead, list_payloads, purge_dead,
    replace_payload, rerun, rerun_kind,
};
pub use runner::{JobKind, Outcome, Prepare, Registry, Run, Runner, SetupError};
pub use schedule::Schedule;
pub use stats::{ClassStats, QueueStats, lag, queue_stats};

/// One row for each kind of job: `KIND => function`.
#[macro_export]
macro_rules! job_kinds {
    ($($kind:path => $function:path,)*) => {
        vec![$($crate::jobs::JobKind { kind: $kind, run: |context, payload| Box::pin($function(context, payload)) }),*]
    };
}
