//! How a payment moves, and how often to ask for it.
//!
//! A payment never goes back: it waits, then it has failed or expired, and at last it may be completed. Completed wins
//! even over the others, since the money of a payer who was late is money all the same.

use std::time::Duration;

use platform::outside::payments::OrderState;
use values::{Time, text_enum};

text_enum! {
    /// Where a payment stands.
    pub enum PaymentStatus {
        Pending = "pending",
        Completed = "completed",
        Failed = "failed",
        /// Nobody paid in time.
        Expired = "expired",
    }
}

text_enum! {
    /// What we asked the provider for.
    pub enum Purpose {
        /// The customer pays at a checkout.
        Topup = "topup",
        /// A saved card is charged while its holder is away.
        Recharge = "recharge",
        /// A card is shown at a checkout and saved.
        Card = "card",
    }
}

/// How many checkouts of one account may wait at once: each is asked for again and again.
pub const WAITING_AT_MOST: i64 = 50;

/// How long a checkout waits for its payer.
pub const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// How long after its beginning an expired payment may still be paid, for all we know.
const WATCHED: Duration = Duration::from_secs(7 * 24 * 3600);

const SOONEST: Duration = Duration::from_secs(60);
const LATEST: Duration = Duration::from_secs(30 * 60);

/// Whether a payment begun then has waited for long enough.
pub fn is_late(created_at: Time, now: Time) -> bool {
    now.since(created_at) >= PATIENCE
}

/// Where the provider's word takes a payment begun then. Without an order the provider has not heard of it.
pub fn next(status: PaymentStatus, order: Option<OrderState>, created_at: Time, now: Time) -> PaymentStatus {
    let late = is_late(created_at, now);
    match (status, order) {
        (_, Some(OrderState::Completed)) => PaymentStatus::Completed,
        (PaymentStatus::Pending, Some(OrderState::Failed)) => PaymentStatus::Failed,
        (PaymentStatus::Pending, Some(OrderState::Cancelled)) if !late => PaymentStatus::Failed,
        (PaymentStatus::Pending, _) if late => PaymentStatus::Expired,
        (status, _) => status,
    }
}

/// Whether the provider may still have something to tell.
pub fn is_watched(status: PaymentStatus, order: Option<OrderState>, created_at: Time, now: Time) -> bool {
    match status {
        PaymentStatus::Pending => true,
        PaymentStatus::Completed | PaymentStatus::Failed => false,
        PaymentStatus::Expired => !order.is_some_and(OrderState::is_final) && now.since(created_at) < WATCHED,
    }
}

/// When to ask the provider again: often while the payer may still be at it, then less, and once when patience ends.
pub fn next_poll(created_at: Time, now: Time) -> Time {
    let pause = (now.since(created_at) / 4).clamp(SOONEST, LATEST);
    let end = created_at.plus(PATIENCE);
    let soon = now.plus(pause);
    if now < end { soon.min(end) } else { soon }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BEGAN: Time = Time::from_millis(1_900_000_000_000);

    fn status() -> impl Strategy<Value = PaymentStatus> {
        proptest::sample::select(PaymentStatus::ALL)
    }

    fn order() -> impl Strategy<Value = Option<OrderState>> {
        proptest::option::of(proptest::sample::select(OrderState::ALL))
    }

    /// How final a status is.
    fn rank(status: PaymentStatus) -> u8 {
        match status {
            PaymentStatus::Pending => 0,
            PaymentStatus::Failed | PaymentStatus::Expired => 1,
            PaymentStatus::Completed => 2,
        }
    }

    proptest! {
        #[test]
        fn whatever_is_told_in_whatever_order_a_payment_never_goes_back(
            first in status(), told in proptest::collection::vec((order(), 0u64..900_000), 1..30),
        ) {
            let mut current = first;
            for (order, seconds) in told {
                let moved = next(current, order, BEGAN, BEGAN.plus(Duration::from_secs(seconds)));
                prop_assert!(moved == current || rank(moved) > rank(current), "{current:?} {order:?} {moved:?}");
                prop_assert!(moved != PaymentStatus::Completed || current == moved || order == Some(OrderState::Completed));
                current = moved;
            }
        }

        #[test]
        fn what_was_paid_is_completed_whenever_we_hear_of_it(status in status(), seconds in 0u64..10_000_000) {
            let now = BEGAN.plus(Duration::from_secs(seconds));
            prop_assert_eq!(next(status, Some(OrderState::Completed), BEGAN, now), PaymentStatus::Completed);
        }

        #[test]
        fn after_a_day_nothing_waits_and_after_a_week_nothing_is_asked_for(status in status(), order in order()) {
            prop_assert!(next(status, order, BEGAN, BEGAN.plus(PATIENCE)) != PaymentStatus::Pending);
            let end = BEGAN.plus(WATCHED);
            prop_assert!(!is_watched(next(status, order, BEGAN, end), order, BEGAN, end));
        }

        #[test]
        fn what_can_still_be_paid_is_watched(status in status(), seconds in 0u64..600_000) {
            let now = BEGAN.plus(Duration::from_secs(seconds));
            for open in [OrderState::Pending, OrderState::Processing] {
                let moved = next(status, Some(open), BEGAN, now);
                let settled = matches!(moved, PaymentStatus::Completed | PaymentStatus::Failed);
                prop_assert_eq!(is_watched(moved, Some(open), BEGAN, now), !settled);
            }
        }

        #[test]
        fn the_next_look_is_soon_and_never_skips_the_end(seconds in 0u64..100_000) {
            let now = BEGAN.plus(Duration::from_secs(seconds));
            let again = next_poll(BEGAN, now);
            prop_assert!(again > now && again <= now.plus(LATEST));
            prop_assert!(now >= BEGAN.plus(PATIENCE) || again <= BEGAN.plus(PATIENCE));
        }
    }

    #[test]
    fn walking_away_is_a_failure_and_staying_away_is_not() {
        let cancelled = |seconds| {
            let now = BEGAN.plus(Duration::from_secs(seconds));
            next(PaymentStatus::Pending, Some(OrderState::Cancelled), BEGAN, now)
        };
        assert_eq!(cancelled(60), PaymentStatus::Failed);
        assert_eq!(cancelled(PATIENCE.as_secs()), PaymentStatus::Expired);
    }
}
