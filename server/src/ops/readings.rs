//! What is looked at when somebody asks for the metrics: in memory, and a few bounded reads.

use db::DbError;
use db::metrics::Reading;
use platform::app::App;
use platform::jobs;
use platform::routing::cache::Versioned;
use voice::calls;

/// Without the database there are fewer, which is telling enough.
pub async fn readings(app: &App) -> Vec<Reading> {
    let mut readings = in_memory(app);
    match in_database(app).await {
        Ok(more) => readings.extend(more),
        Err(error) => tracing::warn!(%error, "some metrics could not be looked up"),
    }
    readings
}

fn reading(name: &'static str, help: &'static str, value: f64) -> Reading {
    Reading { name, help, value }
}

fn in_memory(app: &App) -> Vec<Reading> {
    let load = app.db.load();
    let mut readings = vec![
        reading(
            "trunkline_db_connections_in_use",
            "Connections of this node that somebody uses, the only writer apart.",
            load.connections_in_use as f64,
        ),
        reading(
            "trunkline_db_waiting",
            "Transactions and reads that wait for a connection, or for the only writer.",
            load.waiting as f64,
        ),
    ];
    if let Some(tariff) = app.tariff.latest() {
        let decks = || tariff.sellers().iter().filter_map(|seller| seller.deck.as_ref());
        let prefixes: usize = decks().map(|deck| deck.len()).sum();
        let bytes: usize = decks().map(|deck| deck.bytes()).sum();
        readings.extend([
            reading("trunkline_decks", "Rate decks in force, in this node's memory.", decks().count() as f64),
            reading("trunkline_deck_prefixes", "Prefixes in these decks.", prefixes as f64),
            reading("trunkline_deck_bytes", "Memory that these decks take.", bytes as f64),
            reading("trunkline_tariff_version", "Changes of the tariff that are in it.", tariff.version() as f64),
        ]);
    }
    readings
}

async fn in_database(app: &App) -> Result<[Reading; 4], DbError> {
    let mut conn = app.db.glance().await?;
    let queue = jobs::standing(&mut conn, app.clock.now()).await?;
    let calls = calls::count_live(&mut conn).await?;
    Ok([
        reading("trunkline_jobs_waiting", "Jobs that are due and that nobody runs.", queue.waiting as f64),
        reading("trunkline_jobs_dead", "Jobs that were given up.", queue.dead as f64),
        reading(
            "trunkline_jobs_lag_seconds",
            "How long one of the next jobs has been waiting for somebody to run it.",
            queue.lag.as_secs_f64(),
        ),
        reading("trunkline_calls_in_progress", "Calls that go on, on any switch.", calls as f64),
    ])
}
