//! The archive: CDRs of days before the hot window, as Parquet files in the file store.
//!
//! ```text
//!   04:10  write ── files of days that left the hot window        cdrs stay
//!   04:40  drop ─── read back, compare with the rollup ── hot_from moves ── cdrs are deleted
//! ```
//!
//! Calls before `hot_from` are in files only. Lists have the others and say where they begin; exports read both.
//! Rollups, invoices and the ledger stay as they are. What would change an archived call is refused or, for an event of
//! a switch, changes nothing.
//!
//! - `file`: a Parquet file · `totals`: sums that are compared · `write`, `drop`: the jobs · `read`: files from the
//!   store, verified · `commands`: the command line · `types`: `GET /admin/cdrs/archive`

mod commands;
mod drop;
mod file;
mod read;
mod store;
mod totals;
mod types;
mod write;

pub use commands::{Checked as ArchiveChecked, copy, each_of_account, verify_files};
pub use drop::{DROP_ARCHIVED, drop_archived_job};
pub use read::Groups;
pub use store::{FileRow, names_file, next_file};
pub use types::list;
pub use write::{ARCHIVE, archive_job};

use db::{Conn, DbError};
use values::{CallId, Rfc3339, Time};

/// When the hot window begins; none while nothing is archived.
pub async fn hot_from(conn: &mut Conn) -> Result<Option<Time>, DbError> {
    let hot_from = store::progress(conn).await?.hot_from;
    Ok((hot_from > Time::EPOCH).then_some(hot_from))
}

/// The same; it stays so until the transaction ends.
pub async fn hold_hot_from(conn: &mut Conn) -> Result<Option<Time>, DbError> {
    let hot_from = store::hold_progress(conn).await?.hot_from;
    Ok((hot_from > Time::EPOCH).then_some(hot_from))
}

/// When the hot window begins, if a call with this id would be before it.
pub async fn archived_before(conn: &mut Conn, id: CallId) -> Result<Option<Time>, DbError> {
    let hot_from = hot_from(conn).await?;
    Ok(hot_from.filter(|hot_from| id.started_at().is_some_and(|started_at| started_at < *hot_from)))
}

/// What to tell about a call before the hot window.
pub fn archived_detail(hot_from: Time) -> String {
    format!(
        "Calls before {} are archived. Their CDRs can be exported, but neither read one by one nor changed.",
        Rfc3339(hot_from)
    )
}
