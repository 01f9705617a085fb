//! Trunkline: a wholesale voice platform in one binary.

pub mod addresses;
pub mod app;
pub mod audit;
pub mod cli;
pub mod clock;
pub mod config;
pub mod db;
pub mod entropy;
pub mod features;
pub mod http;
pub mod jobs;
pub mod keys;
pub mod ledger;
pub mod limits;
pub mod metrics;
pub mod ops;
pub mod outside;
pub mod pages;
pub mod passwords;
pub mod routes;
pub mod secrets;
pub mod serve;
pub mod snapshot;
pub mod tokens;
pub mod values;
pub mod work;
