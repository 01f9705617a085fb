//! The data of authorization decisions, cached in memory on each node: where calls come from, where they go, their
//! price.
//!
//! Each cache is loaded whole and replaced when its version in the database changes ([`cache`]). [`allow_lists`] maps
//! source addresses to trunks, [`upstreams`] has gateways, signalling IPs and health, [`tariff`] the rates in force,
//! [`plans`] the rate plans of customers, [`policies`] how routes are ordered. [`quality`] counts how the calls of each
//! route went.
//! [`reserved`] tells which addresses no customer may use.

pub mod allow_lists;
pub mod cache;
pub mod plans;
pub mod policies;
pub mod quality;
pub mod reserved;
pub mod tariff;
pub mod upstreams;
