//! The status changes of a payment, and how often to poll the provider for it.
//!
//! A payment is pending, then failed or expired, and may still become completed after that: money that arrives late
//! counts. It never changes in the other direction.

use std::time::Duration;

use platform::outside::payments::OrderState;
use values::{Time, text_enum};

text_enum! {
    /// Status of a payment; `expired` means that nobody paid within a day, and late money still completes it.
    pub enum PaymentStatus {
        Pending = "pending",
        Completed = "completed",
        Failed = "failed",
        Expired = "expired",
    }
}

text_enum! {
    /// Status of a payment; `refunded` means in full, `failed` that it was declined, cancelled or expired.
    pub enum AdminPaymentStatus {
        Pending = "pending",
        Completed = "completed",
        /// Refunded in full.
        Refunded = "refunded",
        /// Declined, cancelled or expired.
        Failed = "failed",
    }
}

text_enum! {
    /// What the provider is asked to do.
    pub enum Purpose {
        /// The customer pays at a checkout.
        Topup = "topup",
        /// A saved card is charged without its holder.
        Recharge = "recharge",
        /// A card is entered at a checkout and saved; nothing is charged.
        Card = "card",
    }
}

/// Open checkouts per account. Limited because each of them is polled.
pub const MAX_OPEN_CHECKOUTS: i64 = 50;

/// What the limits of top-ups are counted in.
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a checkout stays open.
pub const CHECKOUT_TTL: Duration = Duration::from_secs(24 * 3600);

/// How long after its start an expired payment is polled for late money.
const LATE_PAYMENT_WINDOW: Duration = Duration::from_secs(7 * 24 * 3600);

const MIN_POLL_INTERVAL: Duration = Duration::from_secs(60);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// Whether the checkout of a payment has been open for as long as it may.
pub fn is_expired(created_at: Time, now: Time) -> bool {
    now.since(created_at) >= CHECKOUT_TTL
}

/// The status that follows from the provider's order; none if the provider has no order for this payment.
pub fn next_status(status: PaymentStatus, order: Option<OrderState>, created_at: Time, now: Time) -> PaymentStatus {
    let late = is_expired(created_at, now);
    match (status, order) {
        (_, Some(OrderState::Completed)) => PaymentStatus::Completed,
        (PaymentStatus::Pending, Some(OrderState::Failed)) => PaymentStatus::Failed,
        (PaymentStatus::Pending, Some(OrderState::Cancelled)) if !late => PaymentStatus::Failed,
        (PaymentStatus::Pending, _) if late => PaymentStatus::Expired,
        (status, _) => status,
    }
}

/// Whether the order may still change.
pub fn needs_polling(status: PaymentStatus, order: Option<OrderState>, created_at: Time, now: Time) -> bool {
    match status {
        PaymentStatus::Pending => true,
        PaymentStatus::Completed | PaymentStatus::Failed => false,
        PaymentStatus::Expired => {
            !order.is_some_and(OrderState::is_final) && now.since(created_at) < LATE_PAYMENT_WINDOW
        }
    }
}

/// When to poll next: often at first, then less often, and exactly when the checkout expires.
pub fn next_poll(created_at: Time, now: Time) -> Time {
    let pause = (now.since(created_at) / 4).clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL);
    let end = created_at.plus(CHECKOUT_TTL);
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
        fn a_payment_never_returns_to_an_earlier_status(
            first in status(), reports in proptest::collection::vec((order(), 0u64..900_000), 1..30),
        ) {
            let mut current = first;
            for (order, seconds) in reports {
                let moved = next_status(current, order, BEGAN, BEGAN.plus(Duration::from_secs(seconds)));
                prop_assert!(moved == current || rank(moved) > rank(current), "{current:?} {order:?} {moved:?}");
                let is_paid = order == Some(OrderState::Completed);
                prop_assert!(moved != PaymentStatus::Completed || current == moved || is_paid);
                current = moved;
            }
        }

        #[test]
        fn a_paid_order_completes_the_payment_at_any_time(status in status(), seconds in 0u64..10_000_000) {
            let now = BEGAN.plus(Duration::from_secs(seconds));
            prop_assert_eq!(next_status(status, Some(OrderState::Completed), BEGAN, now), PaymentStatus::Completed);
        }

        #[test]
        fn payments_expire_after_a_day_and_are_not_polled_after_a_week(status in status(), order in order()) {
            prop_assert!(next_status(status, order, BEGAN, BEGAN.plus(CHECKOUT_TTL)) != PaymentStatus::Pending);
            let end = BEGAN.plus(LATE_PAYMENT_WINDOW);
            prop_assert!(!needs_polling(next_status(status, order, BEGAN, end), order, BEGAN, end));
        }

        #[test]
        fn an_order_that_can_still_be_paid_is_polled(status in status(), seconds in 0u64..600_000) {
            let now = BEGAN.plus(Duration::from_secs(seconds));
            for open in [OrderState::Pending, OrderState::Processing] {
                let moved = next_status(status, Some(open), BEGAN, now);
                let settled = matches!(moved, PaymentStatus::Completed | PaymentStatus::Failed);
                prop_assert_eq!(needs_polling(moved, Some(open), BEGAN, now), !settled);
            }
        }

        #[test]
        fn the_next_poll_is_soon_and_never_skips_the_expiry(seconds in 0u64..100_000) {
            let now = BEGAN.plus(Duration::from_secs(seconds));
            let again = next_poll(BEGAN, now);
            prop_assert!(again > now && again <= now.plus(MAX_POLL_INTERVAL));
            prop_assert!(now >= BEGAN.plus(CHECKOUT_TTL) || again <= BEGAN.plus(CHECKOUT_TTL));
        }
    }

    #[test]
    fn a_cancelled_checkout_fails_and_an_ignored_one_expires() {
        let cancelled = |seconds| {
            let now = BEGAN.plus(Duration::from_secs(seconds));
            next_status(PaymentStatus::Pending, Some(OrderState::Cancelled), BEGAN, now)
        };
        assert_eq!(cancelled(60), PaymentStatus::Failed);
        assert_eq!(cancelled(CHECKOUT_TTL.as_secs()), PaymentStatus::Expired);
    }
}
