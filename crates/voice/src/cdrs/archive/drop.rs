//! The nightly job that verifies the files of a day, and only then drops its CDRs from the database.
//!
//! A file is read back from the file store: its hash, its number of calls, and its seconds, charges and costs must be
//! those of its row, and the files of a day together must have those of the rollup. The comparison with the rollup and
//! the move of `hot_from` are one transaction that waits for imports, and imports of older calls are refused from then
//! on, so nothing is dropped that is not in a file. Rows are deleted in small batches; a run that breaks off is continued
//! by the next.

use serde_json::{Value, json};
use uuid::Uuid;

use super::file::FileWriter;
use super::read;
use super::store::{self, FileRow, start_of};
use super::totals::Totals;
use super::write::{add, store_file, unwritable};
use crate::cdrs::partitions;
use crate::cdrs::retention::{self, ANONYMISED};
use crate::cdrs::row::MarkedCdr;
use crate::cdrs::search::CdrCursor;
use crate::concurrency::day_of;
use db::{Conn, DbError};
use platform::app::App;
use platform::audit::{self, Entry};
use platform::jobs::{JobContext, JobError, Kind};
use values::{CallId, Date, Rfc3339, Time};

pub const DROP_ARCHIVED: Kind = Kind::new("cdrs.drop_archived").attempts(5);

/// Files of a day: more than any operator has.
const MAX_FILES: i64 = 10_000;

pub async fn drop_archived_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let app = &context.app;
    drop_rows(app).await?;
    loop {
        let next = store::unverified_day(&mut *app.db.read().await?).await?;
        let Some(day) = next else { break };
        if !verify_day(app, day).await? {
            break;
        }
        drop_rows(app).await?;
    }
    anonymise_files(app).await
}

/// Verifies the files of a day and moves the hot window to its end. False if the day has to be written again.
async fn verify_day(app: &App, day: i64) -> Result<bool, JobError> {
    let files = store::files_of_day(&mut *app.db.read().await?, day, MAX_FILES).await?;
    let mut totals = Totals::default();
    for file in &files {
        match read::verify(&app.files, file).await {
            Ok(found) => totals.add_all(found),
            Err(error) => {
                // The database still has the CDRs, so another run writes the file again.
                app.db.tx(day, |conn, day| Box::pin(store::delete_unverified(conn, *day))).await?;
                tracing::error!(%error, "a file of the CDR archive is not valid; the CDRs stay in the database");
                return Ok(false);
            }
        }
    }
    let input = (app.clone(), day, files, totals);
    let moved =
        app.db.tx(input, |conn, (app, day, files, totals)| Box::pin(move_hot_window(conn, app, *day, files, *totals)));
    Ok(moved.await?)
}

async fn move_hot_window(
    conn: &mut Conn,
    app: &App,
    day: i64,
    files: &[FileRow],
    totals: Totals,
) -> Result<bool, DbError> {
    let (start, end) = (start_of(day), start_of(day + 1));
    let hot_from = store::lock_progress(conn).await?.hot_from;
    if hot_from >= end {
        // Another node was faster.
        store::delete_unverified(conn, day).await?;
        return Ok(false);
    }
    // The CDR of a live call is written later. An import may have added calls to this day or an older one since the
    // files were written: they are written again.
    let is_complete = !store::has_live_before(conn, end).await?
        && store::rollup_totals(conn, day).await? == totals
        && store::oldest(conn, hot_from, start).await?.is_none();
    if !is_complete {
        store::delete_unverified(conn, 0).await?;
        tracing::warn!(day = %Date::from(start), "CDRs changed after they were written to the archive");
        return Ok(false);
    }
    store::mark_verified(conn, day).await?;
    store::set_hot_from(conn, end).await?;
    let meta = [
        ("day", json!(Date::from(start).to_string())),
        ("calls", json!(totals.calls)),
        ("files", json!(files.iter().map(|file| file.content_hash.to_string()).collect::<Vec<_>>())),
        ("hot_from", json!(Rfc3339(end).to_string())),
    ];
    append_audit(conn, app, "cdrs.archive", meta).await?;
    Ok(true)
}

async fn append_audit<const N: usize>(
    conn: &mut Conn,
    app: &App,
    action: &'static str,
    meta: [(&'static str, Value); N],
) -> Result<(), DbError> {
    audit::append(conn, &app.keys, &Entry::by_system(action, None, meta)).await
}

/// Deletes the CDRs before the hot window, also those that an earlier run left.
async fn drop_rows(app: &App) -> Result<(), JobError> {
    let progress = store::progress(&mut *app.db.read().await?).await?;
    let end = (progress.hot_from, CallId::new(Uuid::nil()));
    let mut after = (progress.dropped_to, CallId::new(Uuid::nil()));
    let rows = app.db.bulk_rows(100, 1000) as i64;
    while after < end {
        let batch = (after, end, rows);
        after = app.db.tx_bulk(batch, |conn, batch| Box::pin(drop_batch(conn, *batch))).await?;
    }
    if progress.dropped_to < progress.hot_from {
        app.db.tx(progress.hot_from, |conn, end| Box::pin(finish_drop(conn, *end))).await?;
    }
    Ok(())
}

/// Deletes the next CDRs and returns the cursor of the last.
async fn drop_batch(conn: &mut Conn, (after, end, rows): (CdrCursor, CdrCursor, i64)) -> Result<CdrCursor, DbError> {
    let until = store::cursor_after(conn, after, end.0, rows).await?.unwrap_or(end);
    store::delete_cdrs(conn, after, until).await?;
    Ok(until)
}

async fn finish_drop(conn: &mut Conn, end: Time) -> Result<(), DbError> {
    store::set_dropped_to(conn, end).await?;
    partitions::drop_before(conn, end).await
}

/// Replaces files whose numbers have reached the end of their retention by files without numbers.
async fn anonymise_files(app: &App) -> Result<(), JobError> {
    let last_day = day_of(retention::cutoff(app, app.clock.now())) - 1;
    loop {
        let next = store::next_with_numbers(&mut *app.db.read().await?, last_day).await?;
        let Some(old) = next else { return Ok(()) };
        let mut writer = FileWriter::new().map_err(unwritable)?;
        let mut groups = read::Groups::open(&app.files, old.clone()).await.map_err(unwritable)?;
        while let Some((mut cdrs, rest)) = groups.next().await.map_err(unwritable)? {
            cdrs.iter_mut().for_each(anonymise);
            writer = add(writer, cdrs).await?;
            groups = rest;
        }
        let written = tokio::task::spawn_blocking(move || writer.finish()).await.map_err(unwritable)?;
        let new = store_file(app, (old.day, old.part), written.map_err(unwritable)?).await?;
        let totals = read::verify(&app.files, &new).await.map_err(unwritable)?;
        if totals != old.totals() {
            return Err(unwritable("the sums of an anonymised file differ"));
        }
        let input = (app.clone(), old, new);
        app.db.tx(input, |conn, (app, old, new)| Box::pin(replace(conn, app, old, new))).await?;
    }
}

fn anonymise(marked: &mut MarkedCdr) {
    let terms = &mut marked.cdr.terms;
    (terms.calling, terms.called) = (ANONYMISED.to_owned(), ANONYMISED.to_owned());
}

async fn replace(conn: &mut Conn, app: &App, old: &FileRow, new: &FileRow) -> Result<(), DbError> {
    if store::replace(conn, old, new).await? {
        let meta = [
            ("day", json!(Date::from(start_of(old.day)).to_string())),
            ("old_file", json!(old.content_hash.to_string())),
            ("new_file", json!(new.content_hash.to_string())),
        ];
        append_audit(conn, app, "cdrs.anonymise_archive", meta).await?;
    }
    Ok(())
}
