//! Invoices over the wire.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::document::{CONTENT_TYPE, Facts};
use super::rules::InvoiceStatus;
use super::store::{CreditNoteRow, InvoiceRow};
use platform::app::App;
use platform::outside::download::Download;
use platform::outside::files::ContentHash;
use values::{Date, ExactMoney, Rfc3339, Text, Time, id};

id! {
    /// Id of an invoice.
    pub struct InvoiceId;
}

/// How long a link to a document lives at least.
const LINK_LIVES: Duration = Duration::from_secs(15 * 60);

/// A document that can be fetched for a while.
pub struct Link {
    pub url: String,
    pub expires_at: Time,
}

impl Link {
    pub fn new(app: &App, facts: &Facts, hash: ContentHash, now: Time) -> Link {
        // To a full minute: who looks again soon is shown the same link, and so the same version.
        let expires_at = Time::from_seconds(now.plus(LINK_LIVES).seconds() / 60 * 60 + 60);
        let token = app.links.sign(&Download {
            hash,
            file_name: facts.file_name(),
            content_type: CONTENT_TYPE.to_owned(),
            expires_at,
        });
        Link { url: format!("{}/v1/files/{token}", app.public_url), expires_at }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Invoice {
    pub id: InvoiceId,
    /// Without gaps within a year.
    pub number: String,
    pub status: InvoiceStatus,
    pub issue_date: Date,
    /// The last day of the month it is for.
    pub supply_date: Date,
    pub due_date: Date,
    /// What was used in the month, to the last fraction; it was taken from the balance as it was used.
    pub subtotal: ExactMoney,
    /// Taken from the balance at the issue.
    pub vat: ExactMoney,
    pub total: ExactMoney,
    /// When the balance had covered it.
    pub paid_at: Option<Rfc3339>,
    /// A signed link to the document, for a quarter of an hour; null for the moment before it is made.
    #[schemars(url)]
    pub pdf_url: Option<String>,
    /// What took it back, if anything did.
    pub credit_note: Option<CreditNote>,
}

#[derive(Serialize, JsonSchema)]
pub struct CreditNote {
    pub number: String,
    pub issue_date: Date,
    #[schemars(url)]
    pub pdf_url: Option<String>,
}

impl CreditNote {
    fn new(app: &App, row: CreditNoteRow, now: Time) -> CreditNote {
        let link = row.content_hash.map(|hash| Link::new(app, &row.facts, hash, now).url);
        CreditNote { number: row.number, issue_date: row.issue_date, pdf_url: link }
    }
}

impl Invoice {
    pub fn new(app: &App, row: InvoiceRow, note: Option<CreditNoteRow>, now: Time) -> Invoice {
        let link = row.content_hash.map(|hash| Link::new(app, &row.facts, hash, now).url);
        Invoice {
            id: row.id,
            status: row.status,
            issue_date: row.issue_date,
            supply_date: row.supply_date,
            due_date: row.due_date,
            subtotal: row.money(row.subtotal).into(),
            vat: row.money(row.vat).into(),
            total: row.total().into(),
            paid_at: row.paid_at.map(Rfc3339),
            pdf_url: link,
            credit_note: note.map(|note| CreditNote::new(app, note, now)),
            number: row.number,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct AdminInvoice {
    #[serde(flatten)]
    pub invoice: Invoice,
    pub customer_id: Uuid,
    /// Why it was voided or credited.
    pub reason: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct InvoicePdf {
    #[schemars(url)]
    pub pdf_url: String,
    pub expires_at: Rfc3339,
}

/// Why an invoice is taken back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvoiceAction {
    /// Kept with the invoice; a credit note shows it, and so does the document of a void invoice.
    pub reason: Text<1, 300>,
}
