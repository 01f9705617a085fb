//! Retention: which rows are purged, and after how long. One job runs all rules, once an hour.
//!
//! To add a rule, add a row to [`RULES`]; its function deletes a batch of rows older than a cutoff. CDRs are not purged
//! here: `voice::cdrs` anonymises their numbers.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::{dashboards, webhook_endpoints};
use api::{api_keys, idempotency};
use billing::{payments, webhooks};
use db::{Conn, DbError};
use identity::{events, mailed_links, notifications, passkeys, sessions, two_factor};
use platform::app::App;
use platform::jobs::{self, JobContext, JobError, Kind};
use platform::mail;
use platform::{ledger, limits};
use values::Time;
use voice::upstreams::decks;
use voice::{calls, cdrs, price_notices};

pub const PURGE: Kind = Kind::new("housekeeping.forget");

/// Deletes up to this many of the oldest rows before the cutoff, and returns how many.
type Purge = for<'c> fn(&'c mut Conn, Time, i64) -> BoxFuture<'c, Result<u64, DbError>>;

/// What is purged, how long it is kept, and how it is deleted.
struct Rule {
    what: &'static str,
    kept_for: Duration,
    purge: Purge,
}

macro_rules! rule {
    ($what:literal, $kept_for:expr, $function:expr) => {
        Rule { what: $what, kept_for: $kept_for, purge: |conn, cutoff, batch| Box::pin($function(conn, cutoff, batch)) }
    };
}

const fn days(days: u64) -> Duration {
    Duration::from_secs(days * 24 * 3600)
}

/// Sessions and links are kept a week past their end, so that an expired one can be told from an unknown one.
const RULES: [Rule; 27] = [
    rule!("idempotency keys", idempotency::RETENTION, idempotency::purge),
    rule!("rate limit counters", limits::MAX_WINDOW, limits::purge_windows),
    rule!("failed sign-ins", days(1), sessions::purge_failures),
    rule!("access tokens", days(1), sessions::purge_access_tokens),
    rule!("second factor guesses", days(2), two_factor::purge_guesses),
    rule!("2FA challenges", days(1), two_factor::purge_challenges),
    rule!("passkey challenges", days(1), passkeys::purge_challenges),
    rule!("locks of cards", days(2), payments::purge_cards),
    rule!("sessions", days(7), sessions::purge_sessions),
    rule!("revoked API keys", days(90), api_keys::purge),
    rule!("mailed links", days(7), mailed_links::purge),
    rule!("call alarms", days(7), calls::purge_alerts),
    rule!("provider webhooks", days(30), webhooks::purge),
    rule!("webhook deliveries", days(events::RETENTION_DAYS), webhook_endpoints::purge_deliveries),
    rule!("deleted webhook endpoints", days(events::RETENTION_DAYS + 1), webhook_endpoints::purge_deleted),
    rule!("events", days(events::RETENTION_DAYS), events::purge),
    rule!("ended calls of events", days(events::RETENTION_DAYS), cdrs::purge_ended),
    rule!("ended holds", days(30), ledger::purge_holds),
    rule!("provisional CDRs that wait for late events", days(30), cdrs::purge_provisional),
    rule!("CDR exports", days(90), cdrs::purge_exports),
    // Other dead jobs stay until somebody reruns them.
    rule!("dead mail jobs", days(90), purge_dead_mail),
    rule!("notifications", days(400), notifications::purge),
    rule!("price notices", days(730), price_notices::purge),
    rule!("price comparisons", days(730), price_notices::purge_comparisons),
    rule!("deck mails", days(400), decks::mail::purge),
    rule!("traffic per minute", dashboards::MINUTES_KEPT_FOR, dashboards::purge_minutes),
    rule!("traffic per hour", dashboards::HOURS_KEPT_FOR, dashboards::purge_hours),
];

async fn purge_dead_mail(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    jobs::purge_dead(conn, mail::SEND, cutoff, batch).await
}

pub async fn purge_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    for Rule { what, kept_for, purge } in &RULES {
        let batch = (*purge, context.clock.now().minus(*kept_for), context.db.bulk_rows(100, 1000) as i64);
        let mut purged = 0;
        loop {
            let rows = context.db.tx_bulk(batch, |conn, (purge, cutoff, limit)| purge(conn, *cutoff, *limit)).await?;
            purged += rows;
            if rows < batch.2.cast_unsigned() {
                break;
            }
        }
        tracing::debug!(what, rows = purged, "purged");
    }
    Ok(())
}
