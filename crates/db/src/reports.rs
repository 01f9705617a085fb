//! Where lists and reports read: a standby, if there is one that is up to date, otherwise the database itself.
//!
//! What they show may be older than what was committed, by the bound of the settings. Nothing that decides on money,
//! calls or access reads there.

use std::time::Duration;

use super::error::Result;
use super::postgres::Postgres;
use super::{Db, Engine, Reader};

/// The standby as it was last measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplicaStatus {
    /// Whether lists and reports read from it.
    pub is_current: bool,
    /// How far it was behind; not known of one that is away.
    pub lag: Option<Duration>,
}

impl Db {
    /// The database to read a list or a report from. It cannot write.
    pub async fn for_reports(&self) -> Db {
        let (Some(replica), Engine::Postgres(primary)) = (&self.replica, &self.engine) else { return self.clone() };
        let standby = Box::pin(replica.current(primary)).await;
        self.of_standby(standby)
    }

    /// The database to read a file from that must have everything committed so far. It cannot write.
    pub async fn for_exports(&self) -> Db {
        let (Some(replica), Engine::Postgres(primary)) = (&self.replica, &self.engine) else { return self.clone() };
        let standby = Box::pin(replica.caught_up(primary)).await;
        self.of_standby(standby)
    }

    fn of_standby(&self, standby: Option<Postgres>) -> Db {
        let source = if standby.is_some() { "replica" } else { "primary" };
        self.metrics.database.replica_reads.of(source).inc();
        match standby {
            Some(standby) => Db { engine: Engine::Postgres(standby), replica: None, ..self.clone() },
            None => self.clone(),
        }
    }

    /// A read-only connection of [`for_reports`](Db::for_reports).
    pub async fn read_for_reports(&self) -> Result<Reader> {
        let db = self.for_reports().await;
        match (db.read_few().await, &self.replica) {
            // It went away since it was measured.
            (Err(error), Some(replica)) if db.replica.is_none() => {
                replica.set_away(&error);
                self.read_few().await
            }
            (lent, _) => lent,
        }
    }

    /// `None` without a standby.
    pub fn replica_status(&self) -> Option<ReplicaStatus> {
        let (is_current, lag) = self.replica.as_ref()?.status();
        Some(ReplicaStatus { is_current, lag })
    }
}
