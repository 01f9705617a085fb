//! What handlers and jobs build on: the ledger, jobs, routing, mail, files, settings and external services. See
//! [`app`].

pub mod app;
pub mod audit;
pub mod backup;
pub mod config;
pub mod crypto;
pub mod disk;
pub mod durable;
pub mod edge;
pub mod event_feed;
pub mod grouping;
pub mod http_error;
pub mod jobs;
pub mod ledger;
pub mod limits;
pub mod mail;
pub mod outside;
pub mod presence;
pub mod recent_writes;
pub mod request_stats;
pub mod routing;
pub mod traces;
