//! The context of a running job, and its errors.

use std::fmt;

use super::queue::Claimed;
use db::{Clock, Conn, Db, DbError};

/// What a job runs with.
#[derive(Clone)]
pub struct JobContext<A> {
    pub app: A,
    pub job: Claimed,
    pub db: Db,
    pub clock: Clock,
}

impl<A> JobContext<A> {
    /// Ends the job in the transaction of its effect, so that both happen or neither. If another node has taken the job
    /// over, the error rolls the effect back.
    pub async fn finish_in(&self, conn: &mut Conn) -> Result<(), JobError> {
        if self.job.finish(conn).await? { Ok(()) } else { Err(JobError::LeaseLost) }
    }
}

#[derive(Debug)]
pub enum JobError {
    /// The job is retried.
    Failed(String),
    /// A retry cannot succeed: the job becomes a dead job immediately.
    Permanent(String),
    /// Another node has the job by now.
    LeaseLost,
    Db(DbError),
}

impl From<DbError> for JobError {
    fn from(error: DbError) -> Self {
        JobError::Db(error)
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobError::Failed(reason) | JobError::Permanent(reason) => f.write_str(reason),
            JobError::LeaseLost => f.write_str("another node has taken the job over"),
            JobError::Db(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for JobError {}
