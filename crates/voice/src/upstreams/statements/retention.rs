//! Deletes the lines of old statements: they have called numbers, which are kept no longer than those of CDRs.

use serde_json::Value;

use super::types::StatementId;
use super::{lines, store};
use crate::concurrency::DAY_MILLIS;
use db::DbError;
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use values::Time;

pub const PURGE_LINES: Kind = Kind::new("statements.purge_lines");

pub async fn purge_lines_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let kept_for = context.app.settings.calls.number_retention_days * DAY_MILLIS;
    let cutoff = Time::from_millis(context.clock.now().millis().saturating_sub(kept_for));
    loop {
        let next = store::with_lines_before(&mut *context.db.read().await?, cutoff).await?;
        let Some(id) = next else { return Ok(()) };
        delete_lines(&context, id).await?;
        context.db.tx(id, |conn, id| Box::pin(store::set_lines_purged(conn, *id))).await?;
    }
}

/// Deletes the lines of a statement, in batches.
pub async fn delete_lines(context: &JobContext<App>, id: StatementId) -> Result<(), DbError> {
    while context.db.tx(id, |conn, id| Box::pin(lines::delete_some(conn, *id))).await? {}
    Ok(())
}
