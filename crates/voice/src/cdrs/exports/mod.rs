//! Exports: the CDRs of an account as a file, or, for the team, those of all customers with cost and margin.
//!
//! A request is a row and a job. The job writes the CDRs of the range, oldest first, page by page into the file store,
//! which names a file by its content: an attempt that breaks off leaves nothing behind, and the next begins again. The
//! file can be downloaded for seven days. A failed export is not retried; the customer requests another.
//!
//! - `write`: the job · `lines`: a CDR as a line of the file

mod lines;
mod store;
mod types;
mod write;

pub use store::{names_file, purge};
pub use types::{AdminCdrExportCreate, CdrExport, CdrExportCreate};
pub use write::{WRITE_EXPORT, write_export_job};

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use api::answer::{Accepted, Json};
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use platform::app::App;
use platform::jobs::{self, JobContext, JobError, Kind};
use platform::limits::{Limit, Subject};
use store::ExportRow;
use types::{CdrExportId, Compression, ExportFormat, ExportStatus};
use values::Time;

pub const EXPIRE_EXPORTS: Kind = Kind::new("cdrs.expire_exports");

const DAY: Duration = Duration::from_secs(24 * 3600);
/// The job is retried for less than this.
const GIVE_UP_AFTER: Duration = DAY;
/// Exports that one transaction expires.
const BATCH_SIZE: i64 = 1000;

pub async fn create(
    ctx: RequestCtx,
    Body(Checked(request)): Body<Checked<CdrExportCreate>>,
) -> Result<Committed<Accepted<CdrExport>>, Problem> {
    let export = ExportRow {
        format: request.format.unwrap_or(ExportFormat::Csv),
        compression: request.compression.unwrap_or(Compression::None),
        filters: stored_filters(request.filters.as_ref())?,
        time_zone: request.time_zone,
        ..new_export(&ctx, (request.from.0, request.to.0))?
    };
    queue(ctx, export).await
}

/// The same for the team, of all customers.
pub async fn create_team(
    ctx: RequestCtx,
    Body(Checked(request)): Body<Checked<AdminCdrExportCreate>>,
) -> Result<Committed<Accepted<CdrExport>>, Problem> {
    let export = ExportRow {
        is_team: true,
        format: request.format.unwrap_or(ExportFormat::Csv),
        compression: request.compression.unwrap_or(Compression::None),
        filters: stored_filters(request.filters.as_ref())?,
        time_zone: request.time_zone,
        ..new_export(&ctx, (request.from.0, request.to.0))?
    };
    queue(ctx, export).await
}

fn new_export(ctx: &RequestCtx, (from, to): (Time, Time)) -> Result<ExportRow, Problem> {
    Ok(ExportRow {
        id: ctx.new_id(),
        account_id: ctx.principal()?.account_id,
        status: ExportStatus::Queued,
        format: ExportFormat::Csv,
        compression: Compression::None,
        range_from: from,
        range_to: to,
        rows_count: 0,
        size_bytes: None,
        content_hash: None,
        reason: None,
        requested_at: ctx.now,
        completed_at: None,
        expires_at: None,
        is_team: false,
        filters: None,
        time_zone: None,
    })
}

fn stored_filters<F: Serialize>(filters: Option<&F>) -> Result<Option<String>, Problem> {
    filters.map(|filters| serde_json::to_string(filters).map_err(Problem::internal)).transpose()
}

async fn queue(ctx: RequestCtx, export: ExportRow) -> Result<Committed<Accepted<CdrExport>>, Problem> {
    ctx.limit(Limit::Exports, Subject::account(export.account_id)).await?;
    ctx.audit_note("export_id", export.id.to_string());
    ctx.commit(export, |tx, export| Box::pin(enqueue(tx, export))).await
}

async fn enqueue(tx: &mut Tx<'_>, export: &ExportRow) -> Result<Accepted<CdrExport>, Problem> {
    let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
    store::insert(tx, export).await?;
    jobs::enqueue(tx, WRITE_EXPORT, json!({"export_id": export.id})).await?;
    Ok(Accepted(CdrExport::new(&app, export.clone(), now)))
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<CdrExportId>>,
) -> Result<Page<CdrExport>, Problem> {
    let account = ctx.principal()?.account_id;
    let rows = store::list(&mut ctx, account, listing.before(), listing.fetch()).await?;
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    listing.page(rows, |row| (row.requested_at, row.id), |row| CdrExport::new(&app, row, now))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<CdrExportId>) -> Result<Json<CdrExport>, Problem> {
    let account = ctx.principal()?.account_id;
    let export = store::find(&mut ctx, account, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(CdrExport::new(&ctx.request.app, export, ctx.request.now)))
}

pub async fn list_team(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<CdrExportId>>,
) -> Result<Page<CdrExport>, Problem> {
    let rows = store::list_team(&mut ctx, listing.before(), listing.fetch()).await?;
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    listing.page(rows, |row| (row.requested_at, row.id), |row| CdrExport::new(&app, row, now))
}

pub async fn show_team(mut ctx: ReadCtx, Path(id): Path<CdrExportId>) -> Result<Json<CdrExport>, Problem> {
    let export = store::find_team(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(CdrExport::new(&ctx.request.app, export, ctx.request.now)))
}

/// Expires exports; the sweep of orphaned files deletes their files. An export whose job was lost with its node at the
/// last attempt fails.
pub async fn expire_exports_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let now = context.clock.now();
    let batch = || context.db.tx((), |conn, ()| Box::pin(store::expire(conn, BATCH_SIZE)));
    while batch().await? == BATCH_SIZE.cast_unsigned() {}
    let abandoned = context
        .db
        .tx(now, |conn, now| Box::pin(store::fail_abandoned(conn, now.minus(GIVE_UP_AFTER), write::WRITE_FAILED)));
    abandoned.await?;
    Ok(())
}
