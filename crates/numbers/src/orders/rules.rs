//! State machine of orders, and the backoff of requests to the DID supplier.

use std::time::Duration;

use values::{Time, text_enum};

text_enum! {
    /// Status of a number order: `pending_documents` until the documents are approved, `provisioning` until the DID
    /// supplier activates the number, then `active`; or `failed` or `cancelled`, with the charge refunded.
    pub enum OrderStatus {
        PendingDocuments = "pending_documents",
        Provisioning = "provisioning",
        Active = "active",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

impl OrderStatus {
    /// Whether an order may change from this status to another.
    pub const fn leads_to(self, to: OrderStatus) -> bool {
        use OrderStatus::{Active, Cancelled, Failed, PendingDocuments, Provisioning};
        matches!((self, to), (PendingDocuments, Provisioning | Cancelled | Failed) | (Provisioning, Active | Failed))
    }
}

/// How long an order waits for documents before it fails.
pub const DOCUMENTS_TIMEOUT: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long the DID supplier may take before the order fails.
pub const PROVISIONING_TIMEOUT: Duration = Duration::from_secs(72 * 3600);

const FIRST_BACKOFF: Duration = Duration::from_secs(60);
const MAX_BACKOFF: Duration = Duration::from_secs(3600);

/// When the DID supplier is asked again: after a minute, doubled at each try, up to an hour.
pub fn next_try_at(tries: i64, now: Time) -> Time {
    let doublings = u32::try_from(tries).unwrap_or(0).min(16);
    now.plus(FIRST_BACKOFF.saturating_mul(1 << doublings).min(MAX_BACKOFF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_order_never_changes_status() {
        for ended in [OrderStatus::Active, OrderStatus::Failed, OrderStatus::Cancelled] {
            assert!(OrderStatus::ALL.iter().all(|to| !ended.leads_to(*to)));
        }
        assert!(!OrderStatus::Provisioning.leads_to(OrderStatus::Cancelled));
        assert!(OrderStatus::PendingDocuments.leads_to(OrderStatus::Cancelled));
    }

    #[test]
    fn the_backoff_doubles_up_to_an_hour() {
        let pauses: Vec<u64> =
            (0..8).map(|tries| next_try_at(tries, Time::EPOCH).since(Time::EPOCH).as_secs()).collect();
        assert_eq!(pauses, [60, 120, 240, 480, 960, 1920, 3600, 3600]);
    }
}
