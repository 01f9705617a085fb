//! Imports CDRs of other switches: finished calls that we did not authorize, one JSON object per line.
//!
//! Each line is accepted, suspended or rejected by itself. The same call, by trunk, Call-ID, leg and start, is stored and
//! charged once, however often it is imported and even if its events were ingested. A call is priced by the tariff in
//! force when it began and belongs to whoever had the trunk or address then.
//!
//! - `importer`: the CDR of a line, or why it has none · `suspense`: lines that cannot be rated yet

mod importer;
mod store;
mod suspense;
mod types;

pub use suspense::{
    RERATE, count as count_suspended, drop_suspended, enqueue_rerate, list as list_suspended, rerate_job,
    rerate_suspended, summary as suspense_summary,
};
pub use types::{ImportAnswer, ImportLine, RejectedLine};

use std::sync::Arc;

use super::row::CdrRow;
use super::write::{ImportBatch, ImportMode, SeenCalls, Written};
use api::problem::Problem;
use api::{json, schema};
use db::{Conn, Db, DbError};
use importer::{Importer, LineError};
use platform::app::App;
use platform::ledger::LedgerError;
use platform::routing::tariff;
use suspense::SuspenseReason;

/// Maximum number of lines of one import.
pub const MAX_IMPORT_LINES: usize = 20_000;
/// Lines that are read and rated at a time.
const PART_LINES: usize = 2_000;
/// Lines after which other requests get their turn.
const LINES_PER_TURN: usize = 100;
const MAX_LINE_BYTES: usize = 4096;

/// What one transaction of an import writes.
#[derive(Default)]
struct Work {
    cdrs: ImportBatch,
    suspended: Vec<(ImportLine, SuspenseReason)>,
    /// Of the tariff by which they were suspended.
    tariff_version: i64,
}

/// Imports lines; `first` is the number of the first line.
pub async fn import(app: &App, text: &[u8], first: usize) -> Result<ImportAnswer, Problem> {
    let mut answer = ImportAnswer::default();
    let mut lines: Vec<(usize, ImportLine)> = Vec::new();
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if index % LINES_PER_TURN == LINES_PER_TURN - 1 {
            tokio::task::yield_now().await;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match parse(line) {
            Ok(line) => lines.push((first + index, line)),
            Err(reason) => answer.rejected.push(RejectedLine { line: first + index, reason }),
        }
    }
    let Some(earliest) = lines.iter().map(|(_, line)| line.started_at.0).min() else { return Ok(answer) };
    let mut importer = Importer::new(app, earliest).await?;
    let mut seen = SeenCalls::default();
    for part in lines.chunks(PART_LINES) {
        let mut cdrs: Vec<(usize, CdrRow)> = Vec::with_capacity(part.len());
        let mut suspended = Vec::new();
        for (at, (number, line)) in part.iter().enumerate() {
            if at % LINES_PER_TURN == LINES_PER_TURN - 1 {
                tokio::task::yield_now().await;
            }
            match importer.cdr(line).await {
                Ok(cdr) if seen.insert(&cdr.terms) => cdrs.push((*number, cdr)),
                Ok(_) => answer.duplicates += 1,
                Err(LineError::Suspended(reason)) => suspended.push((line.clone(), reason)),
                Err(LineError::Rejected(reason)) => {
                    answer.rejected.push(RejectedLine { line: *number, reason: reason.to_owned() });
                }
                Err(LineError::Db(error)) => return Err(error.into()),
            }
        }
        let batches = ImportBatch::split(cdrs, importer.now, calls_per_transaction(&app.db)).into_iter();
        let mut works: Vec<Work> = batches.map(|cdrs| Work { cdrs, ..Work::default() }).collect();
        if !suspended.is_empty() {
            works.push(Work { suspended, tariff_version: importer.tariff_version(), ..Work::default() });
        }
        for work in works {
            let lines = work.cdrs.len() + work.suspended.len();
            let (written, suspended) = write(app, work).await?;
            answer.accepted += written.new;
            answer.suspended += suspended;
            answer.duplicates += lines - written.new - suspended;
            answer.differs.extend(written.differs);
        }
    }
    if answer.suspended > 0 {
        tracing::warn!(lines = answer.suspended, "imported lines cannot be rated and are suspended");
    }
    answer.rejected.sort_by_key(|rejected| rejected.line);
    answer.differs.sort_by_key(|differing| differing.line);
    Ok(answer)
}

/// On SQLite decisions wait for such a transaction, a few milliseconds at most.
fn calls_per_transaction(db: &Db) -> usize {
    db.bulk_rows(100, PART_LINES)
}

fn parse(line: &[u8]) -> Result<ImportLine, String> {
    if line.len() > MAX_LINE_BYTES {
        return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
    }
    // The type accepts what the schema accepts, except that it also takes a list. The schema has the better error
    // texts.
    if line.trim_ascii_start().starts_with(b"{")
        && let Ok(line) = serde_json::from_slice(line)
    {
        return Ok(line);
    }
    let value = json::parse(line).map_err(|error| format!("the line is not JSON: {error}"))?;
    schema::read(value).map_err(|problem| invalid_reason(&problem))
}

/// What is wrong with a line or an event, as one text.
pub fn invalid_reason(problem: &Problem) -> String {
    let invalid: Vec<String> =
        problem.invalid_params().iter().map(|param| format!("{} {}", param.name, param.reason)).collect();
    match invalid.as_slice() {
        [] => problem.detail().unwrap_or("cannot be read").to_owned(),
        invalid => invalid.join("; "),
    }
}

/// Writes the CDRs and the suspended lines of a part; returns how many lines were newly suspended, too. Where others wait,
/// it takes several transactions.
async fn write(app: &App, mut work: Work) -> Result<(Written, usize), LedgerError> {
    let mut all = Written::default();
    loop {
        let part = Arc::new(work);
        let (written, suspended) = write_part(app, &part).await?;
        all.new += written.new;
        all.differs.extend(written.differs);
        if written.done == part.cdrs.len() {
            return Ok((all, suspended));
        }
        let cdrs = part.cdrs.rest(written.done, app.clock.now());
        work = Work { cdrs, suspended: part.suspended.clone(), tariff_version: part.tariff_version };
    }
}

async fn write_part(app: &App, work: &Arc<Work>) -> Result<(Written, usize), LedgerError> {
    // All rows at once: another import rarely inserts the same calls at the same time, and on SQLite never.
    match app.db.tx_bulk(Arc::clone(work), |conn, work| Box::pin(write_in(conn, work, ImportMode::Copy))).await {
        Err(LedgerError::Db(DbError::Unique(_))) => {}
        outcome => return outcome,
    }
    app.db.tx_bulk(Arc::clone(work), |conn, work| Box::pin(write_in(conn, work, ImportMode::SkipConflicts))).await
}

/// The suspended lines come with the last of the CDRs.
async fn write_in(conn: &mut Conn, work: &Work, mode: ImportMode) -> Result<(Written, usize), LedgerError> {
    let written = work.cdrs.write(conn, mode).await?;
    if written.done < work.cdrs.len() {
        return Ok((written, 0));
    }
    let suspended = suspense::insert(conn, &work.suspended).await?;
    if suspended > 0 {
        // A deck that came into force meanwhile may sell them, and has counted the suspended lines without these.
        tariff::lock(conn).await?;
        if tariff::version(conn).await? != work.tariff_version {
            suspense::enqueue_rerate(conn).await?;
        }
    }
    Ok((written, suspended))
}
