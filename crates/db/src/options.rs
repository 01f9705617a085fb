//! The location of the database and its limits.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::clock::Clock;
use super::error::DbError;

/// The options of `Db::open`. Parsed from `sqlite://path/to/file.db` or `postgres://user:password@host/name`.
#[derive(Clone)]
pub struct DbOptions {
    pub location: Location,
    /// The clock of [`Conn::now`](crate::Conn::now).
    pub clock: Clock,
    /// Maximum read-only connections of requests (SQLite).
    pub readers: usize,
    /// Maximum read-only connections of long reads, separate so that they cannot starve requests (SQLite).
    pub reporters: usize,
    /// Maximum transactions in the writer's queue (SQLite).
    pub queue: usize,
    /// Maximum transactions that share one commit (SQLite).
    pub group: usize,
    /// Maximum connections of this node (PostgreSQL).
    pub connections: usize,
    /// How long to wait for a connection, or for room in the queue.
    pub wait: Duration,
    /// How long a statement waits for a lock.
    pub lock_timeout: Duration,
    /// How long a statement may run (PostgreSQL).
    pub statement_timeout: Duration,
    /// A standby for lists and reports (PostgreSQL).
    pub replica: Option<ReplicaOptions>,
}

/// A standby of the database.
#[derive(Clone)]
pub struct ReplicaOptions {
    /// The URL, which may hold a password.
    pub url: String,
    /// How far it may be behind.
    pub max_lag: Duration,
}

#[derive(Clone)]
pub enum Location {
    Sqlite(PathBuf),
    /// The URL, which may hold a password.
    Postgres(String),
}

impl FromStr for DbOptions {
    type Err = DbError;

    fn from_str(url: &str) -> Result<Self, DbError> {
        let location = if let Some(path) = url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:")) {
            Location::Sqlite(path.into())
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            Location::Postgres(url.to_owned())
        } else {
            return Err(DbError::other("the database URL must begin with sqlite:// or postgres://"));
        };
        Ok(DbOptions {
            location,
            clock: Clock::system(),
            readers: 4,
            reporters: 2,
            queue: 1024,
            group: 256,
            connections: 16,
            wait: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(20),
            replica: None,
        })
    }
}

impl DbOptions {
    /// Whether the database may exist. For PostgreSQL only the server knows.
    pub fn may_exist(&self) -> bool {
        match &self.location {
            Location::Sqlite(path) => path.exists(),
            Location::Postgres(_) => true,
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Location::Postgres(_) => f.write_str("postgres://…"),
        }
    }
}

impl fmt::Debug for ReplicaOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://…, at most {:?} behind", self.max_lag)
    }
}

impl fmt::Debug for DbOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.location.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_password_is_never_printed() {
        let options: DbOptions = "postgres://trunkline:hunter2@db.internal/trunkline".parse().unwrap();
        assert_eq!(format!("{options:?} {:?}", options.location), "postgres://… postgres://…");
    }

    #[test]
    fn other_engines_are_refused() {
        assert!("mysql://localhost".parse::<DbOptions>().is_err());
    }
}
