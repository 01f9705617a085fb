//! Payments of customers through the payment provider, and refunds of them.
//!
//! A payment is stored before the provider is called, and its id is the reference of the provider's order. So after a
//! crash the order can be found again, and repeating a request has no second effect. The provider decides the outcome:
//! a webhook or the poll job fetches the order (`apply`), the payment changes status by the table in `rules`, and the
//! money is posted to the ledger once.
//!
//! - `topups`: `/payments/topups`, paid at a checkout · `charge`: charges of a saved card, for auto-recharge
//! - `methods`: `/payments/methods`, the saved cards · `refunds`: `/admin/payments`
//! - `chargebacks`: payments that a card's bank disputes · `card_limit`: how often and how much one card pays

mod apply;
pub mod auto_recharge;
mod card_limit;
mod charge;
pub mod chargebacks;
mod methods;
mod refunds;
mod rules;
mod store;
mod topups;
mod types;

pub use apply::{CHARGED, Failures, POLL, apply_order, poll_job};
pub use card_limit::{RETURN, purge as purge_cards, return_job};
pub use charge::{ChargeOutcome, NewCharge, charge, claim_charge, find_charge, run_charge};
pub use methods::{
    create as create_method, delete as delete_method, erase as erase_cards, find as find_method, list as list_methods,
    save as save_card, update as update_method,
};
pub use refunds::{create as refund, list as list_payments, show as show_payment};
pub use rules::{CHECKOUT_TTL, PaymentStatus, next_poll};
pub use topups::{create as create_topup, list as list_topups, payer, show as show_topup};
pub use types::{Topup, check_return_url, return_url};
