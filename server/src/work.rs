//! Every kind of job and every schedule.

use backoffice::{housekeeping, orphans};
use billing::card_check;
use billing::low_balance;
use billing::{invoices, payments, recharge, sandbox, vat, webhooks};
use identity::{compliance, sessions};
use numbers::rented;
use numbers::{inventory, orders};
use platform::app::App;
use platform::jobs::{JobKind, Registry, Runner, Schedule, SetupError};
use platform::ledger;
use platform::letters;
use voice::{calls, cdrs, decks, fx};

pub fn runner(app: &App) -> Result<Runner<App>, SetupError> {
    let registry = Registry::new([
        JobKind { kind: letters::SEND, run: |context, payload| Box::pin(letters::send_job(context, payload)) },
        JobKind {
            kind: sessions::FORGOT_PASSWORD,
            run: |context, payload| Box::pin(sessions::forgot_password_job(context, payload)),
        },
        JobKind {
            kind: housekeeping::FORGET,
            run: |context, payload| Box::pin(housekeeping::forget_job(context, payload)),
        },
        JobKind {
            kind: housekeeping::EXPIRE_HOLDS,
            run: |context, payload| Box::pin(housekeeping::expire_holds_job(context, payload)),
        },
        JobKind {
            kind: housekeeping::TELL_AUDIT_HEAD,
            run: |context, payload| Box::pin(housekeeping::tell_audit_head_job(context, payload)),
        },
        JobKind {
            kind: sandbox::CALL_BACK,
            run: |context, payload| Box::pin(sandbox::call_back_job(context, payload)),
        },
        JobKind {
            kind: webhooks::FOLLOW_UP,
            run: |context, payload| Box::pin(webhooks::follow_up_job(context, payload)),
        },
        JobKind { kind: card_check::POLL, run: |context, payload| Box::pin(card_check::poll_job(context, payload)) },
        JobKind { kind: ledger::MOVED, run: |context, payload| Box::pin(low_balance::moved_job(context, payload)) },
        JobKind {
            kind: low_balance::RECHECK,
            run: |context, payload| Box::pin(low_balance::recheck_job(context, payload)),
        },
        JobKind { kind: recharge::ATTEMPT, run: |context, payload| Box::pin(recharge::attempt_job(context, payload)) },
        JobKind { kind: payments::CHARGED, run: |context, payload| Box::pin(recharge::attempt_job(context, payload)) },
        JobKind { kind: fx::FETCH, run: |context, payload| Box::pin(fx::fetch_job(context, payload)) },
        JobKind { kind: payments::POLL, run: |context, payload| Box::pin(payments::poll_job(context, payload)) },
        JobKind { kind: vat::CHECK, run: |context, payload| Box::pin(vat::check_job(context, payload)) },
        JobKind {
            kind: invoices::CLOSE_MONTHS,
            run: |context, payload| Box::pin(invoices::close_months_job(context, payload)),
        },
        JobKind { kind: invoices::ISSUE, run: |context, payload| Box::pin(invoices::issue_job(context, payload)) },
        JobKind {
            kind: invoices::DOCUMENT,
            run: |context, payload| Box::pin(invoices::document_job(context, payload)),
        },
        JobKind { kind: invoices::SETTLE, run: |context, payload| Box::pin(invoices::settle_job(context, payload)) },
        JobKind { kind: decks::IMPORT, run: |context, payload| Box::pin(decks::import_job(context, payload)) },
        JobKind { kind: decks::PULL_DUE, run: |context, payload| Box::pin(decks::pull_due_job(context, payload)) },
        JobKind { kind: decks::ANNOUNCE, run: |context, payload| Box::pin(decks::announce_job(context, payload)) },
        JobKind { kind: inventory::IMPORT, run: |context, payload| Box::pin(inventory::import_job(context, payload)) },
        JobKind { kind: orders::PROVISION, run: |context, payload| Box::pin(orders::provision_job(context, payload)) },
        JobKind { kind: orders::EXPIRE, run: |context, payload| Box::pin(orders::expire_job(context, payload)) },
        JobKind { kind: compliance::DECIDED, run: |context, payload| Box::pin(orders::decided_job(context, payload)) },
        JobKind {
            kind: rented::RETURN_TO_SUPPLIER,
            run: |context, payload| Box::pin(rented::return_to_supplier_job(context, payload)),
        },
        JobKind { kind: rented::RENEW, run: |context, payload| Box::pin(rented::renew_job(context, payload)) },
        JobKind {
            kind: rented::RENEWAL_REMINDER,
            run: |context, payload| Box::pin(rented::renewal_reminder_job(context, payload)),
        },
        JobKind {
            kind: calls::CLOSE_VANISHED,
            run: |context, payload| Box::pin(calls::close_vanished_job(context, payload)),
        },
        JobKind {
            kind: calls::COUNT_PEAKS,
            run: |context, payload| Box::pin(calls::count_peaks_job(context, payload)),
        },
        JobKind { kind: calls::MAKE_ROOM, run: |context, payload| Box::pin(calls::make_room_job(context, payload)) },
        JobKind { kind: calls::ALARM, run: |context, payload| Box::pin(calls::alarm_job(context, payload)) },
        JobKind {
            kind: calls::FORGET_NUMBERS,
            run: |context, payload| Box::pin(calls::forget_numbers_job(context, payload)),
        },
        JobKind { kind: cdrs::EXPORT, run: |context, payload| Box::pin(cdrs::export_job(context, payload)) },
        JobKind { kind: cdrs::EXPIRE, run: |context, payload| Box::pin(cdrs::expire_job(context, payload)) },
        JobKind { kind: orphans::SWEEP, run: |context, payload| Box::pin(orphans::sweep_job(context, payload)) },
    ])
    .observed_by(|app: &App, run| {
        app.metrics.job(run.kind, run.ending.as_str(), run.took);
        app.traces.ran(run);
    });
    let schedules = vec![
        Schedule { name: "poll_cards", cron: "* * * * *", kind: card_check::POLL },
        Schedule { name: "poll_payments", cron: "* * * * *", kind: payments::POLL },
        Schedule { name: "expire_holds", cron: "* * * * *", kind: housekeeping::EXPIRE_HOLDS },
        Schedule { name: "close_vanished_calls", cron: "* * * * *", kind: calls::CLOSE_VANISHED },
        Schedule { name: "count_peaks_of_calls", cron: "* * * * *", kind: calls::COUNT_PEAKS },
        Schedule { name: "make_room_for_calls", cron: "20 1 * * *", kind: calls::MAKE_ROOM },
        Schedule { name: "alarm_about_calls", cron: "*/5 * * * *", kind: calls::ALARM },
        Schedule { name: "forget_numbers_of_calls", cron: "50 2 * * *", kind: calls::FORGET_NUMBERS },
        Schedule { name: "recheck_balances", cron: "3 0 * * *", kind: low_balance::RECHECK },
        // The bank publishes at 16:00 in Frankfurt.
        Schedule { name: "fetch_fx", cron: "30 15 * * *", kind: fx::FETCH },
        Schedule { name: "pull_decks", cron: "* * * * *", kind: decks::PULL_DUE },
        Schedule { name: "provision_numbers", cron: "* * * * *", kind: orders::PROVISION },
        Schedule { name: "expire_number_orders", cron: "23 * * * *", kind: orders::EXPIRE },
        Schedule { name: "renew_numbers", cron: "*/5 * * * *", kind: rented::RENEW },
        Schedule { name: "look_ahead_at_renewals", cron: "30 8 * * *", kind: rented::RENEWAL_REMINDER },
        Schedule { name: "check_vat_ids", cron: "*/5 * * * *", kind: vat::CHECK },
        Schedule { name: "close_months", cron: "10 2 * * *", kind: invoices::CLOSE_MONTHS },
        Schedule { name: "settle_invoices", cron: "*/5 * * * *", kind: invoices::SETTLE },
        Schedule { name: "expire_cdr_exports", cron: "37 * * * *", kind: cdrs::EXPIRE },
        Schedule { name: "forget", cron: "17 * * * *", kind: housekeeping::FORGET },
        Schedule { name: "orphans", cron: "47 3 * * *", kind: orphans::SWEEP },
        Schedule { name: "audit_head", cron: "0 * * * *", kind: housekeeping::TELL_AUDIT_HEAD },
    ];
    let waker = app.jobs_waker.clone();
    Runner::new(app.clone(), app.db.clone(), app.clock.clone(), app.entropy, registry, schedules, waker)
}
