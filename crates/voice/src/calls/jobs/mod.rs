//! What happens to calls by the calendar: those that nobody speaks of any more are closed, and there is always a place
//! for the records of the months to come.

mod store;

use std::time::Duration;

use serde_json::Value;

use super::end::{self, Ending};
use super::late;
use super::live;
use super::records;
use super::types::CallStatus;
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use platform::ledger::LedgerError;
use values::Time;

pub const CLOSE_VANISHED: Kind = Kind::new("calls.close_vanished");
pub const MAKE_ROOM: Kind = Kind::new("calls.make_room");

/// How long a switch that could not reach us has to tell how a call ended, after its money was let go of.
const PATIENCE: Duration = Duration::from_secs(300);
const BATCH: i64 = 200;

/// Closes calls of which nobody has spoken for longer than they can have lasted.
pub async fn close_vanished_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let now = context.clock.now();
    let batch = || context.db.tx((context.app.clone(), now), |conn, (app, now)| Box::pin(close(conn, app, *now)));
    while batch().await.map_err(|error| JobError::Failed(error.to_string()))? == BATCH.unsigned_abs() as usize {}
    Ok(())
}

/// Closes some of them, and answers how many there were.
async fn close(conn: &mut Conn, app: &App, now: Time) -> Result<usize, LedgerError> {
    let vanished = live::lock_vanished(conn, now.minus(PATIENCE), BATCH).await?;
    let mut records = Vec::with_capacity(vanished.len());
    for call in &vanished {
        // What is known for sure: an answered call lasted until it was last heard of.
        let ending = Ending {
            answered_at: call.answered_at,
            ended_at: end::last_heard(call),
            status: Some(CallStatus::Failed),
            upstream_id: None,
            is_guess: true,
        };
        records.push(end::record(call, &ending, now).map_err(DbError::other)?);
        live::remove(conn, call.token).await?;
        // Whoever tells of an answer later may have a clock that is behind.
        let open_from = if call.answered_at.is_some() { ending.ended_at } else { end::last_said(call) };
        late::open(conn, call, open_from, false, now).await?;
    }
    records::keep(conn, app.entropy, &vanished, &mut records, &mut [], now).await?;
    if !vanished.is_empty() {
        tracing::warn!(calls = vanished.len(), "calls were closed of which no switch spoke any more");
    }
    Ok(vanished.len())
}

pub async fn make_room_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    Ok(make_room(&context.app).await?)
}

/// Makes the months around now, where records are kept by month.
pub async fn make_room(app: &App) -> Result<(), DbError> {
    app.db.tx(app.clock.now(), |conn, now| Box::pin(store::make_months(conn, *now))).await
}
