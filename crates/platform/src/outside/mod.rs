//! Clients of other services, and files.
//!
//! Never call these inside a transaction: claim the work and commit, make the call, then record the outcome in another
//! transaction.
//!
//! - `payments`: the payment provider · `did_supplier`: activates numbers · `vies`: checks VAT ids · `fx`: publishes
//!   exchange rates
//! - `mailbox`: mail that others send · `clamd`: scans uploads
//! - `fetch`: downloads from URLs that users enter · `hosts`: resolves the hosts of SIP URIs
//! - `files`: stores content under its hash, in a folder or an S3 bucket · `sniff`: detects the type of an upload from
//!   its bytes · `download`: signs temporary download links · `durable`: writes files atomically

pub mod clamd;
pub mod did_supplier;
pub mod download;
pub mod fetch;
pub mod files;
pub mod fx;
pub mod hosts;
pub mod mailbox;
pub mod payments;
pub mod sniff;
pub mod vies;
