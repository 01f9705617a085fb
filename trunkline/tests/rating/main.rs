//! Tests the public API against naive models that are obviously correct.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod back_dated;
mod csv;
mod decks;
mod diffs;
mod imports;
mod leaves;
mod notices;
mod plans;
mod prefixes;
mod prices;
mod quality;
mod routes;
mod samples;
mod sheets;
mod statements;
mod tariffs;
