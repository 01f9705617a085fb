//! Call disputes: a customer objects to the charge of a call, and the team credits it or rejects the dispute.
//!
//! A dispute opens a ticket that carries the CDR, for the conversation. A call is disputed once. A credit is at most
//! what the call was charged, is posted to the ledger once, and is a line of the invoice of the month in which it was
//! posted, with the VAT that the call was charged with (`billing::invoices`).
//!
//! - `customer`: `/cdrs/{id}/dispute`, `/disputes` · `admin`: `/admin/disputes`

mod admin;
mod customer;
mod store;
mod types;

pub use admin::{admin_show, list_all, resolve};
pub use customer::{create, list, show};
pub use store::erase;
