//! Invoices: each customer's month, summed up, with its VAT.
//!
//! What a customer uses is taken from its balance as it is used. When a month is over, `jobs` has every customer that
//! used something invoiced, however late: `issue` gathers the `lines` from the ledger, adds the VAT that `vat` decides,
//! posts it, and numbers the invoice without gaps. It is paid if the balance covers it, else once payments have. `rules`
//! holds the states. The team may void an unpaid invoice or credit any (`review`). The `document` follows from what was
//! put down at the issue. `refunds` sees to what comes back of a month that was invoiced.
//!
//! - `customer`: `/invoices` · `review`: `/admin/invoices`

mod customer;
mod document;
mod issue;
mod jobs;
mod lines;
mod month;
mod refunds;
mod review;
mod rules;
mod store;
mod types;

pub use customer::{list, pdf, show};
pub use issue::{Order, issue};
pub use jobs::{CLOSE_MONTHS, DOCUMENT, ISSUE, SETTLE, close_months_job, document_job, issue_job, settle_job};
pub use month::Month;
pub use refunds::was_credited;
pub use review::{credit, list_all, void};
pub use store::names_file;
pub use types::InvoiceId;

use crate::dunning::{self, Reason};
use api::problem::Problem;
use db::{Conn, DbError};
use platform::ledger;
use store::InvoiceRow;
use values::Time;

/// Has the team speak to the customer for as long as an invoice of it is unpaid. To be called whenever one has moved.
async fn remind(conn: &mut Conn, moved: &InvoiceRow, now: Time) -> Result<(), DbError> {
    // Invoices of a customer that move at the same time take turns here, and so see each other.
    ledger::lock_balance(conn, moved.account_id, moved.currency).await?;
    if store::has_unpaid(conn, moved.account_id).await? {
        dunning::raise(conn, moved.account_id, Reason::UnpaidInvoice, now).await
    } else {
        dunning::settle(conn, moved.account_id, Reason::UnpaidInvoice).await
    }
}

fn refused(refusal: rules::Refusal) -> Problem {
    Problem::state_conflict(refusal.to_string())
}
