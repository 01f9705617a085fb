//! Imports of files: exchange rates, rate decks and CDRs.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::{Subject, audit_command, audit_command_with, existing_database, print_line};
use api::problem::Code;
use db::DbError;
use platform::app::{App, StartError};
use platform::config::Settings;
use platform::outside;
use server::job_registry;
use values::Text;
use voice::upstreams::decks::{self, ImportMode};
use voice::{cdrs, fx};

/// Imports exchange rates from a file of the European Central Bank.
pub async fn import_fx(settings: Settings, file: &Path) -> Result<(), StartError> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let sheets = outside::fx::read(&text)?;
    existing_database(&settings).await?;
    let app = App::open(settings).await?;
    let db = app.db.clone();
    let days = db.tx((app, sheets), |conn, (app, sheets)| {
        Box::pin(async move {
            let days = fx::import(conn, sheets).await?;
            audit_command(conn, &app.keys, "fx_rates.import", Subject::Nobody).await?;
            Ok::<_, DbError>(days)
        })
    });
    match days.await? {
        1 => print_line("Imported the exchange rates of 1 day."),
        days => print_line(&format!("Imported the exchange rates of {days} days.")),
    }
    Ok(())
}

/// How often the status of an import is read while another node runs it.
pub const IMPORT_POLL: Duration = Duration::from_millis(300);

/// A rate deck to import.
pub struct RatesImport {
    /// Id of the upstream.
    pub upstream: String,
    pub file: PathBuf,
    pub merge: bool,
    pub dry_run: bool,
    /// Why increases need no notice.
    pub waive_notice: Option<String>,
}

/// Imports a rate deck and waits for the result. The import is a job: this process runs it, or a node of the service.
pub async fn import_rates(settings: Settings, import: &RatesImport) -> Result<(), StartError> {
    let RatesImport { upstream, file, merge, dry_run, waive_notice } = import;
    let upstream = upstream.parse().map_err(|error| format!("--upstream {error}"))?;
    let waived = waive_notice.as_ref().map(|reason| reason.parse::<Text<1, 500>>()).transpose();
    let waived = waived.map_err(|error| format!("--waive-notice {error}"))?;
    let opened = tokio::fs::File::open(file).await.map_err(|error| format!("{}: {error}", file.display()))?;
    existing_database(&settings).await?;
    let app = App::open(settings).await?;
    let mode = if *merge { ImportMode::Merge } else { ImportMode::Replace };
    let prepared = decks::prepare(&app, upstream, opened, mode, *dry_run).await;
    let mut import = prepared.map_err(|problem| match problem.code() {
        Code::NotFound => "there is no such upstream".to_owned(),
        _ => format!("{problem:?}"),
    })?;
    let id = import.id;
    import.waive_reason = waived.map(Text::into_string);
    let queued = app.db.tx((app.clone(), import), |conn, (app, import)| {
        Box::pin(async move {
            decks::queue(conn, import).await?;
            let mut notes = Map::new();
            if let Some(reason) = &import.waive_reason {
                notes.insert("waive_notice".into(), reason.as_str().into());
            }
            audit_command_with(conn, &app.keys, "deck.import", Subject::Nobody, notes).await
        })
    });
    queued.await?;
    let runner = job_registry::runner(&app)?;
    let import = loop {
        runner.settle().await?;
        let found = decks::report(&mut *app.db.read().await?, upstream, id).await?;
        let import = found.ok_or("the import was deleted")?;
        if import.status.is_ended() {
            break import;
        }
        tokio::time::sleep(IMPORT_POLL).await;
    };
    print_import(&serde_json::to_value(&import)?)
}

/// Prints the outcome of an import as the API shows it.
pub fn print_import(import: &Value) -> Result<(), StartError> {
    for fault in import["errors"].as_array().into_iter().flatten() {
        let column = fault["column"].as_str().map(|column| format!("{column} ")).unwrap_or_default();
        let place = fault["cell"].as_str().map_or(format!("line {}", fault["line"]), |cell| format!("cell {cell}"));
        print_line(&format!("{place}: {column}{}", fault["reason"].as_str().unwrap_or_default()));
    }
    if import["status"] == "failed" {
        let reason = import["reason"].as_str().map(str::to_owned);
        let reason = reason.unwrap_or_else(|| format!("the file has {} errors", import["error_count"]));
        return Err(format!("{reason}; nothing was changed").into());
    }
    let verb = match (import["status"].as_str(), import["dry_run"] == true) {
        (Some("rejected"), _) => return Err("the import was rejected; nothing was changed".into()),
        (Some("held"), _) => "Held, waits for a decision:",
        (_, true) => "Would import",
        (_, false) => "Imported",
    };
    print_line(&format!(
        "{verb} {} rows: {} added, {} removed, {} increased, {} decreased.",
        import["rows_done"], import["added"], import["removed"], import["increased"], import["decreased"]
    ));
    Ok(())
}

/// Imports CDRs of another switch, one batch of lines at a time. An error if a line was rejected: the others are stored.
pub async fn import_cdrs(settings: Settings, file: &Path) -> Result<(), StartError> {
    let mut batches = CdrBatches::open(file, usize::MAX)?;
    existing_database(&settings).await?;
    let app = App::open(settings).await?;
    let mut totals = CdrTotals::default();
    while let Some((first, batch)) = batches.next()? {
        let answer = cdrs::import(&app, &batch, 1).await.map_err(|problem| {
            let cause = problem.cause().map(ToString::to_string);
            cause.or(problem.detail().map(str::to_owned)).unwrap_or_else(|| problem.code().title().to_owned())
        })?;
        totals.add(&serde_json::to_value(&answer)?, first);
    }
    let db = app.db.clone();
    db.tx(app, |conn, app| Box::pin(audit_command(conn, &app.keys, "cdrs.import", Subject::Nobody))).await?;
    totals.finish()
}

/// A file of CDRs in batches that the service takes at once.
pub struct CdrBatches {
    name: String,
    file: std::io::BufReader<std::fs::File>,
    max_bytes: usize,
    /// Lines read so far.
    lines: u64,
    /// A line that did not fit into the last batch.
    kept: Vec<u8>,
}

impl CdrBatches {
    pub fn open(file: &Path, max_bytes: usize) -> Result<CdrBatches, StartError> {
        let name = file.display().to_string();
        let opened = std::fs::File::open(file).map_err(|error| format!("{name}: {error}"))?;
        Ok(CdrBatches { name, file: std::io::BufReader::new(opened), max_bytes, lines: 0, kept: Vec::new() })
    }

    /// How many lines there were before, and the next ones; none at the end of the file.
    pub fn next(&mut self) -> Result<Option<(u64, Vec<u8>)>, StartError> {
        let first = self.lines;
        let mut batch = Vec::new();
        for _ in 0..cdrs::MAX_IMPORT_LINES {
            let mut line = std::mem::take(&mut self.kept);
            if line.is_empty() {
                self.file.read_until(b'\n', &mut line).map_err(|error| format!("{}: {error}", self.name))?;
            }
            if line.is_empty() {
                break;
            }
            if !batch.is_empty() && batch.len() + line.len() > self.max_bytes {
                self.kept = line;
                break;
            }
            batch.append(&mut line);
            self.lines += 1;
        }
        Ok(Some((first, batch)).filter(|(_, batch)| !batch.is_empty()))
    }
}

/// What became of the lines so far.
#[derive(Default)]
pub struct CdrTotals {
    accepted: u64,
    duplicates: u64,
    suspended: u64,
    rejected: usize,
}

impl CdrTotals {
    /// Adds the answer to a batch that began after `before` lines, and prints what is to be said about lines.
    pub fn add(&mut self, answer: &Value, before: u64) {
        let list = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
        let count = |name: &str| answer[name].as_u64().unwrap_or_default();
        let line = |item: &Value| before + item["line"].as_u64().unwrap_or_default();
        let rejected = list("rejected");
        for fault in &rejected {
            print_line(&format!("line {}: {}", line(fault), fault["reason"].as_str().unwrap_or_default()));
        }
        for other in list("differs") {
            print_line(&format!(
                "line {}: {} seconds, but the CDR has {}",
                line(&other),
                other["theirs"],
                other["ours"]
            ));
        }
        self.accepted += count("accepted");
        self.duplicates += count("duplicates");
        self.suspended += count("suspended");
        self.rejected += rejected.len();
    }

    /// Prints the summary; an error if a line was rejected.
    pub fn finish(self) -> Result<(), StartError> {
        let CdrTotals { accepted, duplicates, suspended, rejected } = self;
        let summary = format!("{accepted} CDRs imported, {duplicates} duplicates skipped, {suspended} lines suspended");
        if rejected > 0 {
            return Err(format!("{rejected} lines were rejected; {summary}").into());
        }
        print_line(&format!("{summary}."));
        Ok(())
    }
}
