//! Gauges that are read when the metrics are scraped: from memory, and by a few bounded queries.

use db::DbError;
use db::metrics::Reading;
use platform::app::{App, rotation};
use platform::jobs;
use platform::routing::cache::Versioned;
use voice::{calls, cdrs};

/// Without the database, only those from memory.
pub async fn readings(app: &App) -> Vec<Reading> {
    let mut readings = in_memory(app);
    match in_database(app).await {
        Ok(more) => readings.extend(more),
        Err(error) => tracing::warn!(%error, "metrics query failed"),
    }
    readings
}

fn reading(name: &'static str, help: &'static str, value: f64) -> Reading {
    Reading { name, help, label: None, value }
}

fn in_memory(app: &App) -> Vec<Reading> {
    let load = app.db.load();
    let mut readings = vec![
        reading(
            "trunkline_lab",
            "1 if this installation is a lab, with rules relaxed; else 0.",
            f64::from(u8::from(app.settings.lab.is_lab)),
        ),
        reading("trunkline_event_streams", "Open event streams of this node.", app.event_feed.open_streams() as f64),
        reading(
            "trunkline_route_breakers_open",
            "Circuit breakers of routes that are not closed, as this node sees them.",
            app.route_quality.open_breakers() as f64,
        ),
        reading(
            "trunkline_db_connections_in_use",
            "Database connections of this node in use, without the SQLite writer.",
            load.connections_in_use as f64,
        ),
        reading(
            "trunkline_db_waiting",
            "Transactions and reads waiting for a database connection or the SQLite writer.",
            load.waiting as f64,
        ),
    ];
    if let Some(replica) = app.db.replica_status() {
        let is_current = f64::from(u8::from(replica.is_current));
        readings.push(reading("trunkline_db_replica_used", "1 if the replica is up to date; else 0.", is_current));
        readings.extend(replica.lag.map(|lag| {
            reading("trunkline_db_replica_lag_seconds", "How far behind the replica is, in seconds.", lag.as_secs_f64())
        }));
    }
    if let Some(tariff) = app.tariff.latest() {
        let decks = || tariff.upstreams().iter().filter_map(|seller| seller.deck.as_ref());
        let prefixes: usize = decks().map(|deck| deck.len()).sum();
        let bytes: usize = decks().map(|deck| deck.bytes()).sum();
        readings.extend([
            reading("trunkline_decks", "Rate decks in force in this node's cache.", decks().count() as f64),
            reading("trunkline_deck_prefixes", "Prefixes in the cached rate decks.", prefixes as f64),
            reading("trunkline_deck_bytes", "Memory used by the cached rate decks, in bytes.", bytes as f64),
            reading("trunkline_tariff_version", "Version of the cached tariff.", tariff.version() as f64),
        ]);
    }
    readings
}

async fn in_database(app: &App) -> Result<Vec<Reading>, DbError> {
    let mut conn = app.db.read_few().await?;
    let queue = jobs::queue_stats(&mut conn).await?;
    let calls = calls::count_live(&mut conn).await?;
    let suspended = cdrs::count_suspended(&mut conn).await?;
    let is_rotating = rotation::is_rotating(&mut conn).await?;
    let waiting = queue.classes.iter().map(|stats| Reading {
        label: Some(("class", stats.class.as_str())),
        ..reading("trunkline_jobs_waiting", "Jobs that are due and not running, by class.", stats.waiting as f64)
    });
    let lag = queue.classes.iter().map(|stats| Reading {
        label: Some(("class", stats.class.as_str())),
        ..reading(
            "trunkline_jobs_lag_seconds",
            "How long a due job has been waiting to run, in seconds, by class.",
            stats.lag.as_secs_f64(),
        )
    });
    let mut readings: Vec<Reading> = waiting.chain(lag).collect();
    readings.extend([
        reading(
            "trunkline_master_secret_rotating",
            "1 while two master secrets are in use.",
            f64::from(u8::from(is_rotating)),
        ),
        reading("trunkline_jobs_dead", "Dead jobs.", queue.dead as f64),
        reading("trunkline_calls_in_progress", "Live calls on all switches.", calls as f64),
        reading("trunkline_cdrs_suspended", "Imported lines that cannot be rated yet.", suspended as f64),
    ]);
    Ok(readings)
}
