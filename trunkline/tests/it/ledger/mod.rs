//! The ledger API on both databases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod faults;
mod holds;
mod killed;
mod posting;
mod properties;
mod races;
