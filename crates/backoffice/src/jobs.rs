//! The kinds of jobs that this crate runs. A kind that is enqueued but missing here fails on every node.

use identity::sessions::CREDENTIALS_DROPPED;
use platform::app::{App, rotation};
use platform::job_kinds;
use platform::jobs::JobKind;

use crate::{audit_log, maintenance, master_secret, orphaned_files, retention, webhook_endpoints};

pub fn kinds() -> Vec<JobKind<App>> {
    job_kinds! {
        audit_log::ARCHIVE => audit_log::archive_job,
        rotation::RESEAL => master_secret::reseal_job,
        retention::PURGE => retention::purge_job,
        maintenance::EXPIRE_HOLDS => maintenance::expire_holds_job,
        maintenance::LOG_AUDIT_HEAD => maintenance::log_audit_head_job,
        orphaned_files::DELETE => orphaned_files::delete_job,
        webhook_endpoints::DELIVER => webhook_endpoints::deliver_job,
        CREDENTIALS_DROPPED => webhook_endpoints::delete_early_job,
    }
}
