//! Database errors, the same on both engines.
//!
//! Constraint names are PostgreSQL's: `users_email_key` for an unnamed UNIQUE, `users_pkey` for a primary key, the
//! index's own name for a unique index. SQLite's messages are translated to them.

use std::borrow::Cow;
use std::fmt;

use rusqlite::ffi;
use tokio_postgres::error::SqlState;

use crate::metrics::Database;

pub type Result<T, E = DbError> = std::result::Result<T, E>;

#[derive(Debug)]
pub enum DbError {
    /// Violates the unique constraint of this name.
    Unique(String),
    ForeignKey,
    /// Violates the CHECK of this name.
    Check(String),
    /// This column must not be NULL.
    NotNull(String),
    /// A serialization failure or deadlock. Callers see it only if every attempt failed with one.
    Retry,
    /// Another transaction held a lock for too long.
    LockTimeout,
    /// `Conn::one` found no row.
    NotFound,
    /// An earlier statement of the transaction failed, so all of it did.
    Aborted,
    /// A column cannot be read as the type the code expects.
    Column {
        name: String,
        reason: Cow<'static, str>,
    },
    /// The schema does not match this binary.
    Schema(String),
    /// The disk that the database is on is full: nothing can be written until somebody frees space.
    DiskFull(String),
    /// The database cannot be reached or is overloaded: retry later.
    Unavailable(String),
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl DbError {
    pub fn other(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        DbError::Other(cause.into())
    }

    pub(crate) fn unavailable(cause: impl fmt::Display) -> Self {
        DbError::Unavailable(cause.to_string())
    }

    /// Adds to the error counters. A missing row is not an error, and an aborted transaction was counted before.
    pub(super) fn count(&self, database: &Database) {
        let kind = match self {
            DbError::Unique(_) | DbError::ForeignKey | DbError::Check(_) | DbError::NotNull(_) => "constraint",
            DbError::Retry => "lost_race",
            DbError::LockTimeout => "lock_timeout",
            DbError::DiskFull(_) => {
                database.note_disk_full();
                "disk_full"
            }
            DbError::Unavailable(_) => "unavailable",
            DbError::Column { .. } | DbError::Schema(_) | DbError::Other(_) => "other",
            DbError::NotFound | DbError::Aborted => return,
        };
        database.errors.of(kind).inc();
    }

    /// Whether this is a violation of the unique constraint `name`.
    pub fn is_unique(&self, name: &str) -> bool {
        matches!(self, DbError::Unique(constraint) if constraint == name)
    }
}

impl fmt::Display for DbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DbError::Unique(name) => write!(f, "unique constraint {name} violated"),
            DbError::ForeignKey => f.write_str("foreign key violated"),
            DbError::Check(name) => write!(f, "check {name} violated"),
            DbError::NotNull(column) => write!(f, "column {column} must not be null"),
            DbError::Retry => f.write_str("the transaction conflicted with others in every attempt"),
            DbError::LockTimeout => f.write_str("timed out waiting for a lock"),
            DbError::NotFound => f.write_str("no such row"),
            DbError::Aborted => f.write_str("an earlier statement of the transaction failed"),
            DbError::Column { name, reason } => write!(f, "column {name}: {reason}"),
            DbError::Schema(reason) => f.write_str(reason),
            DbError::DiskFull(reason) => write!(f, "the database's disk is full: {reason}"),
            DbError::Unavailable(reason) => write!(f, "database unavailable: {reason}"),
            DbError::Other(cause) => with_causes(f, cause.as_ref()),
        }
    }
}

impl std::error::Error for DbError {}

/// tokio-postgres errors print as "db error" and have the reason in their source.
fn with_causes(f: &mut fmt::Formatter<'_>, cause: &(dyn std::error::Error + 'static)) -> fmt::Result {
    write!(f, "{cause}")?;
    let mut next = cause.source();
    while let Some(cause) = next {
        write!(f, ": {cause}")?;
        next = cause.source();
    }
    Ok(())
}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> Self {
        let rusqlite::Error::SqliteFailure(failure, message) = &error else { return DbError::other(error) };
        // "CHECK constraint failed: amount_positive", "NOT NULL constraint failed: users.name"
        let subject = message.as_deref().and_then(|text| text.rsplit(": ").next()).unwrap_or_default();
        match failure.extended_code {
            ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
                DbError::Unique(subject.to_owned())
            }
            ffi::SQLITE_CONSTRAINT_FOREIGNKEY => DbError::ForeignKey,
            ffi::SQLITE_CONSTRAINT_CHECK => DbError::Check(subject.to_owned()),
            ffi::SQLITE_CONSTRAINT_NOTNULL => {
                DbError::NotNull(subject.rsplit('.').next().unwrap_or_default().to_owned())
            }
            ffi::SQLITE_IOERR_SHMSIZE => DbError::DiskFull(error.to_string()),
            extended => match extended & 0xff {
                ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => DbError::LockTimeout,
                ffi::SQLITE_FULL => DbError::DiskFull(error.to_string()),
                ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN | ffi::SQLITE_READONLY => DbError::unavailable(error),
                _ => DbError::other(error),
            },
        }
    }
}

impl From<tokio_postgres::Error> for DbError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(report) = error.as_db_error() else { return without_report(error) };
        let constraint = || report.constraint().unwrap_or_default().to_owned();
        match report.code() {
            code if *code == SqlState::UNIQUE_VIOLATION => DbError::Unique(constraint()),
            code if *code == SqlState::FOREIGN_KEY_VIOLATION => DbError::ForeignKey,
            code if *code == SqlState::CHECK_VIOLATION => DbError::Check(constraint()),
            code if *code == SqlState::NOT_NULL_VIOLATION => {
                DbError::NotNull(report.column().unwrap_or_default().to_owned())
            }
            code if *code == SqlState::T_R_SERIALIZATION_FAILURE => DbError::Retry,
            code if *code == SqlState::T_R_DEADLOCK_DETECTED => DbError::Retry,
            code if *code == SqlState::LOCK_NOT_AVAILABLE => DbError::LockTimeout,
            code if *code == SqlState::IN_FAILED_SQL_TRANSACTION => DbError::Aborted,
            code if *code == SqlState::DISK_FULL => DbError::DiskFull(report.to_string()),
            // 08 connection, 53 resources (too many connections), 57P operator intervention, 58 system
            code if ["08", "53", "57P", "58"].iter().any(|class| code.code().starts_with(class)) => {
                DbError::unavailable(report)
            }
            _ => DbError::other(error),
        }
    }
}

/// An error that the server did not report: the connection broke, or a value did not fit its parameter.
fn without_report(error: tokio_postgres::Error) -> DbError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(current) = cause {
        if current.is::<std::io::Error>() {
            return DbError::Unavailable(format!("{error}: {current}"));
        }
        cause = current.source();
    }
    // "connection closed", "error connecting": only the text tells them from an encoding error.
    if error.is_closed() || error.to_string().contains("connect") {
        return DbError::unavailable(error);
    }
    DbError::other(error)
}

impl From<deadpool_postgres::PoolError> for DbError {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        match error {
            // No connection, whatever the reason, is never the fault of the statement.
            deadpool_postgres::PoolError::Backend(error) => match DbError::from(error) {
                away @ DbError::Unavailable(_) => away,
                other => DbError::unavailable(other),
            },
            error => DbError::unavailable(error),
        }
    }
}
