//! Data-protection requests: everything that is stored about a customer as files (`export`), and its removal (`erase`).
//!
//! What the law or the books need stays: invoices and credit notes, the ledger, payments, VAT evidence, CDRs and the
//! audit log. The numbers in CDRs are anonymised when `TRUNKLINE_CALL_NUMBERS_DAYS` have passed, sessions, events and
//! webhook deliveries are purged by `retention`. A feature removes its own rows; [`erase`] calls them all.

mod erase;
mod export;
mod store;

pub use erase::{Erasure, erase};
pub use export::{Exported, export};
