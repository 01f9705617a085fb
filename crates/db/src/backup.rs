//! What backups and restores need of a database: a copy of one state of it while others write, and whether it is empty.
//!
//! A copy is made inside [`Db::snapshot`], so that it is the state which the other statements of the snapshot see.

use std::path::Path;

use super::conn::Conn;
use super::error::{DbError, Result};
use super::options::{DbOptions, Location};
use super::{Db, Engine, postgres, sqlite};

impl Conn {
    /// Copies what this snapshot sees to a new file (SQLite). Nobody who writes meanwhile waits for it.
    pub fn copy_to(&self, path: &Path) -> Result<()> {
        let connection = self.as_sqlite().ok_or_else(|| DbError::other("only SQLite can be copied to a file"))?;
        sqlite::copy_to(connection, path)
    }

    /// The name under which `pg_dump` sees what this snapshot sees, for as long as the snapshot lasts (PostgreSQL).
    pub async fn export_snapshot(&mut self) -> Result<String> {
        // A dump may take longer than a transaction may be idle.
        let text = "SELECT set_config('idle_in_transaction_session_timeout', '0', TRUE), pg_export_snapshot()";
        let (_, name): (String, String) = self.one(text, &[]).await?;
        Ok(name)
    }
}

impl Db {
    /// Whether nothing was created in it yet.
    pub async fn is_empty(&self) -> Result<bool> {
        let text = match &self.engine {
            Engine::Sqlite(_) => "SELECT COUNT(*) FROM sqlite_schema",
            Engine::Postgres(_) => "SELECT COUNT(*) FROM pg_tables WHERE schemaname = ANY (current_schemas(FALSE))",
        };
        let (tables,): (i64,) = self.read().await?.one(text, &[]).await?;
        Ok(tables == 0)
    }

    /// Tells the planner of PostgreSQL about rows that were restored; SQLite plans without.
    pub async fn analyze(&self) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(()),
            Engine::Postgres(_) => self.tx((), |conn, ()| Box::pin(conn.script(ANALYZE))).await,
        }
    }
}

/// However long it takes.
const ANALYZE: &str = "SET LOCAL statement_timeout = 0; ANALYZE";

impl DbOptions {
    /// The environment in which PostgreSQL's own programs connect to this database; `None` for SQLite. An environment is
    /// seen by its user only, arguments by everybody.
    pub fn program_environment(&self) -> Result<Option<Vec<(&'static str, String)>>> {
        match &self.location {
            Location::Sqlite(_) => Ok(None),
            Location::Postgres(url) => postgres::program_environment(url).map(Some),
        }
    }
}
