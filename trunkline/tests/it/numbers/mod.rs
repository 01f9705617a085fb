//! Numbers: inventory, orders, provisioning and renewals.

mod concurrency;
mod documents;
mod inventory;
mod killed;
mod orders;
mod provisioning;
mod renewals;
