//! Every kind of job with its function, and every schedule.
//!
//! A kind that is enqueued but missing here fails on every node, so a new job needs a row in [`registry`].

use backoffice::{maintenance, orphaned_files, retention};
use billing::{auto_recharge, card_check, invoices, low_balance, payments, sandbox, vat, webhooks};
use identity::{compliance, sessions};
use numbers::{inventory, orders, rented};
use platform::app::App;
use platform::jobs::{JobKind, Kind, Registry, Runner, Schedule, SetupError};
use platform::{ledger, mail};
use voice::{calls, cdrs, concurrency, decks, fx};

pub fn runner(app: &App) -> Result<Runner<App>, SetupError> {
    let (registry, schedules) = (registry(), schedules());
    let waker = app.jobs_waker.clone();
    Runner::new(app.clone(), app.db.clone(), app.clock.clone(), app.entropy, registry, schedules, waker)
}

/// One row for each kind of job: `KIND => function`.
macro_rules! jobs {
    ($($kind:path => $function:path,)*) => {
        [$(JobKind { kind: $kind, run: |context, payload| Box::pin($function(context, payload)) }),*]
    };
}

fn registry() -> Registry<App> {
    let kinds = jobs! {
        mail::SEND => mail::send_job,
        sessions::FORGOT_PASSWORD => sessions::forgot_password_job,
        compliance::INTAKE_DECIDED => orders::decided_job,

        ledger::BALANCE_CHANGED => low_balance::moved_job,
        low_balance::RECHECK => low_balance::recheck_job,
        auto_recharge::ATTEMPT => auto_recharge::attempt_job,
        payments::CHARGED => auto_recharge::attempt_job,
        payments::POLL => payments::poll_job,
        card_check::POLL => card_check::poll_job,
        webhooks::FETCH_ORDER => webhooks::fetch_order_job,
        sandbox::CALL_BACK => sandbox::call_back_job,
        vat::CHECK => vat::check_job,
        invoices::CLOSE_MONTHS => invoices::close_months_job,
        invoices::ISSUE => invoices::issue_job,
        invoices::DOCUMENT => invoices::document_job,
        invoices::MARK_PAID => invoices::mark_paid_job,

        fx::FETCH => fx::fetch_job,
        decks::IMPORT => decks::import_job,
        decks::PULL_DUE => decks::pull_due_job,
        decks::ANNOUNCE => decks::announce_job,
        calls::CLOSE_STALE => calls::close_stale_job,
        concurrency::COUNT_PEAKS => concurrency::count_peaks_job,
        cdrs::CREATE_PARTITIONS => cdrs::create_partitions_job,
        calls::SEND_ALERTS => calls::send_alerts_job,
        cdrs::ANONYMISE_NUMBERS => cdrs::anonymise_numbers_job,
        cdrs::WRITE_EXPORT => cdrs::write_export_job,
        cdrs::EXPIRE_EXPORTS => cdrs::expire_exports_job,

        inventory::IMPORT => inventory::import_job,
        orders::PROVISION => orders::provision_job,
        orders::EXPIRE => orders::expire_job,
        rented::RENEW => rented::renew_job,
        rented::LOOK_AHEAD => rented::look_ahead_job,
        rented::HAND_BACK => rented::hand_back_job,

        retention::PURGE => retention::purge_job,
        maintenance::EXPIRE_HOLDS => maintenance::expire_holds_job,
        maintenance::LOG_AUDIT_HEAD => maintenance::log_audit_head_job,
        orphaned_files::DELETE => orphaned_files::delete_job,
    };
    Registry::new(kinds).with_observer(|app: &App, run| {
        app.metrics.job(run.kind, run.outcome.as_str(), run.took);
        app.traces.record_job(run);
    })
}

/// Cron patterns are in UTC. Names are stored in the database, so they stay as they are.
fn schedules() -> Vec<Schedule> {
    let every_minute = "* * * * *";
    let every_five_minutes = "*/5 * * * *";
    vec![
        schedule("poll_cards", every_minute, card_check::POLL),
        schedule("poll_payments", every_minute, payments::POLL),
        schedule("expire_holds", every_minute, maintenance::EXPIRE_HOLDS),
        schedule("close_vanished_calls", every_minute, calls::CLOSE_STALE),
        schedule("count_peaks_of_calls", every_minute, concurrency::COUNT_PEAKS),
        schedule("make_room_for_calls", "20 1 * * *", cdrs::CREATE_PARTITIONS),
        schedule("alarm_about_calls", every_five_minutes, calls::SEND_ALERTS),
        schedule("forget_numbers_of_calls", "50 2 * * *", cdrs::ANONYMISE_NUMBERS),
        schedule("recheck_balances", "3 0 * * *", low_balance::RECHECK),
        // The European Central Bank publishes at 16:00 CET.
        schedule("fetch_fx", "30 15 * * *", fx::FETCH),
        schedule("pull_decks", every_minute, decks::PULL_DUE),
        schedule("provision_numbers", every_minute, orders::PROVISION),
        schedule("expire_number_orders", "23 * * * *", orders::EXPIRE),
        schedule("renew_numbers", every_five_minutes, rented::RENEW),
        schedule("look_ahead_at_renewals", "30 8 * * *", rented::LOOK_AHEAD),
        schedule("check_vat_ids", every_five_minutes, vat::CHECK),
        schedule("close_months", "10 2 * * *", invoices::CLOSE_MONTHS),
        schedule("settle_invoices", every_five_minutes, invoices::MARK_PAID),
        schedule("expire_cdr_exports", "37 * * * *", cdrs::EXPIRE_EXPORTS),
        schedule("forget", "17 * * * *", retention::PURGE),
        schedule("orphans", "47 3 * * *", orphaned_files::DELETE),
        schedule("audit_head", "0 * * * *", maintenance::LOG_AUDIT_HEAD),
    ]
}

fn schedule(name: &'static str, cron: &'static str, kind: Kind) -> Schedule {
    Schedule { name, cron, kind }
}
