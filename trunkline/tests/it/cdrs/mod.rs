//! CDRs as customers and the team read them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod archive;
mod exports;
mod lists;
mod pricing;
mod rollups;
