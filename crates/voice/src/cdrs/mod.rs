//! What customers and the team see of calls that are over.
//!
//! Calls are kept, counted and charged by [`calls`](super::calls), the only writer of their tables; here they are only
//! read. Nothing here costs more because there are more calls: lists go along indexes and look at a bounded number of
//! rows, sums are those that were kept as the calls ended, and a file of any length is made page by page.
//!
//! - `lists`: `/cdrs`, `/admin/cdrs` · `search`: which calls, by which way · `proof`: why a call cost what it cost
//! - `sums`: `/cdrs/summary`, `/asr-acd`, `/capacity`, `/quotas`, and what an invoice says of calls
//! - `exports`: `/cdrs/exports`, records as a file

mod exports;
mod lists;
mod proof;
mod search;
mod store;
mod sums;
mod types;

pub use exports::{
    EXPIRE, EXPORT, create as create_export, expire_job, export_job, forget as forget_exports, list as list_exports,
    names_file, show as show_export,
};
pub use lists::{list, list_all, show, show_to_team};
pub use sums::{Charge, asr_acd, capacity, charges, quotas, summary};
