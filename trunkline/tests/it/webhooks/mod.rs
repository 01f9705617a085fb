//! Webhook endpoints and what they receive.

mod calls;
mod delivery;
mod endpoints;
mod failures;
mod killed;

/// Receivers of tests are on this machine.
pub const LAB: [(&str, &str); 2] = [("TRUNKLINE_ALLOW_PRIVATE_IPS", "on"), ("TRUNKLINE_RATE_LIMITS", "off")];
