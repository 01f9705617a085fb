//! Payments: what customers pay us through the payment provider, and what goes back to them.
//!
//! A payment is a row before the provider hears of it, and its id is the reference under which the provider knows it.
//! So whatever a crash leaves can be asked for, and asking twice costs nothing. What became of it is the provider's to
//! say: a callback tells us to look, and a job looks by itself now and then (`settle`). Either way the order is
//! fetched, the payment moves by the table in `rules`, and its money lands in the ledger once.
//!
//! - `topups`: `/payments/topups`, paid at a checkout · `charge`: a saved card, charged by auto-recharge
//! - `methods`: `/payments/methods`, the saved cards · `refunds`: what the team sees and sends back

mod charge;
mod methods;
mod refunds;
mod rules;
mod settle;
mod store;
mod topups;
mod types;

pub use charge::{Charged, NewCharge, charge, claim_charge, find_charge, run_charge};
pub use methods::{
    create as add_method, find as find_method, list as list_methods, remove as remove_method, save as save_card,
    update as update_method,
};
pub use refunds::{create as refund, list as list_payments};
pub use rules::{PATIENCE, PaymentStatus, next_poll};
pub use settle::{CHARGED, POLL, poll_job, settle};
pub use topups::{create as top_up, list as list_topups, payer, show as show_topup};
