//! Suspended CDRs: imported lines that cannot be rated yet, kept until they are rated or dropped.
//!
//! They are rated again on request and after a rate deck was imported: some at a time, oldest first, and a job goes on
//! with the rest. Only a decision of the team, which is audited, drops one.

mod store;
mod types;

pub use store::insert;
pub use types::SuspenseReason;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::importer::{Importer, LineError};
use super::{MAX_IMPORT_LINES, PART_LINES, calls_per_transaction};
use crate::cdrs::row::CdrRow;
use crate::cdrs::write::{CDRS_PER_LOOK, ImportBatch, ImportMode, SeenCalls};
use api::answer::{Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::names::Names;
use platform::app::App;
use platform::jobs::{self, JobContext, JobError, Kind};
use platform::ledger::LedgerError;
use store::SuspendedRow;
use types::{
    Filters, SuspendedCdr, SuspendedCdrId, SuspenseCount, SuspenseDrop, SuspenseRerate, SuspenseRerated,
    SuspenseSummary,
};
use values::Time;

pub const RERATE: Kind = Kind::new("cdrs.rerate").attempts(3);

/// When a line was suspended, and its id: lines are rated again in this order.
type Cursor = (Time, SuspendedCdrId);

/// Before all lines.
const FIRST: Cursor = (Time::EPOCH, SuspendedCdrId::new(Uuid::nil()));

#[derive(Serialize, Deserialize)]
struct Payload {
    /// The last line that was tried, its time in Unix milliseconds; none to begin with the oldest line.
    #[serde(default)]
    after: Option<(i64, SuspendedCdrId)>,
}

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
            let taken = store::take(tx, &[row.id]).await?;
            if taken.is_empty() {
                return Err(Problem::not_found());
            }
            store::count_taken(tx, &taken).await?;
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

/// Rates suspended lines again, each part in a transaction of its own; then records the request. A job goes on where it
/// stopped.
pub async fn rerate_suspended(
    ctx: RequestCtx,
    Body(request): Body<SuspenseRerate>,
) -> Result<Committed<Json<SuspenseRerated>>, Problem> {
    let outcome = match request.ids {
        None => rerate_after(&ctx.app, FIRST).await?,
        Some(ids) => {
            let mut conn = ctx.app.db.read().await?;
            let mut rows = Vec::with_capacity(ids.len());
            for id in ids {
                rows.extend(store::find(&mut conn, id).await?);
            }
            drop(conn);
            (rerate(&ctx.app, &rows).await?, None)
        }
    };
    ctx.audit_note("rated", outcome.0.rated);
    ctx.commit(outcome, |tx, (result, stopped)| {
        Box::pin(async move {
            if let Some(after) = stopped {
                enqueue_after(tx, *after).await?;
            }
            Ok(Json(*result))
        })
    })
    .await
}

/// Enqueues a job that rates the suspended lines again, if there are any.
pub async fn enqueue_rerate(conn: &mut Conn) -> Result<(), DbError> {
    if count(conn).await? > 0 {
        jobs::enqueue(conn, RERATE, json!({})).await?;
    }
    Ok(())
}

/// Enqueues a job that rates the lines after this one again.
async fn enqueue_after(conn: &mut Conn, (at, id): Cursor) -> Result<(), DbError> {
    let payload = serde_json::to_value(Payload { after: Some((at.millis(), id)) }).map_err(DbError::other)?;
    jobs::enqueue(conn, RERATE, payload).await.map(drop)
}

pub async fn rerate_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let Payload { after } = serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let after = after.map_or(FIRST, |(at, id)| (Time::from_millis(at), id));
    let outcome = rerate_after(&context.app, after).await;
    let (result, stopped) = outcome.map_err(|problem| JobError::Failed(format!("{problem:?}")))?;
    tracing::info!(rated = result.rated, still = result.still, "rated suspended CDRs again");
    let Some(after) = stopped else { return Ok(()) };
    let next = (context.clone(), after);
    context.db.tx(next, |conn, (context, after)| Box::pin(hand_over(conn, context, *after))).await
}

/// Ends the job and enqueues the one that goes on.
async fn hand_over(conn: &mut Conn, context: &JobContext<App>, after: Cursor) -> Result<(), JobError> {
    enqueue_after(conn, after).await?;
    context.finish_in(conn).await
}

/// Rates as many lines again as one import may have, oldest first, and returns where it stopped if there may be more.
async fn rerate_after(app: &App, mut after: Cursor) -> Result<(SuspenseRerated, Option<Cursor>), Problem> {
    let (mut result, mut tried) = (SuspenseRerated::default(), 0);
    let stopped = loop {
        let limit = calls_per_transaction(&app.db) as i64;
        let rows = store::list_oldest(&mut *app.db.read().await?, after, limit).await?;
        let Some(last) = rows.last() else { break None };
        after = (last.suspended_at, last.id);
        tried += rows.len();
        let part = rerate(app, &rows).await?;
        result.rated += part.rated;
        result.duplicates += part.duplicates;
        if tried >= MAX_IMPORT_LINES {
            break Some(after);
        }
    };
    result.still = count(&mut *app.db.read().await?).await?;
    Ok((result, stopped))
}

/// Rates lines again. What can be rated now is written and is no longer suspended, in the same transaction.
async fn rerate(app: &App, rows: &[SuspendedRow]) -> Result<SuspenseRerated, Problem> {
    let Some(earliest) = rows.iter().map(|row| row.started_at).min() else { return Ok(SuspenseRerated::default()) };
    let mut importer = Importer::new(app, earliest).await?;
    let mut ratable: Vec<(SuspendedCdrId, CdrRow)> = Vec::new();
    let mut other_reasons = Vec::new();
    for row in rows {
        match importer.cdr(&row.line()).await {
            Ok(cdr) => ratable.push((row.id, cdr)),
            Err(LineError::Suspended(reason)) if reason != row.reason => other_reasons.push((row.clone(), reason)),
            Err(LineError::Suspended(_) | LineError::Rejected(_)) => {}
            Err(LineError::Db(error)) => return Err(error.into()),
        }
    }
    // Every transaction takes lines in this order, so that no two wait for each other.
    ratable.sort_unstable_by_key(|(id, _)| *id);
    let (mut rated, mut taken) = (0, 0);
    for part in ratable.chunks(app.db.bulk_rows(CDRS_PER_LOOK, PART_LINES)) {
        let written = app.db.tx_bulk(part.to_vec(), |conn, lines| Box::pin(write_taken(conn, lines)));
        let (new, lines) = written.await?;
        rated += new;
        taken += lines;
    }
    if !other_reasons.is_empty() {
        other_reasons.sort_unstable_by_key(|(row, _)| row.id);
        app.db.tx(other_reasons, |conn, changes| Box::pin(store::set_reasons(conn, changes))).await?;
    }
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    Ok(SuspenseRerated {
        rated: number(rated),
        duplicates: number(taken - rated),
        still: number(rows.len() - ratable.len()),
    })
}

/// Writes the CDRs of lines that are still suspended and ends their suspense; returns how many CDRs are new, and how many
/// lines are no longer suspended. Meanwhile the team may have dropped a line, or another request rated it: such a line is
/// taken already, and not charged.
async fn write_taken(conn: &mut Conn, lines: &[(SuspendedCdrId, CdrRow)]) -> Result<(usize, usize), LedgerError> {
    let ids: Vec<SuspendedCdrId> = lines.iter().map(|(id, _)| *id).collect();
    let taken = store::take(conn, &ids).await?;
    let mut seen = SeenCalls::default();
    let cdrs: Vec<(usize, CdrRow)> = lines
        .iter()
        .enumerate()
        .filter(|(_, (id, cdr))| taken.contains_key(id) && seen.insert(&cdr.terms))
        .map(|(at, (_, cdr))| (at, cdr.clone()))
        .collect();
    let written = ImportBatch::new(cdrs, conn.now()).write(conn, ImportMode::SkipConflicts).await?;
    store::count_taken(conn, &taken).await?;
    Ok((written.new, taken.len()))
}
