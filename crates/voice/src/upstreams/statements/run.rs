//! The job that reconciles a statement.
//!
//! The file is read on a blocking thread. Then three run at once, with a few batches between them: our calls are read
//! page by page, a blocking thread pairs them with the lines, and the results are stored batch by batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rating::{DeckCsvError, MappingSource, StatementOptions, Tolerances};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::calls::Calls;
use super::lines::{self, NewLine};
use super::mapping::{StatementMapping, to_utc};
use super::pair::{Comparison, Stopped, Totals};
use super::retention::delete_lines;
use super::store::{self, Outcome, ReadFile, StatementRow};
use super::types::StatementId;
use crate::cdrs;
use crate::upstreams::{self, UpstreamRow};
use db::{Conn, DbError};
use identity::imports;
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use values::{Rfc3339, Time, TimeZone};

pub const RECONCILE: Kind = Kind::new("statements.reconcile");

/// How often the progress of reading is stored.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// Pages of calls and batches of lines that wait.
const MAX_WAITING: usize = 2;
/// From the last start of a statement to the end of its period, which is not part of it.
const LAST_SECOND: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct Payload {
    statement_id: StatementId,
}

/// Why a statement has no result.
enum Failure {
    /// The file has errors.
    Faults(Outcome),
    /// Another attempt would end in the same way.
    Refused(String),
    /// Another attempt may succeed.
    Db(DbError),
}

impl From<DbError> for Failure {
    fn from(error: DbError) -> Failure {
        Failure::Db(error)
    }
}

pub async fn reconcile_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let Payload { statement_id } =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let begun = context.db.tx(statement_id, |conn, id| Box::pin(store::begin(conn, *id)));
    let Some(statement) = begun.await? else { return Ok(()) };
    // What an interrupted run has stored.
    delete_lines(&context, statement_id).await?;
    let is_last_attempt = context.job.attempts >= context.job.max_attempts;
    let outcome = match reconcile(&context, &statement).await {
        Ok(outcome) => outcome,
        Err(Failure::Db(error)) if !is_last_attempt => return Err(error.into()),
        Err(failure) => {
            delete_lines(&context, statement_id).await?;
            match failure {
                Failure::Faults(outcome) => outcome,
                Failure::Refused(reason) => Outcome { reason: Some(reason), ..Outcome::default() },
                Failure::Db(error) => Outcome { reason: Some(error.to_string()), ..Outcome::default() },
            }
        }
    };
    let ended = (context.clone(), statement.id, statement.run, outcome);
    context
        .db
        .tx(ended, |conn, (context, id, run, outcome)| {
            Box::pin(async move {
                store::end(conn, *id, *run, outcome).await?;
                context.finish_in(conn).await
            })
        })
        .await
}

async fn reconcile(context: &JobContext<App>, statement: &StatementRow) -> Result<Outcome, Failure> {
    let app = &context.app;
    let upstream = upstreams::find(&mut *app.db.read().await?, statement.upstream_id).await?;
    let upstream = upstream.ok_or_else(|| Failure::Refused("the upstream does not exist any more".to_owned()))?;
    let (comparison, has_call_ids) = read(context, statement).await?;
    let totals = compare(context, statement, upstream, comparison, has_call_ids).await?;
    let totals = serde_json::to_string(&totals).map_err(DbError::other)?;
    Ok(Outcome { totals: Some(totals), ..Outcome::default() })
}

/// Reads the file, and stores what it says. Also returns whether it has call ids.
async fn read(context: &JobContext<App>, statement: &StatementRow) -> Result<(Comparison, bool), Failure> {
    let app = &context.app;
    let content =
        app.files.open_read(&statement.content_hash).await.map_err(|error| DbError::other(error.to_string()))?;
    let (_, content) = content.ok_or_else(|| Failure::Refused("the file is missing".to_owned()))?;
    let mapping: Option<StatementMapping> =
        statement.mapping.as_deref().map(serde_json::from_str).transpose().map_err(DbError::other)?;
    let zone = mapping.as_ref().and_then(|mapping| mapping.time_zone.clone()).unwrap_or(TimeZone::UTC);
    let rules = mapping.as_ref().map(StatementMapping::rules);
    let (source, rows) = (imports::read_blocking(content), Arc::new(AtomicI64::new(0)));
    let counted = Arc::clone(&rows);
    let mut reading = spawn_blocking(move || {
        let options = StatementOptions { to_utc: &|local: i64| to_utc(&zone, local) };
        let progress = |rows: u64| counted.store(i64::try_from(rows).unwrap_or(i64::MAX), Ordering::Relaxed);
        rating::Statement::read(source, rules.as_ref(), &options, progress)
    });
    let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
    let read = loop {
        tokio::select! {
            read = &mut reading => break read.map_err(DbError::other)?,
            _ = ticks.tick() => {
                let progress = (statement.id, statement.run, rows.load(Ordering::Relaxed));
                context.db.tx(progress, |conn, (id, run, rows)| Box::pin(store::set_rows(conn, *id, *run, *rows))).await?;
            }
        }
    };
    let rows = rows.load(Ordering::Relaxed);
    let read = read.map_err(|error| failure(error, rows))?;
    let (from, to) = period(statement, &read.lines).ok_or_else(|| {
        Failure::Refused(
            "the file has no answered calls; send period_from and period_to to compare an empty period".to_owned(),
        )
    })?;
    if to <= from {
        return Err(Failure::Refused(
            "the period ends before it begins: period_from or period_to is outside the file".to_owned(),
        ));
    }
    let hot_from = cdrs::hot_from(&mut *app.db.read().await?).await?;
    if let Some(hot_from) = hot_from.filter(|hot_from| from < *hot_from) {
        return Err(Failure::Refused(format!("the calls before {} are archived", Rfc3339(hot_from))));
    }
    let used = match read.source {
        MappingSource::Given => mapping,
        MappingSource::OwnHeader => None,
        MappingSource::Detected => read.mapping.as_ref().and_then(StatementMapping::of),
    };
    let tolerances = Tolerances {
        start_millis: statement.start_tolerance_seconds.saturating_mul(1000),
        duration_seconds: u32::try_from(statement.duration_tolerance_seconds).unwrap_or_default(),
    };
    let has_call_ids = read.lines.has_call_ids();
    let comparison =
        Comparison { lines: read.lines, charges: read.charges, decimals: read.decimals, tolerances, from, to };
    let file = ReadFile {
        rows,
        mapping: used.map(|used| serde_json::to_string(&used)).transpose().map_err(DbError::other)?,
        from,
        to,
        unanswered: i64::try_from(read.unanswered).unwrap_or(i64::MAX),
        outside: i64::try_from(comparison.outside()).unwrap_or(i64::MAX),
    };
    let file = (statement.id, statement.run, file);
    context.db.tx(file, |conn, (id, run, file)| Box::pin(store::set_read(conn, *id, *run, file))).await?;
    Ok((comparison, has_call_ids))
}

fn failure(error: DeckCsvError, rows: i64) -> Failure {
    match error {
        DeckCsvError::Io(error) => Failure::Db(DbError::other(error)),
        DeckCsvError::Refused(reason) => Failure::Refused(reason),
        DeckCsvError::Faults(faults) => Failure::Faults(Outcome {
            rows: Some(rows),
            error_count: i64::try_from(faults.count).unwrap_or(i64::MAX),
            errors: faults.first.into_iter().map(Into::into).collect(),
            ..Outcome::default()
        }),
    }
}

/// The period as it was given, or else that of the lines.
fn period(statement: &StatementRow, lines: &rating::Lines) -> Option<(Time, Time)> {
    let of_lines =
        lines.period().map(|(first, last)| (Time::from_millis(first), Time::from_millis(last).plus(LAST_SECOND)));
    let from = statement.period_from.or(of_lines.map(|(first, _)| first))?;
    let to = statement.period_to.or(of_lines.map(|(_, end)| end))?;
    Some((from, to))
}

/// Compares the statement with our calls and stores every line.
async fn compare(
    context: &JobContext<App>,
    statement: &StatementRow,
    upstream: UpstreamRow,
    comparison: Comparison,
    has_call_ids: bool,
) -> Result<Totals, Failure> {
    let (from, to) = comparison.range();
    let (call_sink, calls) = mpsc::channel(MAX_WAITING);
    let (line_sink, mut batches) = mpsc::channel(MAX_WAITING);
    let pairing = spawn_blocking(move || comparison.run(calls, &line_sink));
    let reading = Calls { upstream, from, to, has_call_ids }.send(&context.app, call_sink);
    let storing = async move {
        while let Some(batch) = batches.recv().await {
            let batch: (StatementId, i64, Vec<NewLine>) = (statement.id, statement.run, batch);
            context.db.tx(batch, |conn, (id, run, batch)| Box::pin(store_lines(conn, *id, *run, batch))).await?;
        }
        Ok::<_, DbError>(())
    };
    tokio::try_join!(reading, storing)?;
    match pairing.await.map_err(DbError::other)? {
        Ok(totals) => Ok(totals),
        Err(Stopped::TooLarge) => Err(Failure::Refused("the sums of the statement are too large".to_owned())),
        Err(Stopped::Abandoned) => Err(Failure::Db(DbError::other("the comparison was abandoned"))),
    }
}

async fn store_lines(conn: &mut Conn, id: StatementId, run: i64, batch: &[NewLine]) -> Result<(), DbError> {
    if !store::add_lines(conn, id, run, i64::try_from(batch.len()).unwrap_or(i64::MAX)).await? {
        return Err(DbError::other("another run of this statement has begun"));
    }
    lines::insert(conn, id, batch).await
}
