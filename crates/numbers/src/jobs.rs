//! The kinds of jobs that this crate runs. A kind that is enqueued but missing here fails on every node.

use identity::compliance;
use platform::app::App;
use platform::job_kinds;
use platform::jobs::JobKind;

use crate::{inventory, orders, rented};

pub fn kinds() -> Vec<JobKind<App>> {
    job_kinds! {
        compliance::INTAKE_DECIDED => orders::decided_job,
        inventory::IMPORT => inventory::import_job,
        orders::PROVISION => orders::provision_job,
        orders::EXPIRE => orders::expire_job,
        rented::RENEW => rented::renew_job,
        rented::RENEWAL_REMINDER => rented::renewal_reminder_job,
        rented::RETURN_TO_SUPPLIER => rented::return_to_supplier_job,
    }
}
