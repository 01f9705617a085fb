//! Work that is done later, at least once, by whichever node is free.
//!
//! A change enqueues its follow-up work with [`enqueue`] in its own transaction, so that neither exists without the
//! other. A [`Runner`] on every node claims what is due under a lease, keeps the lease alive while the job runs, tries
//! a failed job again after a growing pause, and sets aside one that failed too often, where [`dead`] shows it and
//! [`rerun`] revives it. A node that dies loses its leases, and another takes over.
//!
//! So a job may run twice, but its effect need not happen twice: [`JobContext::finish_in`] ends the job in the
//! transaction of the effect, and fails there if another node has the job by now. [`Schedule`]s enqueue jobs by the
//! calendar, once for all nodes. [`standing`] tells whoever operates the service how far behind all of this is.

mod context;
mod queue;
mod retry;
mod runner;
mod schedule;
mod stats;

pub use context::{JobContext, JobError};
pub use queue::{Claimed, DeadJob, Kind, NewJob, enqueue, list_dead, purge_dead, rerun, rerun_kind};
pub use runner::{JobKind, Outcome, Registry, Run, Runner, SetupError};
pub use schedule::Schedule;
pub use stats::{QueueStats, lag, queue_stats};
