//! What lies beyond the service: letters to people, the files they hand in or take away, and what they pay with.
//!
//! `mail` delivers a letter, to a folder by default and over SMTP in earnest. `files` keeps what was uploaded or
//! produced under the hash of its content, and `sniff` tells by its bytes what it is. `download` signs the links under
//! which a file may be fetched for a while. `payments` speaks to whoever handles cards, `carriers` to whoever numbers
//! come from, `fx` to whoever publishes exchange rates, and `vies` to whoever knows VAT ids. No call here stands inside
//! a transaction: a caller claims and commits first, calls the outside, and records the outcome.

pub mod did_supplier;
pub mod download;
pub mod durable;
pub mod fetch;
pub mod files;
pub mod fx;
pub mod mail;
pub mod payments;
pub mod sniff;
pub mod vies;
