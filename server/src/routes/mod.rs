//! Every endpoint, in the order of the API reference.
//!
//! The rows stand in a file for each area; an area whose rows are not neighbours has several functions. A row names its
//! path, its handler, its operation id and its summary, and must say what it does, who may call it and what it counts
//! against. The headings of the reference are in `tags`.

mod account;
mod admin_access;
mod admin_billing;
mod admin_customers;
mod admin_review;
mod admin_team;
mod admin_upstreams;
mod admin_voice;
mod billing;
mod links;
mod numbers;
mod onboarding;
mod session;
mod support;
mod tags;
mod trunks;
mod voice;

use api::endpoint::Endpoint;

pub fn table() -> Vec<Endpoint> {
    let areas = [
        session::rows(),
        onboarding::rows(),
        account::rows(),
        support::rows(),
        billing::rows(),
        trunks::rows(),
        numbers::rows(),
        voice::rows(),
        links::rows(),
        admin_access::bootstrap(),
        admin_customers::rows(),
        admin_team::support(),
        admin_team::members(),
        admin_review::rows(),
        admin_billing::balances(),
        admin_voice::live_calls(),
        admin_billing::dunning_and_fx(),
        admin_upstreams::upstreams(),
        admin_upstreams::inventory(),
        admin_upstreams::rates(),
        admin_voice::dashboards_and_cdrs(),
        admin_billing::payments_and_invoices(),
        admin_access::second_factor(),
    ];
    areas.into_iter().flatten().collect()
}
