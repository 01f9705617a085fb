//! Caches: values loaded from the database, kept in memory on every node and replaced whole.
//!
//! Each cache has a row in `versions`, inserted by its migration. A transaction that changes the source tables calls
//! [`bump_version`], which also locks the row, so such transactions run one after the other. Readers use the value as
//! it is ([`Cached::latest`]), or compare its version with the row first ([`Cached::current`]) and wait for the reload.
//! Of many that wait, one loads.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::sync::Mutex;

use db::{Conn, Db, DbError, params, sql};
use values::Time;

/// A version and when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    pub version: i64,
    /// Later than the change before, even if the clock went back.
    pub at: Time,
}

/// Increments the version of a cache and locks it until the commit.
pub async fn bump_version(conn: &mut Conn, name: &'static str) -> Result<Change, DbError> {
    let now = conn.now();
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

/// Locks the version of a cache until the commit, so that its source tables do not change.
pub async fn lock(conn: &mut Conn, name: &'static str) -> Result<(), DbError> {
    let (_,): (i64,) =
        conn.one(sql!("SELECT version FROM versions WHERE name = $1 /*pg FOR UPDATE */"), params![name]).await?;
    Ok(())
}

/// The current version of a cache.
pub async fn version(conn: &mut Conn, name: &'static str) -> Result<i64, DbError> {
    let (version,) = conn.one(sql!("SELECT version FROM versions WHERE name = $1"), params![name]).await?;
    Ok(version)
}

/// A value that can be cached, with the version that it was loaded at.
pub trait Versioned: Send + Sync + Sized + 'static {
    /// The name of its row in `versions`.
    const NAME: &'static str;

    fn version(&self) -> i64;

    /// Loads the value; `before` is the cached one, parts of which may be reused.
    fn load(db: &Db, before: Option<Arc<Self>>) -> impl Future<Output = Result<Self, DbError>> + Send;
}

/// A cached value, empty until it is first loaded.
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
    /// The cached value, without a look at the database.
    pub fn latest(&self) -> Option<Arc<T>> {
        self.value.load_full()
    }

    /// The value at the version that is committed now.
    pub async fn current(&self, db: &Db) -> Result<Arc<T>, DbError> {
        let required = version(&mut *db.read().await?, T::NAME).await?;
        self.at_least(db, required).await
    }

    /// The value at this version or a later one.
    pub async fn at_least(&self, db: &Db, required: i64) -> Result<Arc<T>, DbError> {
        let fresh = |value: &Arc<T>| value.version() >= required;
        if let Some(value) = self.latest().filter(fresh) {
            return Ok(value);
        }
        let _guard = self.loading.lock().await;
        if let Some(value) = self.latest().filter(fresh) {
            return Ok(value);
        }
        let value = Arc::new(T::load(db, self.latest()).await?);
        self.value.store(Some(Arc::clone(&value)));
        Ok(value)
    }
}
