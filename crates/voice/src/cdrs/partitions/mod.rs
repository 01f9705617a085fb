//! Partitions of `cdrs`: on PostgreSQL one for each month, created two months ahead and dropped when
//! the archive has it.

mod store;

pub use store::drop_before;

use serde_json::Value;

use db::DbError;
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use values::Time;

pub const CREATE_PARTITIONS: Kind = Kind::new("calls.make_room");

pub async fn create_partitions_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    Ok(create_partitions(&context.app).await?)
}

/// Creates the partitions of the months around now. Does nothing on SQLite.
pub async fn create_partitions(app: &App) -> Result<(), DbError> {
    create_partitions_around(app, app.clock.now()).await
}

/// The same around another time, for CDRs of the past.
pub async fn create_partitions_around(app: &App, moment: Time) -> Result<(), DbError> {
    app.db.tx(moment, |conn, moment| Box::pin(store::create(conn, *moment))).await
}
