//! What commits tell the rest of this node.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

#[derive(Default)]
pub(super) struct Signals {
    pub(super) jobs_due: Arc<Notify>,
    callers_epoch: AtomicU64,
}

impl Signals {
    pub(super) fn forget_callers(&self) {
        self.callers_epoch.fetch_add(1, Ordering::Release);
    }

    pub(super) fn callers_epoch(&self) -> u64 {
        self.callers_epoch.load(Ordering::Acquire)
    }
}
