//! Numbers: inventory, orders, provisioning and renewals.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod concurrency;
mod documents;
mod inventory;
mod killed;
mod orders;
mod provisioning;
mod renewals;
