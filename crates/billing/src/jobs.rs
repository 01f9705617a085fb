//! The kinds of jobs that this crate runs. A kind that is enqueued but missing here fails on every node.

use platform::app::App;
use platform::job_kinds;
use platform::jobs::JobKind;
use platform::ledger;

use crate::payments::{auto_recharge, chargebacks};
use crate::{card_check, invoices, low_balance, payments, sandbox, vat, webhooks};

pub fn kinds() -> Vec<JobKind<App>> {
    job_kinds! {
        ledger::BALANCE_CHANGED => low_balance::moved_job,
        low_balance::RECHECK => low_balance::recheck_job,
        auto_recharge::ATTEMPT => auto_recharge::attempt_job,
        payments::CHARGED => auto_recharge::attempt_job,
        payments::POLL => payments::poll_job,
        payments::RETURN => payments::return_job,
        chargebacks::FETCH => chargebacks::fetch_job,
        chargebacks::POLL => chargebacks::poll_job,
        card_check::POLL => card_check::poll_job,
        webhooks::FETCH_ORDER => webhooks::fetch_order_job,
        sandbox::CALL_BACK => sandbox::call_back_job,
        vat::CHECK => vat::check_job,
        vat::ROUND => vat::round_job,
        invoices::CLOSE_MONTHS => invoices::close_months_job,
        invoices::ISSUE => invoices::issue_job,
        invoices::DOCUMENT => invoices::document_job,
        invoices::MARK_PAID => invoices::mark_paid_job,
    }
}
