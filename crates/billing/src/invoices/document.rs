//! The document of an invoice or credit note: its content, and the PDF made from it.
//!
//! The content is fixed at issue and stored with the row; only the void mark is added later. The bytes of the PDF
//! depend on the content alone, so rendering it again gives the same file. `facturx` renders it.

mod facturx;

use bytes::Bytes;
use futures_util::stream;
use serde::{Deserialize, Serialize};

use super::lines::{self, Line};
use super::month::Month;
use crate::vat::{Category, Decision, Rate};
use api::problem::Problem;
use identity::accounts::{Address, TaxStanding};
use platform::config::{Seller, TaxSettings};
use platform::outside::files::{ContentHash, Files};
use values::{Currency, Date, Invalid, Money, MoneyError, Stored};

/// Far above the size of any invoice.
const MAX_PDF_BYTES: u64 = 16 * 1024 * 1024;

pub const CONTENT_TYPE: &str = "application/pdf";

/// The content of a document. Amounts are in minor units.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Facts {
    pub number: String,
    /// The invoice that a credit note cancels.
    pub credits: Option<Credited>,
    pub issue_date: Date,
    pub due_date: Date,
    pub supply_first: Date,
    pub supply_last: Date,
    pub currency: Currency,
    pub seller: Party,
    pub buyer: Party,
    pub lines: Vec<FactLine>,
    pub category: Category,
    pub rate: Rate,
    pub net: i64,
    pub vat: i64,
    /// The part of the total that the balance covered at issue.
    pub paid: i64,
    pub note: Option<String>,
    #[serde(default)]
    pub is_void: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Credited {
    pub number: String,
    pub issue_date: Date,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Party {
    pub name: String,
    pub street: Vec<String>,
    pub postal_code: String,
    pub city: String,
    pub country: String,
    /// None where the document must not name it.
    pub vat_id: Option<String>,
    pub registration: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FactLine {
    pub description: String,
    pub net: i64,
    /// VAT of this line, if it is not that of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vat: Option<Decision>,
}

impl FactLine {
    fn new(line: &Line, net: i64) -> FactLine {
        FactLine { description: line.description.clone(), net, vat: line.vat }
    }
}

impl Stored for Facts {
    type Raw = String;

    fn to_raw(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn from_raw(raw: String) -> Result<Self, Invalid> {
        serde_json::from_str(&raw).map_err(|error| Invalid(error.to_string().into()))
    }
}

/// The data that an invoice is made from.
pub struct Draft<'d> {
    pub tax: &'d TaxSettings,
    pub buyer: &'d TaxStanding,
    pub month: Month,
    pub lines: &'d [Line],
    pub decision: Decision,
    pub net: Money,
    pub vat: Money,
}

impl Facts {
    /// The amount `lacking` on the balance is due, up to the total of this invoice; the rest was prepaid.
    pub fn for_invoice(
        draft: &Draft<'_>,
        number: String,
        dates: (Date, Date),
        lacking: Money,
    ) -> Result<Facts, MoneyError> {
        let amounts = lines::rounded_amounts(draft.lines, draft.net)?;
        let lines = draft.lines.iter().zip(amounts);
        let (net, vat) = (draft.net.minor(), draft.vat.minor());
        let total = net.saturating_add(vat);
        let due = lacking.rounded_up().minor().min(total.max(0));
        // A document that is entirely outside the scope of VAT names no VAT ids.
        let mut decisions = draft.lines.iter().filter_map(|line| line.vat).chain([draft.decision]);
        let names_ids = decisions.any(|decision| decision.category != Category::OutsideScope);
        Ok(Facts {
            number,
            credits: None,
            issue_date: dates.0,
            due_date: dates.1,
            supply_first: Date::from(draft.month.start()),
            supply_last: draft.month.last_day(),
            currency: draft.net.currency(),
            seller: seller(&draft.tax.seller, draft.tax.home.code(), names_ids),
            buyer: buyer(draft.buyer, names_ids),
            lines: lines.map(|(line, net)| FactLine::new(line, net)).collect(),
            category: draft.decision.category,
            rate: draft.decision.rate,
            net,
            vat,
            paid: total.saturating_sub(due),
            note: None,
            is_void: false,
        })
    }

    /// The credit note of this invoice, for the net and VAT that were not refunded before.
    pub fn credited(&self, number: String, issue_date: Date, reason: &str, net: i64, vat: i64) -> Facts {
        let refunded = net.saturating_sub(self.net);
        let before = FactLine { description: "Already refunded".to_owned(), net: refunded, vat: None };
        Facts {
            number,
            credits: Some(Credited { number: self.number.clone(), issue_date: self.issue_date }),
            issue_date,
            due_date: issue_date,
            lines: self.lines.iter().cloned().chain((refunded != 0).then_some(before)).collect(),
            net,
            vat,
            paid: net.saturating_add(vat),
            note: Some(reason.to_owned()),
            ..self.clone()
        }
    }

    /// The same document, marked void with nothing to pay.
    pub fn voided(&self, since: Date, reason: &str) -> Facts {
        Facts {
            paid: self.net.saturating_add(self.vat),
            note: Some(format!("Void since {since}: {reason}")),
            is_void: true,
            ..self.clone()
        }
    }

    /// Net amount of the lines at the rate of the document.
    pub fn own_net(&self) -> Result<Money, MoneyError> {
        let own = self.lines.iter().filter(|line| line.vat.is_none()).map(|line| line.net);
        Money::from_minor(own.fold(0, i64::saturating_add), self.currency)
    }

    /// File name of the PDF.
    pub fn file_name(&self) -> String {
        let what = if self.credits.is_some() { "credit-note" } else { "invoice" };
        format!("{what}-{}.pdf", self.number)
    }

    pub fn exemption_reason(&self) -> Option<&'static str> {
        let others = self.lines.iter().filter_map(|line| line.vat).map(|vat| vat.category);
        std::iter::once(self.category).chain(others).find_map(Facts::exemption_text)
    }

    fn exemption_text(category: Category) -> Option<&'static str> {
        match category {
            Category::Standard => None,
            Category::ReverseCharge => Some("Reverse charge: the customer accounts for the VAT."),
            Category::OutsideScope => Some("Outside the scope of VAT of the European Union."),
            Category::Exempt => Some("Exempt from VAT."),
        }
    }
}

fn seller(seller: &Seller, country: &str, names_ids: bool) -> Party {
    Party {
        name: seller.name.clone(),
        street: Vec::from_iter((!seller.street.is_empty()).then(|| seller.street.clone())),
        postal_code: seller.postal_code.clone(),
        city: seller.city.clone(),
        country: country.to_owned(),
        vat_id: seller.vat_id.as_ref().filter(|_| names_ids).map(ToString::to_string),
        registration: seller.registration.clone(),
    }
}

fn buyer(buyer: &TaxStanding, names_ids: bool) -> Party {
    let address: Option<&Address> = buyer.invoice_address.as_ref().or(buyer.postal_address.as_ref());
    let lines = address.map(|address| std::iter::once(&address.line1).chain(&address.line2));
    let country = address.map_or(buyer.country, |address| address.country);
    Party {
        name: buyer.company_name.clone(),
        street: lines.into_iter().flatten().map(ToString::to_string).collect(),
        postal_code: address.map(|address| address.postal_code.to_string()).unwrap_or_default(),
        city: address.map(|address| address.city.to_string()).unwrap_or_default(),
        country: country.code().to_owned(),
        vat_id: buyer.vat_id.clone().filter(|_| names_ids),
        registration: None,
    }
}

/// Renders the PDF and stores the file, which may exist already.
pub async fn store(files: &Files, facts: &Facts) -> Result<ContentHash, Problem> {
    let facts = facts.clone();
    // Rendering is slow and must not block the runtime.
    let pdf = tokio::task::spawn_blocking(move || facturx::pdf(&facts)).await.map_err(Problem::internal)?;
    let content = stream::iter([Ok::<_, std::io::Error>(Bytes::from(pdf.map_err(Problem::internal)?))]);
    Ok(files.put(content, MAX_PDF_BYTES).await?.hash)
}
