//! Backups: one sealed file with the database, the stored files and the secrets of an installation.
//!
//! [`create`] makes one while the service runs. It copies the files of the store, then one state of the database, then
//! the files that were stored meanwhile. A file is stored before the row that refers to it, and deleted a day after the
//! last such row at the earliest, so a backup has every file that its database refers to.
//!
//! [`check`] reads a backup to its end, [`restore`] puts it into an empty installation. `archive` is the order of its
//! parts, `sealed` the encryption, `programs` runs `pg_dump` and `pg_restore`.

mod archive;
mod create;
mod named_file;
mod programs;
mod restore;
mod sealed;
mod stop;

pub use create::{Target, create, discard, secrets_of};
pub use restore::{Restored, check, restore};
pub use sealed::Fault;
pub use stop::Stop;

use serde::{Deserialize, Serialize};
use values::{Rfc3339, Time};

/// What a backup says about itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// When the state of the database was taken, in Unix milliseconds.
    made_at: i64,
    /// Version of the program that made it.
    pub version: String,
    pub engine: Engine,
    /// Migrations that the database had.
    pub migrations: usize,
    /// Rows of the audit chain, the archived ones among them.
    pub audit_rows: i64,
    pub files: u64,
    /// The bucket that keeps the files, if the backup has none.
    pub bucket: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    Sqlite,
    PostgreSql,
}

impl Engine {
    pub fn name(self) -> &'static str {
        match self {
            Engine::Sqlite => "SQLite",
            Engine::PostgreSql => "PostgreSQL",
        }
    }
}

impl Manifest {
    pub fn made_at(&self) -> Rfc3339 {
        Rfc3339(Time::from_millis(self.made_at))
    }
}
