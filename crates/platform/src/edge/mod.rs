//! The edge agent: keeps the files of a Kamailio in sync with the service.
//!
//! Kamailio reads gateways and allowed addresses from files. Every few seconds the agent fetches `GET /switch/config`,
//! writes the files that changed, and makes Kamailio reload them. While the service is down the files stay as they are.
//!
//! - `config`: the configuration · `files`: the files' format · `sync`: the agent · `client`: how it reaches the service

mod client;
mod config;
mod files;
mod sync;

pub use client::http_client;
pub use config::{AddressOwner, Config, Gateway, Source};
pub use files::{ADDRESSES, DISPATCHER, address_list, dispatcher_list};
pub use sync::{Edge, EdgeError, POLL_INTERVAL};
