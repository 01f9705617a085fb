//! Numbers by the million: a file is taken in at once, and a job puts its numbers into the stock.
//!
//! The file is good as a whole or changes nothing. A number that is in the stock already is changed to what the file
//! says, unless a customer has it.
//!
//! - `run`: the job · `arrive`: some thousand numbers in one transaction · `store`: the reports

mod arrive;
mod run;
mod store;
mod types;

pub use run::{IMPORT, import_job};
pub use store::names_file;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::app::App;
use crate::db::{Conn, DbError};
use crate::features::imports::rows_of;
use crate::features::upstreams;
use crate::http::answer::{Accepted, Json};
use crate::http::call::{Call, Done, Read};
use crate::http::csv::Table;
use crate::http::input::{Path, Query};
use crate::http::problem::Problem;
use crate::jobs::{self, NewJob};
use crate::values::{Time, UpstreamId};
use store::ImportRow;
use types::{InventoryImport, InventoryImportId};

/// How many imports may wait or run.
const UNDER_WAY_AT_MOST: i64 = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportQuery {
    /// Upstream that the DIDs come from.
    upstream_id: UpstreamId,
}

pub async fn create(
    call: Call,
    Query(query): Query<ImportQuery>,
    table: Table,
) -> Result<Done<Accepted<InventoryImport>>, Problem> {
    let upstream = query.upstream_id;
    let unknown = || Problem::invalid("upstream_id", "names no upstream");
    upstreams::find(&mut *call.app.db.read().await?, upstream).await?.ok_or_else(unknown)?;
    let (rows, id) = (rows_of(table.lines), InventoryImportId::new(call.app.entropy.uuid(call.now)));
    let file = table.file.keep().await?;
    call.note("upstream_id", upstream.to_string());
    call.note("import_id", id.to_string());
    call.commit(ImportRow::queued(id, upstream, file.hash, rows, call.now), |tx, new| {
        Box::pin(async move {
            let call = tx.call;
            let unknown = || Problem::invalid("upstream_id", "names no upstream");
            upstreams::lock(tx, new.upstream_id).await?.ok_or_else(unknown)?;
            if store::under_way(tx).await? >= UNDER_WAY_AT_MOST {
                return Err(Problem::state_conflict(format!("{UNDER_WAY_AT_MOST} imports are under way already.")));
            }
            store::insert(tx, new).await?;
            enqueue(tx, &call.app, call.now).await?;
            Ok(Accepted(InventoryImport::of(new.clone(), Vec::new())))
        })
    })
    .await
}

/// Lets the next import have its turn.
async fn enqueue(conn: &mut Conn, app: &App, now: Time) -> Result<(), DbError> {
    jobs::enqueue(conn, &NewJob { id: app.entropy.uuid(now), kind: IMPORT, payload: json!({}), run_at: now }).await
}

pub async fn show(mut read: Read, Path(id): Path<InventoryImportId>) -> Result<Json<InventoryImport>, Problem> {
    let row = store::find(&mut read, id).await?.ok_or_else(Problem::not_found)?;
    let faults = store::faults(&mut read, id).await?;
    Ok(Json(InventoryImport::of(row, faults)))
}
