//! Trunkline: a wholesale voice platform in one binary.

pub mod cli;
pub mod demo;
pub mod ops;
pub mod pages;
pub mod routes;
pub mod serve;
pub mod work;
