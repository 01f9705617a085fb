//! What the command line does with the archive: verify it, copy it to a folder for other programs, and hand out what it
//! has about a customer.

use std::path::Path;

use super::read::{self, Groups};
use super::store::{self, FileRow, start_of};
use super::totals::Totals;
use super::types::file_name;
use crate::cdrs::row::CdrRow;
use crate::concurrency::day_of;
use db::DbError;
use platform::app::{App, StartError};
use values::{AccountId, Date, Time};

/// Files read at a time.
const PAGE: i64 = 100;

/// What was verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub files: u64,
    pub cdrs: i64,
}

/// Reads every verified file, and compares its hash and sums with its row and those of each day with the rollup.
pub async fn verify_files(app: &App) -> Result<Checked, StartError> {
    let mut checked = Checked::default();
    let (mut after, mut day): ((i64, i64), Option<(i64, Totals)>) = ((-1, 0), None);
    loop {
        let page = store::list_verified(&mut *app.db.read().await?, after, PAGE).await?;
        for file in &page {
            let totals = read::verify(&app.files, file).await?;
            checked.files += 1;
            checked.cdrs += totals.calls;
            if day.is_none_or(|(number, _)| number != file.day) {
                compare(app, day).await?;
                day = Some((file.day, Totals::default()));
            }
            if let Some((_, sums)) = &mut day {
                sums.add_all(totals);
            }
        }
        let Some(last) = page.last() else { break };
        after = (last.day, last.part);
    }
    compare(app, day).await?;
    Ok(checked)
}

async fn compare(app: &App, day: Option<(i64, Totals)>) -> Result<(), StartError> {
    let Some((day, totals)) = day else { return Ok(()) };
    let rollup = store::rollup_totals(&mut *app.db.read().await?, day).await?;
    if rollup == totals {
        return Ok(());
    }
    let day = Date::from(start_of(day));
    Err(format!("the archived CDRs of {day} are not those of the rollup: {totals:?}, not {rollup:?}").into())
}

/// Writes the files of some days to a folder, under names that other programs can read, and returns how many.
pub async fn copy(app: &App, folder: &Path, from: Option<Date>, to: Option<Date>) -> Result<u64, StartError> {
    tokio::fs::create_dir_all(folder).await?;
    let first = from.map_or(0, |date| day_of(date.start()));
    let last = to.map_or(i64::MAX, |date| day_of(date.start()));
    let (mut after, mut files) = ((first, -1), 0);
    loop {
        let page = store::list_verified(&mut *app.db.read().await?, after, PAGE).await?;
        let wanted: Vec<&FileRow> = page.iter().filter(|file| file.day <= last).collect();
        for file in &wanted {
            let content = read::content(&app.files, file).await?;
            tokio::fs::write(folder.join(file_name(file)), content).await?;
            files += 1;
        }
        match wanted.last() {
            Some(file) if wanted.len() as i64 == PAGE => after = (file.day, file.part),
            _ => return Ok(files),
        }
    }
}

/// Calls `visit` with every call of an account before the hot window, oldest first, and returns how many there were.
pub async fn each_of_account(
    app: &App,
    account: AccountId,
    hot_from: Time,
    mut visit: impl FnMut(&CdrRow) -> Result<(), DbError> + Send,
) -> Result<u64, StartError> {
    let last_day = day_of(hot_from) - 1;
    let (mut after, mut count) = ((0, -1), 0);
    loop {
        let next = store::next_file(&mut *app.db.read().await?, Some(account), after, last_day).await?;
        let Some(file) = next else { return Ok(count) };
        after = (file.day, file.part);
        let mut groups = Groups::open(&app.files, file).await?;
        while let Some((cdrs, rest)) = groups.next().await? {
            for marked in cdrs.iter().filter(|marked| marked.cdr.terms.account_id == account) {
                visit(&marked.cdr)?;
                count += 1;
            }
            groups = rest;
        }
    }
}
