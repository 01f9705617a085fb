//! The team's tools: customers, tickets, the beta queue, dashboards; events and webhooks; and the service's own upkeep.
//!
//! `retention` purges old rows, `orphaned_files` deletes unreferenced files, `maintenance` has the other upkeep jobs.

pub mod account_managers;
pub mod audit_log;
pub mod beta;
pub mod customers;
pub mod dashboards;
pub mod demo_data;
pub mod disputes;
pub mod events;
pub mod inbox;
pub mod jobs;
pub mod maintenance;
pub mod master_secret;
pub mod notes;
pub mod notices;
pub mod orphaned_files;
pub mod personal_data;
pub mod retention;
pub mod routes;
pub mod search;
pub mod service;
pub mod staff;
pub mod tickets;
pub mod webhook_endpoints;
