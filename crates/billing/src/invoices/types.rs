//! Request and response types of invoices.

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
use values::{Date, ExactMoney, Money, Rfc3339, Text, Time, id};

id! {
    /// Id of an invoice.
    pub struct InvoiceId;
}

/// Minimum lifetime of a download link.
const LINK_TTL: Duration = Duration::from_secs(15 * 60);

/// A signed download link.
pub struct Link {
    pub url: String,
    pub expires_at: Time,
}

impl Link {
    pub fn new(app: &App, facts: &Facts, hash: ContentHash, now: Time) -> Link {
        // Rounded to a minute, so that reading an invoice again soon gives the same link and the same ETag.
        let expires_at = Time::from_seconds(now.plus(LINK_TTL).seconds() / 60 * 60 + 60);
        let token = app.links.sign(&Download {
            hash,
            file_name: facts.file_name(),
            content_type: CONTENT_TYPE.to_owned(),
            expires_at,
        });
        Link { url: format!("{}/v1/files/{token}", app.public_url), expires_at }
    }
}

/// The invoice of one month.
#[derive(Serialize, JsonSchema)]
pub struct Invoice {
    /// Id of the invoice.
    pub id: InvoiceId,
    /// Invoice number, such as `2026-000001`; numbers have no gaps within a year.
    pub number: String,
    /// Status of the invoice.
    pub status: InvoiceStatus,
    /// Day of issue (UTC).
    pub issue_date: Date,
    /// Last day of the invoiced month (UTC).
    pub supply_date: Date,
    /// Day by which the invoice must be paid.
    pub due_date: Date,
    /// Exact charges of the month without VAT; they were taken from the balance as they arose.
    pub subtotal: ExactMoney,
    /// VAT on the subtotal; it was taken from the balance at issue.
    pub vat: ExactMoney,
    /// Subtotal plus VAT.
    pub total: ExactMoney,
    /// What the subtotal consists of: one line for each destination, and for rentals, refunds and corrections.
    pub lines: Vec<InvoiceLine>,
    /// When the balance or later payments had covered the invoice (RFC 3339, UTC); null until then.
    pub paid_at: Option<Rfc3339>,
    /// Signed URL of the PDF, valid for at least 15 minutes; null until the PDF is rendered.
    #[schemars(url)]
    pub pdf_url: Option<String>,
    /// Credit note that cancels the invoice; null if there is none.
    pub credit_note: Option<CreditNote>,
}

/// A line of an invoice.
#[derive(Serialize, JsonSchema)]
pub struct InvoiceLine {
    /// What is invoiced, such as the calls to a destination with their number and minutes.
    pub description: String,
    /// Amount without VAT, as on the PDF: lines are rounded so that they add up to the rounded subtotal.
    pub net: Money,
}

impl InvoiceLine {
    fn all(facts: &Facts) -> Vec<InvoiceLine> {
        let lines = facts.lines.iter();
        // A stated amount was made from money of this currency, so it fits.
        let net = |minor| Money::from_minor(minor, facts.currency).unwrap_or(Money::zero(facts.currency));
        lines.map(|line| InvoiceLine { description: line.description.clone(), net: net(line.net) }).collect()
    }
}

/// A credit note, which cancels an invoice in full.
#[derive(Serialize, JsonSchema)]
pub struct CreditNote {
    /// Credit note number, such as `CN-2026-000001`.
    pub number: String,
    /// Day of issue (UTC).
    pub issue_date: Date,
    /// Signed URL of the PDF, valid for at least 15 minutes; null until the PDF is rendered.
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
            lines: InvoiceLine::all(&row.facts),
            paid_at: row.paid_at.map(Rfc3339),
            pdf_url: link,
            credit_note: note.map(|note| CreditNote::new(app, note, now)),
            number: row.number,
        }
    }
}

/// An invoice as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminInvoice {
    #[serde(flatten)]
    pub invoice: Invoice,
    /// Account that the invoice was issued to.
    pub customer_id: Uuid,
    /// Name of the customer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_name: Option<String>,
    /// Why the invoice was voided or credited; null if it was not.
    pub reason: Option<String>,
}

/// A download link to the PDF of an invoice.
#[derive(Serialize, JsonSchema)]
pub struct InvoicePdf {
    /// Signed URL of the PDF; it needs no token.
    #[schemars(url)]
    pub pdf_url: String,
    /// When the URL expires (RFC 3339, UTC).
    pub expires_at: Rfc3339,
}

/// The reason for voiding or crediting an invoice.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvoiceAction {
    /// Why the invoice is voided or credited; printed on the credit note or on the void invoice.
    pub reason: Text<1, 300>,
}
