//! The team's tools: customers, tickets, the beta queue, dashboards, housekeeping.

pub mod account_managers;
pub mod audit_log;
pub mod beta;
pub mod customers;
pub mod dashboards;
pub mod housekeeping;
pub mod notes;
pub mod notices;
pub mod orphans;
pub mod staff;
pub mod tickets;
