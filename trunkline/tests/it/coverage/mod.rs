//! Rules that hold for every endpoint, tested on every endpoint.
//!
//! The tests walk `routes::table()`, so a new endpoint is covered as soon as it is in the table. It only needs an
//! example of how it is called, in `examples`.

mod access;
mod account_roles;
mod account_users;
mod api_keys;
mod billing;
mod callers;
mod cdrs;
mod compatibility;
mod conditions;
mod customer_ids;
pub mod document;
pub mod events;
pub mod examples;
mod faults;
mod filters;
mod money;
mod numbers;
mod onboarding;
mod payments;
mod properties;
mod rates;
mod recent_sign_in;
mod recorded;
mod request_samples;
pub mod team;
mod voice;
mod wording;

use api::endpoint::Endpoint;

/// The endpoint's path with this value for every path parameter.
fn unfounded(endpoint: &Endpoint, value: &str) -> String {
    let parts = endpoint.path.split('/').map(|part| if part.starts_with('{') { value } else { part });
    parts.collect::<Vec<_>>().join("/")
}

fn name(endpoint: &Endpoint) -> String {
    format!("{} {}", endpoint.method, endpoint.path)
}
