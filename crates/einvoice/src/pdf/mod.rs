//! The invoice as a PDF/A-3b with its XML attached: a Factur-X document.
//!
//! `letter` decides what stands where, page by page, `fonts` how wide it is, `sheet` draws it, and `xmp` tells readers
//! of the attachment.

mod fonts;
mod letter;
mod sheet;
mod table;
mod words;
mod xmp;

use std::fmt;

use krilla::configure::{Archival, ConfigurationBuilder, PdfVersion};
use krilla::embed::{AssociationKind, EmbeddedFile, MimeType};
use krilla::metadata::{DateTime, Metadata};
use krilla::{Document, SerializeSettings};

use crate::cii::cii;
use crate::date::Date;
use crate::model::Invoice;
use fonts::{Fonts, legible};

/// How the company that sends the invoice presents itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Look {
    /// The name at the head of the letter.
    pub brand: String,
    /// A line below it.
    pub tagline: Option<String>,
    /// Red, green and blue of its colour.
    pub accent: [u8; 3],
    /// At the foot of each page, at most three lines; the seller's registration, VAT id and account if empty.
    pub footer: Vec<String>,
}

/// Why there is no PDF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PdfError(String);

impl PdfError {
    fn new(what: impl fmt::Debug) -> PdfError {
        PdfError(format!("{what:?}"))
    }
}

impl fmt::Display for PdfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the PDF could not be written: {}", self.0)
    }
}

impl std::error::Error for PdfError {}

/// The name that Factur-X gives the attachment.
const ATTACHMENT: &str = "factur-x.xml";

/// The invoice as a Factur-X document. It does not look whether the invoice is a correct one: see [`Invoice::check`].
pub fn pdf(invoice: &Invoice, look: &Look) -> Result<Vec<u8>, PdfError> {
    let fonts = Fonts::load()?;
    let sheets = letter::compose(invoice, look, &fonts);
    let mut document = Document::new_with(settings()?);
    for sheet in &sheets {
        sheet.draw(&mut document, &fonts)?;
    }
    document.set_metadata(metadata(invoice));
    document.embed_file(attachment(invoice)).ok_or_else(|| PdfError::new("the attachment was not taken"))?;
    xmp::declare_facturx(document.finish().map_err(PdfError::new)?)
}

fn settings() -> Result<SerializeSettings, PdfError> {
    let configuration = ConfigurationBuilder::new()
        .with_version(PdfVersion::Pdf17)
        .with_archival_validator(Archival::A3_B)
        .finish()
        .map_err(|_| PdfError::new("PDF/A-3b is no PDF 1.7"))?;
    Ok(SerializeSettings { configuration, enable_tagging: false, ..SerializeSettings::default() })
}

fn metadata(invoice: &Invoice) -> Metadata {
    let title = format!("{} {}", words::title(invoice), invoice.number);
    let seller = brief(&invoice.seller.name);
    Metadata::new()
        .title(brief(&format!("{title} for {}", invoice.buyer.name)))
        .description(brief(&format!("{title} of {}", invoice.issue_date.in_words())))
        .authors(vec![seller.clone()])
        .producer("einvoice".to_owned())
        .language("en".to_owned())
        .creation_date(midnight(invoice.issue_date))
        .document_id(format!("{seller}\n{}\n{}", invoice.number, invoice.issue_date))
}

fn attachment(invoice: &Invoice) -> EmbeddedFile {
    EmbeddedFile {
        path: ATTACHMENT.to_owned(),
        mime_type: MimeType::new("text/xml"),
        description: Some("The invoice as EN 16931 data (Factur-X)".to_owned()),
        association_kind: AssociationKind::Alternative,
        data: cii(invoice).into_bytes().into(),
        modification_date: Some(midnight(invoice.issue_date)),
        compress: Some(true),
        location: None,
    }
}

/// Without characters that metadata cannot hold, and no longer than anyone reads.
fn brief(text: &str) -> String {
    legible(text).chars().take(200).collect()
}

fn midnight(date: Date) -> DateTime {
    DateTime::new(date.year())
        .month(date.month())
        .day(date.day())
        .hour(0)
        .minute(0)
        .second(0)
        .utc_offset_hour(0)
        .utc_offset_minute(0)
}
