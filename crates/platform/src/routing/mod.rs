//! What every call decision needs, kept in memory on each node: where calls come from, where they go and what they cost.
//!
//! Each part is loaded whole and swapped when its version in the database rises ([`cache`]). [`allow_lists`] maps source
//! addresses to trunks and upstreams, [`upstreams`] has gateways and their health, [`tariff`] the rates in force.

pub mod allow_lists;
pub mod cache;
pub mod tariff;
pub mod upstreams;
