//! CDRs as customers and the team read them.

mod exports;
mod lists;
mod pricing;
mod rollups;
