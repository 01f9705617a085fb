//! What holds for every row of the table, proven for every row of the table.
//!
//! The tests walk `routes::table()`, so a new endpoint is covered the moment it stands there; `examples` is the one
//! place where it has to say how it is called.

mod access;
mod billing;
mod callers;
mod cdrs;
mod conditions;
mod document;
pub mod examples;
mod money;
mod numbers;
mod onboarding;
mod payments;
mod rates;
mod recorded;
pub mod team;
mod voice;
mod wording;

use api::endpoint::Endpoint;

/// The row's path with something in place of its values that names nothing.
fn unfounded(endpoint: &Endpoint, value: &str) -> String {
    let parts = endpoint.path.split('/').map(|part| if part.starts_with('{') { value } else { part });
    parts.collect::<Vec<_>>().join("/")
}

fn name(endpoint: &Endpoint) -> String {
    format!("{} {}", endpoint.method, endpoint.path)
}
