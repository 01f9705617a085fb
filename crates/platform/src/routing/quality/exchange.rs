//! What nodes tell each other about routes, and what a node begins with.

use std::time::Duration;

use rating::quality::{Counts, WINDOW_MINUTES, minute_of};

use super::store::{self, BreakerRow, StatsRow};
use super::{BREAKER_TTL_MILLIS, MAX_ROUTES, RouteQuality};
use db::{Db, DbError};
use values::Time;

/// How often a node writes what it counted and reads what others did.
pub const EXCHANGE_INTERVAL: Duration = Duration::from_secs(5);
/// Rows that one transaction writes; the rest follows with the next.
const BATCH: usize = 500;
/// How far back a node reads: other nodes commit late, and their clocks may be behind.
const OVERLAP: Duration = Duration::from_secs(60);
/// A window of all routes.
const MAX_ROWS: i64 = MAX_ROUTES as i64 * WINDOW_MINUTES;

/// What the tables have that a node may not know.
#[derive(Default)]
pub(super) struct Exchange {
    pub stats: Vec<StatsRow>,
    pub breakers: Vec<BreakerRow>,
}

impl RouteQuality {
    /// Reads what other nodes counted, or this one before it was restarted.
    pub async fn load(&self, db: &Db, now: Time) -> Result<(), DbError> {
        self.read(db, now.minus(Duration::from_millis(BREAKER_TTL_MILLIS.unsigned_abs())), now).await
    }

    /// Writes what this node counted since the last time, and reads what others did.
    pub async fn exchange(&self, db: &Db, now: Time) -> Result<(), DbError> {
        let mut purged = self.exchanging.lock().await;
        let (unsaved, minute) = (self.unsaved(), minute_of(now.millis()));
        if !unsaved.is_empty() || *purged != minute {
            let (totals, unsaved) = db
                .tx(unsaved, |conn, unsaved| {
                    Box::pin(async move {
                        let mut totals = Vec::with_capacity(unsaved.len());
                        for row in unsaved {
                            totals.push(store::add(conn, row).await?);
                        }
                        let now = conn.now();
                        store::purge(conn, minute_of(now.millis()) - WINDOW_MINUTES, BREAKER_TTL_MILLIS).await?;
                        Ok::<_, DbError>((totals, unsaved.clone()))
                    })
                })
                .await?;
            self.mark_saved(&unsaved, totals);
            *purged = minute;
        }
        if db.is_shared() {
            return self.read(db, now.minus(OVERLAP), now).await;
        }
        // The only node on SQLite has nothing to learn, but to forget.
        self.learn(&Exchange::default(), now);
        Ok(())
    }

    async fn read(&self, db: &Db, since: Time, now: Time) -> Result<(), DbError> {
        let mut conn = db.read().await?;
        let first = minute_of(now.millis()) - WINDOW_MINUTES + 1;
        let stats = store::stats_since(&mut conn, since, first, MAX_ROWS).await?;
        let breakers = store::breakers_since(&mut conn, since, MAX_ROUTES as i64).await?;
        drop(conn);
        self.learn(&Exchange { stats, breakers }, now);
        Ok(())
    }

    /// What is to be written, in the order in which all nodes lock the rows.
    fn unsaved(&self) -> Vec<StatsRow> {
        let routes = self.lock();
        let mut rows = Vec::new();
        for (destination, of_destination) in &routes.by_destination {
            for (upstream, route) in of_destination {
                let dirty = route.window.unsaved();
                rows.extend(dirty.map(|(minute, counts)| StatsRow::new(minute, destination, *upstream, &counts)));
            }
        }
        drop(routes);
        rows.sort_by(|one, other| one.key().cmp(&other.key()));
        rows.truncate(BATCH);
        rows
    }

    fn mark_saved(&self, written: &[StatsRow], totals: Vec<Counts>) {
        let mut routes = self.lock();
        for (row, total) in written.iter().zip(totals) {
            if let Some(route) = routes.find(&row.destination_name, row.upstream_id) {
                route.window.mark_saved(row.minute, &row.counts(), total);
            }
        }
    }
}
