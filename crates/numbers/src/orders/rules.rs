//! How an order moves, and how often a carrier is asked.

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
    /// Whether an order may go from here to there.
    pub const fn leads_to(self, to: OrderStatus) -> bool {
        use OrderStatus::{Active, Cancelled, Failed, PendingDocuments, Provisioning};
        matches!((self, to), (PendingDocuments, Provisioning | Cancelled | Failed) | (Provisioning, Active | Failed))
    }
}

/// How long documents may be waited for.
pub const DOCUMENTS_WITHIN: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long a carrier may take before the order is given up.
pub const CARRIER_WITHIN: Duration = Duration::from_secs(72 * 3600);

const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// When a carrier that was asked so often is asked again: after a minute, then after twice as long each time.
pub fn ask_again(tries: i64, now: Time) -> Time {
    let doublings = u32::try_from(tries).unwrap_or(0).min(16);
    now.plus(FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_stays_as_it_is() {
        for ended in [OrderStatus::Active, OrderStatus::Failed, OrderStatus::Cancelled] {
            assert!(OrderStatus::ALL.iter().all(|to| !ended.leads_to(*to)));
        }
        assert!(!OrderStatus::Provisioning.leads_to(OrderStatus::Cancelled));
        assert!(OrderStatus::PendingDocuments.leads_to(OrderStatus::Cancelled));
    }

    #[test]
    fn a_carrier_is_asked_less_and_less_often_but_every_hour() {
        let pauses: Vec<u64> = (0..8).map(|tries| ask_again(tries, Time::EPOCH).since(Time::EPOCH).as_secs()).collect();
        assert_eq!(pauses, [60, 120, 240, 480, 960, 1920, 3600, 3600]);
    }
}
