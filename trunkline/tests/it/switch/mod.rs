//! The API for switches: authorization, events and CDR import.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alerts;
mod authorize;
mod cdr_import;
mod events;
mod inbound_targets;
mod late_events;
mod live_calls;
mod origination;
mod prices;
mod races;
mod route_quality;
mod simulate;
mod suspense;
mod upstream_sources;
