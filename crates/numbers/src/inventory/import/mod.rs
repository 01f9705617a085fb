//! Imports of DIDs from CSV files: the request stores the file, and a job adds its DIDs to the inventory.
//!
//! A file with any error changes nothing. A DID that is in the inventory already gets the terms of the file, unless a
//! customer has it.
//!
//! - `run`: the job · `staging`: one batch of rows in a transaction · `store`: the import rows

mod run;
mod staging;
mod store;
mod types;

pub use run::{IMPORT, import_job};
pub use store::names_file;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use api::answer::{Accepted, Json};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::csv::Table;
use api::faults::Faults;
use api::input::{Path, Query};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::imports::rows_of;
use platform::jobs;
use store::ImportRow;
use types::{InventoryImport, InventoryImportId};
use values::UpstreamId;
use voice::upstreams;

/// How many imports may be queued or running.
const MAX_PENDING_IMPORTS: i64 = 20;

/// Query of a DID inventory import.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportQuery {
    /// Upstream that the DIDs come from.
    upstream_id: UpstreamId,
}

pub async fn create(
    ctx: RequestCtx,
    Query(query): Query<ImportQuery>,
    table: Table,
) -> Result<Committed<Accepted<InventoryImport>>, Problem> {
    let upstream = query.upstream_id;
    let known = upstreams::find(&mut *ctx.app.db.read().await?, upstream).await?;
    expect_upstream(known.is_some())?;
    let (rows, id): (_, InventoryImportId) = (rows_of(table.lines), ctx.new_id());
    let file = table.file.store().await?;
    ctx.audit_note("upstream_id", upstream.to_string());
    ctx.audit_note("import_id", id.to_string());
    ctx.commit(ImportRow::queued(id, upstream, file.hash, rows, ctx.now), |tx, new| {
        Box::pin(async move {
            expect_upstream(upstreams::lock(tx, new.upstream_id).await?.is_some())?;
            if store::count_pending(tx).await? >= MAX_PENDING_IMPORTS {
                return Err(Problem::state_conflict(format!(
                    "{MAX_PENDING_IMPORTS} imports are queued or running. Wait until one completes."
                )));
            }
            store::insert(tx, new).await?;
            enqueue(tx).await?;
            Ok(Accepted(InventoryImport::of(new.clone(), Vec::new())))
        })
    })
    .await
}

fn expect_upstream(is_known: bool) -> Result<(), Problem> {
    let mut faults = Faults::default();
    faults.unless(is_known, "upstream_id", "does not name an upstream");
    faults.into_result()
}

/// Enqueues the job that runs the next import.
async fn enqueue(conn: &mut Conn) -> Result<(), DbError> {
    jobs::enqueue(conn, IMPORT, json!({})).await.map(drop)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<InventoryImportId>) -> Result<Json<InventoryImport>, Problem> {
    let row = store::find(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    let faults = store::faults(&mut ctx, id).await?;
    Ok(Json(InventoryImport::of(row, faults)))
}
