//! Customer billing: payments, saved cards, auto-recharge, low-balance alerts, VAT, invoices and dunning.

pub mod card_check;
pub mod checkouts;
pub mod dunning;
pub mod invoices;
pub mod jobs;
pub mod low_balance;
pub mod payments;
pub mod routes;
pub mod sandbox;
pub mod vat;
pub mod webhooks;
