//! Payments: top-ups, saved cards, charges, refunds, chargebacks, and recovery after a crash.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod card_limits;
mod chargebacks;
mod charges;
mod killed;
mod methods;
mod recharges;
mod refunds;
mod revolut;
mod topups;
mod webhooks;
