//! Exports: an account's records of calls as a file.
//!
//! A request is a row and a job. The job writes the calls of the range, the oldest first, page by page into the file
//! store, which knows a file by its content: one that breaks off leaves nothing behind and is written anew from its
//! beginning, so a file is whole or not there. It can be fetched for seven days. An export that failed is asked for
//! again by another request.
//!
//! - `write`: the job · `rows`: a call as a line of a file

mod rows;
mod store;
mod types;
mod write;

pub use store::{forget, names_file};
pub use types::{CdrExport, CdrExportCreate};
pub use write::{EXPORT, export_job};

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use api::answer::{Accepted, Json};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use platform::app::App;
use platform::jobs::{self, JobContext, JobError, Kind, NewJob};
use platform::limits::{Limit, Subject};
use store::ExportRow;
use types::{CdrExportId, Compression, ExportFormat, ExportStatus};
use values::Time;

pub const EXPIRE: Kind = Kind::new("cdrs.expire_exports");

const DAY: Duration = Duration::from_secs(24 * 3600);
/// The longest range of one file.
const MOST_DAYS: u32 = 366;
/// No job is tried for longer.
const GIVEN_UP_AFTER: Duration = DAY;
/// Exports whose files are let go of in one transaction.
const BATCH: i64 = 1000;

pub async fn create(
    ctx: RequestCtx,
    Body(wanted): Body<CdrExportCreate>,
) -> Result<Committed<Accepted<CdrExport>>, Problem> {
    let (from, to) = (wanted.from.0, wanted.to.0);
    if to <= from {
        return Err(Problem::invalid("to", "must be after from"));
    }
    if to > from.plus(DAY.saturating_mul(MOST_DAYS)) {
        return Err(Problem::invalid("to", format!("must be at most {MOST_DAYS} days after from")));
    }
    let account = ctx.principal()?.account_id;
    ctx.limit(Limit::Exports, Subject::account(account)).await?;
    let export = ExportRow {
        id: CdrExportId::new(ctx.app.entropy.uuid(ctx.now)),
        account_id: account,
        status: ExportStatus::Queued,
        format: wanted.format.unwrap_or(ExportFormat::Csv),
        compression: wanted.compression.unwrap_or(Compression::None),
        range_from: from,
        range_to: to,
        rows_count: 0,
        size_bytes: None,
        content_hash: None,
        reason: None,
        requested_at: ctx.now,
        completed_at: None,
        expires_at: None,
    };
    ctx.audit_note("export_id", export.id.to_string());
    ctx.commit(export, |tx, export| Box::pin(enqueue(tx, export))).await
}

async fn enqueue(tx: &mut Tx<'_>, export: &ExportRow) -> Result<Accepted<CdrExport>, Problem> {
    let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
    store::insert(tx, export).await?;
    let payload = json!({"export_id": export.id});
    let job = NewJob { id: app.entropy.uuid(now), kind: EXPORT, payload, run_at: now };
    jobs::enqueue(tx, &job).await?;
    Ok(Accepted(CdrExport::new(&app, export.clone(), now)))
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, (i64, CdrExportId)>,
) -> Result<Page<CdrExport>, Problem> {
    let account = ctx.principal()?.account_id;
    let (at, id) = listing.after.unwrap_or((i64::MAX, CdrExportId::new(Uuid::max())));
    let rows = store::list(&mut ctx, account, (Time::from_millis(at), id), listing.fetch()).await?;
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    listing.page(rows, |row| (row.requested_at.millis(), row.id), |row| CdrExport::new(&app, row, now))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<CdrExportId>) -> Result<Json<CdrExport>, Problem> {
    let account = ctx.principal()?.account_id;
    let export = store::find(&mut ctx, account, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(CdrExport::new(&ctx.request.app, export, ctx.request.now)))
}

/// Lets go of files whose time is over; the sweep of files that no row names removes them. An export whose job was
/// lost with its node at the last attempt is given up.
pub async fn expire_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let now = context.clock.now();
    let batch = || context.db.tx(now, |conn, now| Box::pin(store::expire(conn, *now, BATCH)));
    while batch().await? == BATCH.cast_unsigned() {}
    let given_up = context
        .db
        .tx(now, |conn, now| Box::pin(store::give_up(conn, now.minus(GIVEN_UP_AFTER), *now, write::CAME_TO_NOTHING)));
    given_up.await?;
    Ok(())
}
