//! Numbers: the stock, orders from it, and the months that follow.

mod documents;
mod killed;
mod orders;
mod provisioning;
mod renewals;
mod rush;
mod stock;
