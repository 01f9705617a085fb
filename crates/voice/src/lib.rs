//! Calls and what they cost: upstreams, rate decks, rate plans, price notices, authorization, CDRs.

pub mod calls;
pub mod cdrs;
pub mod concurrency;
pub mod fraud_caps;
pub mod fx;
pub mod jobs;
pub mod price_notices;
pub mod rate_plans;
pub mod rates;
pub mod routes;
pub mod routing_policies;
pub mod upstreams;
