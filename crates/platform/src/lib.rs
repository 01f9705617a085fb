//! What a handler or a job may reach: money, jobs, routing, mail, files and everything outside.

pub mod app;
pub mod audit;
pub mod clock;
pub mod config;
pub mod crypto;
pub mod edge;
pub mod entropy;
pub mod jobs;
pub mod ledger;
pub mod letters;
pub mod limits;
pub mod outside;
pub mod routing;
pub mod traces;
pub mod traffic;
