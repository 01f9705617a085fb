//! Imports of files: exchange rates, rate decks and CDRs.

use std::io::BufRead;
use std::path::Path;
use std::time::Duration;

use super::{audit_command, print_line};
use api::problem::Code;
use db::DbError;
use identity::imports::ImportStatus;
use platform::app::{App, StartError};
use platform::config::Settings;
use platform::outside;
use server::job_registry;
use voice::upstreams::decks::{self, DeckImport, ImportMode};
use voice::{cdrs, fx};

/// Imports exchange rates from a file of the European Central Bank.
pub async fn import_fx(settings: Settings, file: &Path) -> Result<(), StartError> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let sheets = outside::fx::read(&text)?;
    let app = App::open(settings).await?;
    let db = app.db.clone();
    let days = db.tx((app, sheets), |conn, (app, sheets)| {
        Box::pin(async move {
            let days = fx::import(conn, sheets).await?;
            audit_command(conn, app, "fx_rates.import", None).await?;
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
const IMPORT_POLL: Duration = Duration::from_millis(300);

/// Imports a rate deck and waits for the result. The import is a job: this process runs it, or a node of the service.
pub async fn import_rates(
    settings: Settings,
    upstream: &str,
    file: &Path,
    merge: bool,
    dry_run: bool,
) -> Result<(), StartError> {
    let upstream = upstream.parse().map_err(|error| format!("--upstream {error}"))?;
    let opened = tokio::fs::File::open(file).await.map_err(|error| format!("{}: {error}", file.display()))?;
    let app = App::open(settings).await?;
    let mode = if merge { ImportMode::Merge } else { ImportMode::Replace };
    let prepared = decks::prepare(&app, upstream, opened, mode, dry_run).await;
    let import = prepared.map_err(|problem| match problem.code() {
        Code::NotFound => "there is no such upstream".to_owned(),
        _ => format!("{problem:?}"),
    })?;
    let id = import.id;
    let queued = app.db.tx((app.clone(), import), |conn, (app, import)| {
        Box::pin(async move {
            decks::queue(conn, import).await?;
            audit_command(conn, app, "deck.import", None).await
        })
    });
    queued.await?;
    let runner = job_registry::runner(&app)?;
    let import = loop {
        runner.settle().await?;
        let found = decks::report(&mut *app.db.read().await?, upstream, id).await?;
        let import = found.ok_or("the import was deleted")?;
        if matches!(import.status, ImportStatus::Completed | ImportStatus::Failed) {
            break import;
        }
        tokio::time::sleep(IMPORT_POLL).await;
    };
    print_import(&import)
}

fn print_import(import: &DeckImport) -> Result<(), StartError> {
    for fault in import.errors.iter().flatten() {
        let column = fault.column.as_deref().map(|column| format!("{column} ")).unwrap_or_default();
        print_line(&format!("line {}: {column}{}", fault.line, fault.reason));
    }
    if import.status == ImportStatus::Failed {
        let reason = import.reason.clone().unwrap_or_else(|| format!("the file has {} errors", import.error_count));
        return Err(format!("{reason}; nothing was changed").into());
    }
    let DeckImport { rows_done, added, removed, increased, decreased, .. } = import;
    let verb = if import.dry_run { "Would import" } else { "Imported" };
    print_line(&format!(
        "{verb} {rows_done} rows: {added} added, {removed} removed, {increased} increased, {decreased} decreased."
    ));
    Ok(())
}

/// Imports CDRs of another switch, one batch of lines at a time. An error if a line was rejected: the others are stored.
pub async fn import_cdrs(settings: Settings, file: &Path) -> Result<(), StartError> {
    let name = file.display().to_string();
    let opened = std::fs::File::open(file).map_err(|error| format!("{name}: {error}"))?;
    let app = App::open(settings).await?;
    let mut lines = std::io::BufReader::new(opened);
    let (mut first, mut accepted, mut duplicates, mut suspended, mut rejected) = (1, 0, 0, 0, 0);
    loop {
        let (batch, count) = next_batch(&mut lines).map_err(|error| format!("{name}: {error}"))?;
        if count == 0 {
            break;
        }
        let answer = cdrs::import(&app, &batch, first).await.map_err(|problem| {
            let cause = problem.cause().map(ToString::to_string);
            cause.or(problem.detail().map(str::to_owned)).unwrap_or_else(|| problem.code().title().to_owned())
        })?;
        for fault in &answer.rejected {
            print_line(&format!("line {}: {}", fault.line, fault.reason));
        }
        for line in &answer.differs {
            print_line(&format!("line {}: {} seconds, but the CDR has {}", line.line, line.theirs, line.ours));
        }
        (accepted, duplicates) = (accepted + answer.accepted, duplicates + answer.duplicates);
        suspended += answer.suspended;
        (first, rejected) = (first + count, rejected + answer.rejected.len());
    }
    let db = app.db.clone();
    db.tx(app, |conn, app| Box::pin(audit_command(conn, app, "cdrs.import", None))).await?;
    let summary = format!("{accepted} CDRs imported, {duplicates} duplicates skipped, {suspended} lines suspended");
    if rejected > 0 {
        return Err(format!("{rejected} lines were rejected; {summary}").into());
    }
    print_line(&format!("{summary}."));
    Ok(())
}

/// The next lines of a file, and how many they are.
fn next_batch(file: &mut impl BufRead) -> std::io::Result<(Vec<u8>, usize)> {
    let (mut batch, mut count) = (Vec::new(), 0);
    while count < cdrs::MAX_IMPORT_LINES && file.read_until(b'\n', &mut batch)? > 0 {
        count += 1;
    }
    Ok((batch, count))
}
