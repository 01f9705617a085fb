//! The kinds of jobs that this crate runs. A kind that is enqueued but missing here fails on every node.

use platform::app::App;
use platform::job_kinds;
use platform::jobs::JobKind;

use crate::upstreams::{decks, statements};
use crate::{calls, cdrs, concurrency, fx, price_notices};

pub fn kinds() -> Vec<JobKind<App>> {
    job_kinds! {
        fx::FETCH => fx::fetch_job,
        decks::IMPORT => decks::import_job,
        decks::PULL_DUE => decks::pull_due_job,
        decks::mail::POLL => decks::mail::poll_job,
        statements::RECONCILE => statements::reconcile_job,
        statements::PURGE_LINES => statements::purge_lines_job,
        price_notices::ANNOUNCE => price_notices::announce_job,
        calls::CLOSE_STALE => calls::close_stale_job,
        concurrency::COUNT_PEAKS => concurrency::count_peaks_job,
        cdrs::CREATE_PARTITIONS => cdrs::create_partitions_job,
        calls::SEND_ALERTS => calls::send_alerts_job,
        cdrs::ANONYMISE_NUMBERS => cdrs::anonymise_numbers_job,
        cdrs::WRITE_EXPORT => cdrs::write_export_job,
        cdrs::EXPIRE_EXPORTS => cdrs::expire_exports_job,
        cdrs::RERATE => cdrs::rerate_job,
    }
}
