//! The kinds of jobs that this crate runs. A kind that is enqueued but missing here fails on every node.

use platform::app::App;
use platform::job_kinds;
use platform::jobs::JobKind;

use crate::sessions;

pub fn kinds() -> Vec<JobKind<App>> {
    job_kinds! {
        sessions::FORGOT_PASSWORD => sessions::forgot_password_job,
    }
}
