//! Payments: topping up, saved cards, charges, refunds, and what is left of them after a crash.

mod callbacks;
mod charges;
mod killed;
mod methods;
mod recharges;
mod refunds;
mod revolut;
mod topups;
