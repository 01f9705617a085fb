//! How a verification moves.

use crate::payments::PATIENCE;
use platform::outside::payments::OrderState;
use values::{Time, text_enum};

text_enum! {
    /// How far a card's verification is.
    pub enum CardStatus {
        PendingVerification = "pending_verification",
        /// The card was shown, and the provider is at it.
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

/// How many verifications of one account may wait for their card at once: each is asked for again and again.
pub const WAITING_AT_MOST: i64 = 10;

/// Where the provider's word takes a verification begun then.
pub fn next(status: CardStatus, order: OrderState, created_at: Time, now: Time) -> CardStatus {
    match (status, order) {
        (settled, _) if settled.is_settled() => settled,
        (_, OrderState::Completed) => CardStatus::Verified,
        (_, OrderState::Failed | OrderState::Cancelled) => CardStatus::VerificationFailed,
        _ if now.since(created_at) >= PATIENCE => CardStatus::VerificationFailed,
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
        fn nothing_unsettles_a_verification(
            status in status(), orders in proptest::collection::vec((order(), 0u64..200_000), 1..20),
        ) {
            let mut current = status;
            for (order, seconds) in orders {
                let moved = next(current, order, BEGAN, BEGAN.plus(Duration::from_secs(seconds)));
                prop_assert!(!current.is_settled() || moved == current);
                prop_assert!(current != CardStatus::Completing || moved != CardStatus::PendingVerification);
                current = moved;
            }
        }

        #[test]
        fn after_a_day_every_verification_is_settled(status in status(), order in order()) {
            prop_assert!(next(status, order, BEGAN, BEGAN.plus(PATIENCE)).is_settled());
        }
    }

    #[test]
    fn a_card_that_was_accepted_at_the_last_moment_counts() {
        let late = BEGAN.plus(PATIENCE + PATIENCE);
        assert_eq!(next(CardStatus::Completing, OrderState::Completed, BEGAN, late), CardStatus::Verified);
    }
}
