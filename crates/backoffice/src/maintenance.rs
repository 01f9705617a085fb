//! Scheduled upkeep: expiring holds, and logging the head of the audit chain.
//!
//! A log that is kept elsewhere then proves whether audit rows were cut off at the end.

use data_encoding::HEXLOWER;
use serde_json::Value;

use platform::app::App;
use platform::jobs::{Class, JobContext, JobError, Kind};
use platform::{audit, ledger};
use voice::calls;

pub const EXPIRE_HOLDS: Kind = Kind::new("housekeeping.expire_holds").class(Class::Money);
pub const LOG_AUDIT_HEAD: Kind = Kind::new("housekeeping.audit_head");

/// Holds expired in one transaction, so that other transactions do not wait long.
const BATCH_HOLDS: i64 = 1000;

/// Expires holds whose time is over, so that their money is available again.
pub async fn expire_holds_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let batch = || context.db.tx((), |conn, ()| Box::pin(ledger::expire(conn, BATCH_HOLDS)));
    while batch().await? == BATCH_HOLDS.cast_unsigned() {}
    let batch = || context.db.tx((), |conn, ()| Box::pin(calls::expire_holds(conn, BATCH_HOLDS)));
    while batch().await? == BATCH_HOLDS.cast_unsigned() {}
    Ok(())
}

pub async fn log_audit_head_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    // The head of a simulation proves nothing of the service whose log this is.
    if context.clock.is_in_the_past() {
        return Ok(());
    }
    let (seq, hash) = audit::head(&mut *context.db.read().await?).await?;
    tracing::info!(seq, hash = HEXLOWER.encode(&hash), "audit chain head");
    Ok(())
}
