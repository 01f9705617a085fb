//! The nouns of the API, one folder or file each.

pub mod accounts;
pub mod balance;
pub mod beta;
pub mod bootstrap;
pub mod cards;
pub mod compliance;
pub mod downloads;
pub mod dunning;
pub mod fx;
pub mod housekeeping;
pub mod invoices;
pub mod kyb;
pub mod letters;
pub mod notifications;
pub mod onboarding;
pub mod orphans;
pub mod payments;
pub mod recharge;
pub mod sandbox;
pub mod sessions;
pub mod trunks;
pub mod two_factor;
pub mod users;
pub mod vat;
pub mod watch;
pub mod webhooks;
