//! Keys, secrets, tokens and password hashes.
//!
//! Every key is derived from the master secret for one purpose ([`keys`]); [`secrets`] loads or generates the four
//! secrets of an installation, [`tokens`] signs and reads access tokens, [`passwords`] hashes with a bound on
//! concurrency.

pub mod keys;
pub mod passwords;
pub mod resealed;
pub mod secrets;
pub mod sip_digest;
pub mod switches;
pub mod tokens;
