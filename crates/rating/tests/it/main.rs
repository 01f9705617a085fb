//! The crate from outside, held against models so plain that they are right at a glance.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod decks;
mod diffs;
mod leaves;
mod prefixes;
mod prices;
mod routes;
mod samples;
mod sheets;
mod tariffs;
mod timelines;
