//! Money of customers: payments, VAT, invoices, auto-recharge, dunning.

pub mod card_check;
pub mod dunning;
pub mod invoices;
pub mod low_balance;
pub mod payments;
pub mod recharge;
pub mod sandbox;
pub mod vat;
pub mod webhooks;
