//! The edge: switches that carry calls by what the service decides.
//!
//! A switch finds gateways and addresses in files of its own. They are rendered from what the service knows, and `sync`
//! keeps them in step: it asks for the configuration every few seconds, writes what differs, and has the switch read it
//! again. When the service is away the files stay as they are.

mod config;
mod files;
mod sync;

pub use config::{Config, Gateway, Source, Whose};
pub use files::{ADDRESSES, DISPATCHER, address_list, dispatcher_list};
pub use sync::{Edge, EdgeError, POLL};
