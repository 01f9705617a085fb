//! Statements of upstreams: the calls that an upstream charges for, reconciled with our CDRs.
//!
//! A file is uploaded and a job compares it, line by line, with the answered calls that the upstream carried in the
//! period. A file with any error has no result. The pairing itself is in the `rating` crate. A job that is interrupted
//! begins anew: what an earlier run stored is deleted first, and what it still writes is refused.
//!
//! - `mapping`: how files are laid out · `run`: the job · `calls`: our side, in the upstream's currency
//! - `pair`: from both sides to lines and totals · `lines`: what is stored, listed and sent as CSV
//! - `types`, `store`: the statements

mod calls;
mod lines;
mod mapping;
mod pair;
mod retention;
mod run;
mod store;
mod types;

pub use lines::list as list_lines;
pub use mapping::{save_mapping, show_mapping};
pub use retention::{PURGE_LINES, purge_lines_job};
pub use run::{RECONCILE, reconcile_job};
pub use store::names_file;

use serde_json::json;

use super::decks;
use crate::upstreams;
use api::answer::{Accepted, Json};
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Path, PathPair, Query};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use api::sheet::Sheet;
use mapping::StatementMappingInput;
use platform::jobs;
use platform::outside::files::StoredFile;
use store::StatementRow;
use types::{Statement, StatementId, StatementQuery};
use values::UpstreamId;

/// How many statements of an upstream may be queued or running.
const MAX_PENDING: i64 = 20;
const START_TOLERANCE_SECONDS: i64 = 30;
const DURATION_TOLERANCE_SECONDS: i64 = 2;

/// Queues the reconciliation of an uploaded file.
pub async fn create(
    ctx: RequestCtx,
    Path(upstream): Path<UpstreamId>,
    Query(Checked(query)): Query<Checked<StatementQuery>>,
    sheet: Sheet<Checked<StatementMappingInput>>,
) -> Result<Committed<Accepted<Statement>>, Problem> {
    let (row, saved) = {
        let mut conn = ctx.app.db.read().await?;
        let row = upstreams::find(&mut conn, upstream).await?.ok_or_else(Problem::not_found)?;
        (row, mapping::find(&mut conn, upstream).await?)
    };
    let mapping = sheet.mapping.map(|Checked(StatementMappingInput(given))| given).or(saved);
    let start = query.start_tolerance_seconds.or(mapping.as_ref().and_then(|it| it.start_tolerance_seconds));
    let duration = query.duration_tolerance_seconds.or(mapping.as_ref().and_then(|it| it.duration_tolerance_seconds));
    let rows_total = decks::estimated_rows(&sheet.file, sheet.lines).await?;
    let mapping = mapping.map(|mapping| serde_json::to_string(&mapping)).transpose().map_err(Problem::internal)?;
    let StoredFile { hash, .. } = sheet.file.store().await?;
    let new = StatementRow {
        mapping,
        period_from: query.period_from.map(|from| from.0),
        period_to: query.period_to.map(|to| to.0),
        start_tolerance_seconds: start.unwrap_or(START_TOLERANCE_SECONDS),
        duration_tolerance_seconds: duration.unwrap_or(DURATION_TOLERANCE_SECONDS),
        rows_total,
        ..StatementRow::queued(ctx.new_id(), upstream, row.base_currency, hash, ctx.now)
    };
    ctx.audit_note("upstream_id", upstream.to_string());
    ctx.audit_note("statement_id", new.id.to_string());
    ctx.commit(new, |tx, new| {
        Box::pin(async move {
            upstreams::lock(tx, new.upstream_id).await?.ok_or_else(Problem::not_found)?;
            if store::count_pending(tx, new.upstream_id).await? >= MAX_PENDING {
                let detail = format!(
                    "{MAX_PENDING} statements of this upstream are queued or running. Wait until one completes."
                );
                return Err(Problem::state_conflict(detail));
            }
            store::insert(tx, new).await?;
            jobs::enqueue(tx, RECONCILE, json!({ "statement_id": new.id })).await?;
            Ok(Accepted(Statement::of(new.clone(), Some(Vec::new()))?))
        })
    })
    .await
}

pub async fn list(
    mut ctx: ReadCtx,
    Path(upstream): Path<UpstreamId>,
    listing: Listing<Unfiltered, NewestFirst<StatementId>>,
) -> Result<Page<Statement>, Problem> {
    let found = upstreams::find(&mut ctx, upstream).await?.ok_or_else(Problem::not_found)?;
    let upstream_name = Some(found.name.to_string());
    let rows = store::list(&mut ctx, upstream, listing.before(), listing.fetch()).await?;
    let shown = |row: StatementRow| {
        let at = (row.created_at, row.id);
        Statement::of(row, None).map(|it| (at, Statement { upstream_name: upstream_name.clone(), ..it }))
    };
    let shown = rows.into_iter().map(shown).collect::<Result<Vec<_>, Problem>>()?;
    listing.page(shown, |(at, _)| *at, |(_, statement)| statement)
}

pub async fn show(
    mut ctx: ReadCtx,
    PathPair(upstream, id): PathPair<UpstreamId, StatementId>,
) -> Result<Json<Statement>, Problem> {
    let row = store::find(&mut ctx, upstream, id).await?.ok_or_else(Problem::not_found)?;
    let faults = store::faults(&mut ctx, id).await?;
    Ok(Json(Statement::of(row, Some(faults))?))
}
