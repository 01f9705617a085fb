//! Invoices: each customer's month, summed up, with its VAT.
//!
//! What a customer uses is taken from its balance as it is used. When a month is over, `jobs` has every customer that
//! used something invoiced, however late: `issue` gathers the `lines` from the ledger, adds the VAT that `vat` decides,
//! posts it, and numbers the invoice without gaps. It is paid if the balance covers it, else once payments have. `rules`
//! holds the states. The team may void an unpaid invoice or credit any (`review`). The `document` follows from what was
//! put down at the issue.
//!
//! - `customer`: `/invoices` · `review`: `/admin/invoices`

mod customer;
mod document;
mod issue;
mod jobs;
mod lines;
mod month;
mod review;
mod rules;
mod store;
mod types;

pub use customer::{list, pdf, show};
pub use issue::{Order, issue};
pub use jobs::{CLOSE_MONTHS, DOCUMENT, ISSUE, SETTLE, close_months_job, document_job, issue_job, settle_job};
pub use month::Month;
pub use review::{credit, list_all, void};
pub use store::names_file;
pub use types::InvoiceId;

use crate::http::problem::Problem;

fn refused(refusal: rules::Refusal) -> Problem {
    Problem::state_conflict(refusal.to_string())
}
