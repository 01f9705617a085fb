//! Partitions of `cdrs`: on PostgreSQL one for each month, created two months ahead.

mod store;

use serde_json::Value;

use db::DbError;
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};

pub const CREATE_PARTITIONS: Kind = Kind::new("calls.make_room");

pub async fn create_partitions_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    Ok(create_partitions(&context.app).await?)
}

/// Creates the partitions of the months around now. Does nothing on SQLite.
pub async fn create_partitions(app: &App) -> Result<(), DbError> {
    app.db.tx((), |conn, ()| Box::pin(store::create(conn))).await
}
