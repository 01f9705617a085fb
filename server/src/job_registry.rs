//! Every kind of job and every schedule. Each crate lists its kinds in its `jobs.rs`.

use backoffice::{audit_log, maintenance, orphaned_files, retention, webhook_endpoints};
use billing::payments::chargebacks;
use billing::{card_check, invoices, low_balance, payments, vat};
use numbers::{orders, rented};
use platform::app::App;
use platform::jobs::{JobKind, Kind, Registry, Run, Runner, Schedule, SetupError};
use platform::mail;
use platform::traces::job_log_span;
use voice::upstreams::{decks, statements};
use voice::{calls, cdrs, concurrency, fx};

pub fn runner(app: &App) -> Result<Runner<App>, SetupError> {
    runner_with(app, Vec::new())
}

/// A runner that also knows these kinds.
pub fn runner_with(app: &App, more: Vec<JobKind<App>>) -> Result<Runner<App>, SetupError> {
    Runner::new(app.clone(), app.db.clone(), app.clock.clone(), registry(more), schedules())
}

fn registry(more: Vec<JobKind<App>>) -> Registry<App> {
    let mail = platform::job_kinds! { mail::SEND => mail::send_job, };
    let kinds = [
        mail,
        identity::jobs::kinds(),
        voice::jobs::kinds(),
        billing::jobs::kinds(),
        numbers::jobs::kinds(),
        backoffice::jobs::kinds(),
        more,
    ];
    let observe = |app: &App, run: &Run<'_>| {
        app.metrics.job(run.kind, run.outcome.as_str(), run.took);
        app.traces.record_job(run);
    };
    Registry::new(kinds.into_iter().flatten())
        .with_observer(observe)
        .with_log_span(job_log_span)
        .with_preparation(|app| Box::pin(webhook_endpoints::publish(app)))
}

/// Cron patterns are in UTC. Names are stored in the database, so they stay as they are.
fn schedules() -> Vec<Schedule> {
    let every_minute = "* * * * *";
    let every_five_minutes = "*/5 * * * *";
    vec![
        schedule("poll_cards", every_minute, card_check::POLL),
        schedule("poll_payments", every_minute, payments::POLL),
        schedule("poll_chargebacks", "41 * * * *", chargebacks::POLL),
        schedule("expire_holds", every_minute, maintenance::EXPIRE_HOLDS),
        schedule("close_vanished_calls", every_minute, calls::CLOSE_STALE),
        schedule("count_peaks_of_calls", every_minute, concurrency::COUNT_PEAKS),
        schedule("make_room_for_calls", "20 1 * * *", cdrs::CREATE_PARTITIONS),
        schedule("alarm_about_calls", every_five_minutes, calls::SEND_ALERTS),
        schedule("forget_numbers_of_calls", "50 2 * * *", cdrs::ANONYMISE_NUMBERS),
        schedule("forget_lines_of_statements", "55 2 * * *", statements::PURGE_LINES),
        schedule("archive_cdrs", "10 4 * * *", cdrs::ARCHIVE),
        schedule("drop_archived_cdrs", "40 4 * * *", cdrs::DROP_ARCHIVED),
        schedule("recheck_balances", "3 0 * * *", low_balance::RECHECK),
        // The European Central Bank publishes at 16:00 CET.
        schedule("fetch_fx", "30 15 * * *", fx::FETCH),
        schedule("pull_decks", every_minute, decks::PULL_DUE),
        schedule("read_deck_mail", every_minute, decks::mail::POLL),
        schedule("provision_numbers", every_minute, orders::PROVISION),
        schedule("expire_number_orders", "23 * * * *", orders::EXPIRE),
        schedule("renew_numbers", every_five_minutes, rented::RENEW),
        schedule("look_ahead_at_renewals", "30 8 * * *", rented::RENEWAL_REMINDER),
        schedule("check_vat_ids", every_five_minutes, vat::CHECK),
        schedule("close_months", "10 2 * * *", invoices::CLOSE_MONTHS),
        schedule("settle_invoices", every_five_minutes, invoices::MARK_PAID),
        schedule("expire_cdr_exports", "37 * * * *", cdrs::EXPIRE_EXPORTS),
        schedule("forget", "17 * * * *", retention::PURGE),
        schedule("orphans", "47 3 * * *", orphaned_files::DELETE),
        schedule("archive_audit_log", "40 2 * * *", audit_log::ARCHIVE),
        schedule("audit_head", "0 * * * *", maintenance::LOG_AUDIT_HEAD),
    ]
}

fn schedule(name: &'static str, cron: &'static str, kind: Kind) -> Schedule {
    Schedule { name, cron, kind }
}
