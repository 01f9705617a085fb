//! What every node keeps in memory and no node may keep for long after it changed: a value made from the database,
//! swapped whole.
//!
//! A row of `versions`, which the thing's migration adds, counts the changes. Whoever changes what the value is made
//! from calls [`bump_version`] in the same transaction, and so waits for others who do. Readers take the value as it is
//! ([`Cached::latest`]) and see the old or the new, never a mixture; or they first hold its version against the row
//! ([`Cached::current`]) and wait until the change is loaded. Of many who wait one loads.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::sync::Mutex;

use db::{Conn, Db, DbError, params, sql};
use values::Time;

/// One change among all that were made to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    pub version: i64,
    /// Later than the change before, even if the clock says otherwise.
    pub at: Time,
}

/// Counts a change of the thing of this name. It is the last to happen to it until we commit.
pub async fn bump_version(conn: &mut Conn, name: &'static str, now: Time) -> Result<Change, DbError> {
    let (version, at) = conn
        .one(
            sql!(
                "UPDATE versions SET version = version + 1,
                     changed_at = CASE WHEN changed_at < $2 THEN $2 ELSE changed_at + 1 END
                 WHERE name = $1 RETURNING version, changed_at"
            ),
            params![name, now],
        )
        .await?;
    Ok(Change { version, at })
}

/// Keeps everybody else from changing the thing until we commit, so that what we read of its sources stays true.
pub async fn lock(conn: &mut Conn, name: &'static str) -> Result<(), DbError> {
    let (_,): (i64,) =
        conn.one(sql!("SELECT version FROM versions WHERE name = $1 /*pg FOR UPDATE */"), params![name]).await?;
    Ok(())
}

/// How often the thing has changed.
pub async fn version(conn: &mut Conn, name: &'static str) -> Result<i64, DbError> {
    let (version,) = conn.one(sql!("SELECT version FROM versions WHERE name = $1"), params![name]).await?;
    Ok(version)
}

/// A value that says which version of its sources it was made from.
pub trait Versioned: Send + Sync + Sized + 'static {
    const NAME: &'static str;

    fn version(&self) -> i64;

    /// Makes it from the database, and from what the one before has of it already.
    fn load(db: &Db, before: Option<Arc<Self>>) -> impl Future<Output = Result<Self, DbError>> + Send;
}

pub struct Cached<T> {
    value: ArcSwapOption<T>,
    loading: Mutex<()>,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Cached { value: ArcSwapOption::empty(), loading: Mutex::default() }
    }
}

impl<T: Versioned> Cached<T> {
    /// The value as this node has it, if it ever loaded one.
    pub fn latest(&self) -> Option<Arc<T>> {
        self.value.load_full()
    }

    /// The value with every change that is committed by now.
    pub async fn current(&self, db: &Db) -> Result<Arc<T>, DbError> {
        let wanted = version(&mut *db.read().await?, T::NAME).await?;
        self.at_least(db, wanted).await
    }

    /// The value with this change in it.
    pub async fn at_least(&self, db: &Db, wanted: i64) -> Result<Arc<T>, DbError> {
        let fresh = |value: &Arc<T>| value.version() >= wanted;
        if let Some(value) = self.latest().filter(fresh) {
            return Ok(value);
        }
        let _alone = self.loading.lock().await;
        if let Some(value) = self.latest().filter(fresh) {
            return Ok(value);
        }
        let value = Arc::new(T::load(db, self.latest()).await?);
        self.value.store(Some(Arc::clone(&value)));
        Ok(value)
    }
}
