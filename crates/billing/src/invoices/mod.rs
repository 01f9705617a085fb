//! Invoices: a customer's usage of a month, with VAT.
//!
//! Usage is charged to the balance as it happens. After the end of a month, `jobs` enqueues an invoice for every
//! customer with usage, including months missed earlier: `issue` takes the `lines` from the ledger, adds and posts the
//! VAT that `vat` decides, and numbers the invoice without gaps. It is paid at once if the balance covers it, else when
//! payments do. `rules` has the status changes. The team may void an unpaid invoice or credit any. `document` renders
//! the PDF from data stored at issue. `refunds` handles number orders that fail after their month was invoiced.
//!
//! - `customer`: `/invoices` · `admin`: `/admin/invoices`

mod admin;
mod customer;
mod document;
mod issue;
mod jobs;
mod lines;
mod month;
mod refunds;
mod rules;
mod store;
mod types;

pub use admin::{admin_show, credit, list_all, void};
pub use customer::{list, pdf, show};
pub use issue::{IssueRequest, has_uninvoiced_usage, issue};
pub use jobs::{CLOSE_MONTHS, DOCUMENT, ISSUE, MARK_PAID, close_months_job, document_job, issue_job, mark_paid_job};
pub use month::Month;
pub use refunds::was_credited;
pub use store::names_file;
pub use types::{Invoice, InvoiceId};

use crate::dunning::{self, Reason};
use api::problem::Problem;
use db::{Conn, DbError};
use platform::ledger;
use store::InvoiceRow;

/// Keeps the customer in dunning while an invoice is unpaid. Called after every status change of an invoice.
async fn update_dunning(conn: &mut Conn, moved: &InvoiceRow) -> Result<(), DbError> {
    // This lock makes concurrent changes to invoices of one customer run one after the other.
    ledger::lock_balance(conn, moved.account_id, moved.currency).await?;
    if store::has_unpaid(conn, moved.account_id).await? {
        dunning::raise(conn, moved.account_id, Reason::UnpaidInvoice).await
    } else {
        dunning::clear(conn, moved.account_id, Reason::UnpaidInvoice).await
    }
}

fn transition_problem(error: rules::InvalidTransition) -> Problem {
    Problem::state_conflict(error.to_string())
}
