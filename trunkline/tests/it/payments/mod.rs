//! Payments: top-ups, saved cards, charges, refunds, and recovery after a crash.

mod charges;
mod killed;
mod methods;
mod recharges;
mod refunds;
mod revolut;
mod topups;
mod webhooks;
