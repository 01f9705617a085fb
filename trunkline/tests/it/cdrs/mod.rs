//! What customers and the team see of calls that are over.

mod exports;
mod lists;
mod proof;
mod sums;
