//! What the service does for itself by the calendar: forgetting what expired, letting go of money that nothing holds
//! any more, and telling the log where the audit chain stands, so that a log kept elsewhere can prove that rows were
//! cut off.

use std::time::Duration;

use data_encoding::HEXLOWER;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::dashboards;
use api::idempotency;
use billing::webhooks;
use db::{Conn, DbError};
use identity::{notifications, sessions, two_factor};
use platform::app::App;
use platform::jobs::{self, JobContext, JobError, Kind};
use platform::letters;
use platform::{audit, ledger, limits};
use values::Time;
use voice::{calls, cdrs};

pub const FORGET: Kind = Kind::new("housekeeping.forget");
pub const EXPIRE_HOLDS: Kind = Kind::new("housekeeping.expire_holds");
pub const TELL_AUDIT_HEAD: Kind = Kind::new("housekeeping.audit_head");

/// Rows forgotten in one transaction: others need not wait for long.
const BATCH: i64 = 1000;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// One kind of thing to forget: how long it is kept, and how the oldest of it go. Tokens and links are kept a week
/// past their end, so that a late one can be told from an unknown one.
struct Rule {
    kept_for: Duration,
    forget: for<'c> fn(&'c mut Conn, Time, i64) -> BoxFuture<'c, Result<u64, DbError>>,
}

const RULES: [Rule; 16] = [
    Rule {
        kept_for: idempotency::KEPT_FOR,
        forget: |conn, cutoff, batch| Box::pin(idempotency::forget(conn, cutoff, batch)),
    },
    Rule {
        kept_for: limits::LONGEST_WINDOW,
        forget: |conn, cutoff, batch| Box::pin(limits::forget(conn, cutoff, batch)),
    },
    Rule { kept_for: DAY, forget: |conn, cutoff, batch| Box::pin(sessions::forget_failures(conn, cutoff, batch)) },
    Rule { kept_for: DAY, forget: |conn, cutoff, batch| Box::pin(sessions::forget_access_tokens(conn, cutoff, batch)) },
    Rule { kept_for: DAY, forget: |conn, cutoff, batch| Box::pin(two_factor::forget_challenges(conn, cutoff, batch)) },
    Rule {
        kept_for: DAY.saturating_mul(7),
        forget: |conn, cutoff, batch| Box::pin(sessions::forget_sessions(conn, cutoff, batch)),
    },
    Rule {
        kept_for: DAY.saturating_mul(7),
        forget: |conn, cutoff, batch| Box::pin(sessions::forget_links(conn, cutoff, batch)),
    },
    Rule {
        kept_for: DAY.saturating_mul(30),
        forget: |conn, cutoff, batch| Box::pin(webhooks::forget(conn, cutoff, batch)),
    },
    Rule {
        kept_for: DAY.saturating_mul(30),
        forget: |conn, cutoff, batch| Box::pin(ledger::forget_holds(conn, cutoff, batch)),
    },
    Rule {
        kept_for: DAY.saturating_mul(7),
        forget: |conn, cutoff, batch| Box::pin(calls::purge_alerts(conn, cutoff, batch)),
    },
    Rule {
        kept_for: DAY.saturating_mul(30),
        forget: |conn, cutoff, batch| Box::pin(cdrs::purge_provisional(conn, cutoff, batch)),
    },
    Rule {
        kept_for: DAY.saturating_mul(90),
        forget: |conn, cutoff, batch| Box::pin(cdrs::purge_exports(conn, cutoff, batch)),
    },
    // Nobody would want to read it any more. Other dead jobs stay until somebody has looked at them.
    Rule {
        kept_for: DAY.saturating_mul(90),
        forget: |conn, cutoff, batch| Box::pin(jobs::forget_dead(conn, letters::SEND, cutoff, batch)),
    },
    Rule {
        kept_for: DAY.saturating_mul(400),
        forget: |conn, cutoff, batch| Box::pin(notifications::forget(conn, cutoff, batch)),
    },
    Rule {
        kept_for: dashboards::MINUTES_KEPT_FOR,
        forget: |conn, cutoff, batch| Box::pin(dashboards::forget_minutes(conn, cutoff, batch)),
    },
    Rule {
        kept_for: dashboards::HOURS_KEPT_FOR,
        forget: |conn, cutoff, batch| Box::pin(dashboards::forget_hours(conn, cutoff, batch)),
    },
];

pub async fn forget_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    for rule in &RULES {
        let cutoff = context.clock.now().minus(rule.kept_for);
        let batch = || context.db.tx((rule.forget, cutoff), |conn, (forget, cutoff)| forget(conn, *cutoff, BATCH));
        while batch().await? == BATCH.cast_unsigned() {}
    }
    Ok(())
}

/// Ends the holds whose time is over, so that what they held is available again.
pub async fn expire_holds_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let batch = || context.db.tx(context.clock.now(), |conn, now| Box::pin(ledger::expire(conn, *now, BATCH)));
    while batch().await? == BATCH.cast_unsigned() {}
    Ok(())
}

pub async fn tell_audit_head_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (seq, hash) = audit::head(&mut *context.db.read().await?).await?;
    tracing::info!(seq, hash = HEXLOWER.encode(&hash), "the audit chain stands here");
    Ok(())
}
