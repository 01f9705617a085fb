//! Suspended CDRs: imported lines that cannot be rated yet, kept until they are rated or dropped.
//!
//! They are rated again on request and after a rate deck was imported. Only a decision of the team, which is audited,
//! drops one.

mod store;
mod types;

pub use store::{delete, insert};
pub use types::{SuspendedCdrId, SuspenseReason};

use super::importer::{Importer, LineError};
use super::{MAX_IMPORT_LINES, Work, calls_per_transaction, write};
use crate::cdrs::row::CdrRow;
use crate::cdrs::write::ImportBatch;
use api::answer::{Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::names::Names;
use platform::app::App;
use platform::jobs::{self, JobContext, JobError, Kind};
use serde_json::{Value, json};
use store::SuspendedRow;
use types::{Filters, SuspendedCdr, SuspenseCount, SuspenseDrop, SuspenseRerate, SuspenseRerated, SuspenseSummary};
use values::Time;

pub const RERATE: Kind = Kind::new("cdrs.rerate").attempts(3);

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Filters, NewestFirst<SuspendedCdrId>>,
) -> Result<Page<SuspendedCdr>, Problem> {
    let Filters { reason, call_id } = &listing.filters;
    let rows = store::list(&mut ctx, *reason, call_id.as_ref(), listing.before(), listing.fetch()).await?;
    let mut names = Names::of_trunks(&mut ctx, rows.iter().filter_map(|row| row.trunk_id)).await?;
    names.add_upstreams(&mut ctx, rows.iter().filter_map(|row| row.upstream_id)).await?;
    listing.page(rows, |row| (row.suspended_at, row.id), |row| SuspendedCdr::new(row, &names))
}

pub async fn summary(mut ctx: ReadCtx) -> Result<Json<SuspenseSummary>, Problem> {
    let counts = store::counts(&mut ctx).await?;
    let total = counts.iter().map(|(_, lines)| lines).sum();
    let reasons = counts.into_iter().map(|(reason, lines)| SuspenseCount { reason, lines }).collect();
    Ok(Json(SuspenseSummary { total, reasons }))
}

/// Number of suspended lines.
pub async fn count(conn: &mut Conn) -> Result<i64, DbError> {
    Ok(store::counts(conn).await?.into_iter().map(|(_, lines)| lines).sum())
}

pub async fn drop_suspended(
    ctx: RequestCtx,
    Path(id): Path<SuspendedCdrId>,
    Body(request): Body<SuspenseDrop>,
) -> Result<Committed<NoContent>, Problem> {
    ctx.commit((id, request), |tx, (id, request)| {
        Box::pin(async move {
            let row = store::find(tx, *id).await?.ok_or_else(Problem::not_found)?;
            if store::delete(tx, &[row.id]).await? == 0 {
                return Err(Problem::not_found());
            }
            tx.ctx.audit_note("suspended_cdr_id", id.to_string());
            tx.ctx.audit_note("call_id", row.call_id.to_string());
            tx.ctx.audit_note("started_at", values::Rfc3339(row.started_at).to_string());
            tx.ctx.audit_note("suspended_for", row.reason.as_str());
            tx.ctx.audit_note("reason", request.reason.to_string());
            Ok(NoContent)
        })
    })
    .await
}

/// Rates suspended lines again, each part in a transaction of its own; then records the request.
pub async fn rerate_suspended(
    ctx: RequestCtx,
    Body(request): Body<SuspenseRerate>,
) -> Result<Committed<Json<SuspenseRerated>>, Problem> {
    let result = match request.ids {
        None => rerate_all(&ctx.app).await?,
        Some(ids) => {
            let mut conn = ctx.app.db.read().await?;
            let mut rows = Vec::with_capacity(ids.len());
            for id in ids {
                rows.extend(store::find(&mut conn, id).await?);
            }
            drop(conn);
            rerate(&ctx.app, &rows).await?
        }
    };
    ctx.audit_note("rated", result.rated);
    ctx.commit(result, |_, result| Box::pin(async move { Ok(Json(*result)) })).await
}

/// Enqueues a job that rates the suspended lines again, if there are any.
pub async fn enqueue_rerate(conn: &mut Conn) -> Result<(), DbError> {
    if count(conn).await? > 0 {
        jobs::enqueue(conn, RERATE, json!({})).await?;
    }
    Ok(())
}

pub async fn rerate_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let result = rerate_all(&context.app).await.map_err(|problem| JobError::Failed(format!("{problem:?}")))?;
    tracing::info!(rated = result.rated, still = result.still, "rated suspended CDRs again");
    Ok(())
}

/// Rates as many lines again as one import may have, oldest first.
async fn rerate_all(app: &App) -> Result<SuspenseRerated, Problem> {
    let mut after = (Time::EPOCH, SuspendedCdrId::new(uuid::Uuid::nil()));
    let (mut result, mut tried) = (SuspenseRerated::default(), 0);
    while tried < MAX_IMPORT_LINES {
        let limit = calls_per_transaction(&app.db) as i64;
        let rows = store::list_oldest(&mut *app.db.read().await?, after, limit).await?;
        let Some(last) = rows.last() else { break };
        after = (last.suspended_at, last.id);
        tried += rows.len();
        let part = rerate(app, &rows).await?;
        result.rated += part.rated;
        result.duplicates += part.duplicates;
    }
    result.still = count(&mut *app.db.read().await?).await?;
    Ok(result)
}

/// Rates lines again. What can be rated now is written and is no longer suspended, in one transaction.
async fn rerate(app: &App, rows: &[SuspendedRow]) -> Result<SuspenseRerated, Problem> {
    let Some(earliest) = rows.iter().map(|row| row.started_at).min() else { return Ok(SuspenseRerated::default()) };
    let mut importer = Importer::new(app, earliest).await?;
    let mut cdrs: Vec<(usize, CdrRow)> = Vec::new();
    let (mut resolved, mut other_reasons) = (Vec::new(), Vec::new());
    for (at, row) in rows.iter().enumerate() {
        match importer.cdr(&row.line()).await {
            Ok(cdr) => {
                cdrs.push((at, cdr));
                resolved.push(row.id);
            }
            Err(LineError::Suspended(reason)) if reason != row.reason => other_reasons.push((row.clone(), reason)),
            Err(LineError::Suspended(_) | LineError::Rejected(_)) => {}
            Err(LineError::Db(error)) => return Err(error.into()),
        }
    }
    let resolved_lines = resolved.len();
    let work = Work { cdrs: ImportBatch::new(cdrs, importer.now), suspended: Vec::new(), resolved };
    let (written, _) = write(app, work).await?;
    if !other_reasons.is_empty() {
        let changed = app.db.tx(other_reasons, |conn, changes| {
            Box::pin(async move {
                for (row, reason) in changes {
                    store::set_reason(conn, row, *reason).await?;
                }
                Ok::<_, DbError>(())
            })
        });
        changed.await?;
    }
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    Ok(SuspenseRerated {
        rated: number(written.new),
        duplicates: number(resolved_lines - written.new),
        still: number(rows.len() - resolved_lines),
    })
}
