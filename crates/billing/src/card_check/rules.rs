//! The status changes of a card verification.

use crate::payments::CHECKOUT_TTL;
use platform::outside::payments::OrderState;
use values::{Time, text_enum};

text_enum! {
    /// Status of a card verification; `completing` means that the card was entered and the provider is checking it.
    pub enum CardStatus {
        PendingVerification = "pending_verification",
        /// The card was entered, and the provider is checking it.
        Completing = "completing",
        Verified = "verified",
        VerificationFailed = "verification_failed",
    }
}

impl CardStatus {
    pub fn is_settled(self) -> bool {
        matches!(self, CardStatus::Verified | CardStatus::VerificationFailed)
    }
}

/// Open verifications per account. Limited because each of them is polled.
pub const MAX_OPEN_VERIFICATIONS: i64 = 10;

/// The status that follows from the state of the provider's order.
pub fn next_status(status: CardStatus, order: OrderState, created_at: Time, now: Time) -> CardStatus {
    match (status, order) {
        (settled, _) if settled.is_settled() => settled,
        (_, OrderState::Completed) => CardStatus::Verified,
        (_, OrderState::Failed | OrderState::Cancelled) => CardStatus::VerificationFailed,
        _ if now.since(created_at) >= CHECKOUT_TTL => CardStatus::VerificationFailed,
        (_, OrderState::Processing) => CardStatus::Completing,
        (status, OrderState::Pending) => status,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const BEGAN: Time = Time::from_millis(1_900_000_000_000);

    fn status() -> impl Strategy<Value = CardStatus> {
        proptest::sample::select(CardStatus::ALL)
    }

    fn order() -> impl Strategy<Value = OrderState> {
        proptest::sample::select(OrderState::ALL)
    }

    proptest! {
        #[test]
        fn a_settled_verification_never_changes(
            status in status(), orders in proptest::collection::vec((order(), 0u64..200_000), 1..20),
        ) {
            let mut current = status;
            for (order, seconds) in orders {
                let moved = next_status(current, order, BEGAN, BEGAN.plus(Duration::from_secs(seconds)));
                prop_assert!(!current.is_settled() || moved == current);
                prop_assert!(current != CardStatus::Completing || moved != CardStatus::PendingVerification);
                current = moved;
            }
        }

        #[test]
        fn after_a_day_every_verification_is_settled(status in status(), order in order()) {
            prop_assert!(next_status(status, order, BEGAN, BEGAN.plus(CHECKOUT_TTL)).is_settled());
        }
    }

    #[test]
    fn a_card_accepted_after_the_checkout_expired_is_verified() {
        let late = BEGAN.plus(CHECKOUT_TTL + CHECKOUT_TTL);
        assert_eq!(next_status(CardStatus::Completing, OrderState::Completed, BEGAN, late), CardStatus::Verified);
    }
}
