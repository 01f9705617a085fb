//! Writes an invoice as a Factur-X document: a PDF/A-3b with the CII XML attached.
//!
//! - `layout`: what goes where, page by page · `table`: the invoice lines · `labels`: words and number formats
//! - `fonts`: shaping and line breaks · `page`: drawing · `xmp`: the Factur-X metadata

mod fonts;
mod labels;
mod layout;
mod page;
mod table;
mod xmp;

use std::fmt;

use krilla::configure::{Archival, ConfigurationBuilder, PdfVersion};
use krilla::embed::{AssociationKind, EmbeddedFile, MimeType};
use krilla::metadata::{DateTime, Metadata};
use krilla::{Document, SerializeSettings};

use crate::cii::cii;
use crate::date::Date;
use crate::model::Invoice;
use fonts::{Fonts, printable};

/// The seller's branding on the PDF.
#[derive(Clone, PartialEq, Debug)]
pub struct Branding {
    /// The name in the letterhead.
    pub brand: String,
    /// A line below the brand.
    pub tagline: Option<String>,
    /// Accent colour: red, green, blue.
    pub accent: [u8; 3],
    /// Footer of each page, at most three lines. If empty: the seller's name, registration, VAT id and IBAN.
    pub footer: Vec<String>,
}

/// The PDF could not be written.
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

/// The file name that Factur-X requires for the attachment.
const ATTACHMENT: &str = "factur-x.xml";

/// Writes the invoice as a Factur-X PDF. It does not check the invoice: see [`Invoice::check`].
pub fn pdf(invoice: &Invoice, branding: &Branding) -> Result<Vec<u8>, PdfError> {
    let fonts = Fonts::load()?;
    let pages = layout::layout_pages(invoice, branding, &fonts);
    let mut document = Document::new_with(settings()?);
    for page in &pages {
        page.draw(&mut document, &fonts)?;
    }
    document.set_metadata(metadata(invoice));
    document.embed_file(attachment(invoice)).ok_or_else(|| PdfError::new("the attachment was rejected"))?;
    xmp::declare_facturx(document.finish().map_err(PdfError::new)?)
}

fn settings() -> Result<SerializeSettings, PdfError> {
    let configuration = ConfigurationBuilder::new()
        .with_version(PdfVersion::Pdf17)
        .with_archival_validator(Archival::A3_B)
        .finish()
        .map_err(|_| PdfError::new("PDF/A-3b does not allow PDF 1.7"))?;
    Ok(SerializeSettings { configuration, enable_tagging: false, ..SerializeSettings::default() })
}

fn metadata(invoice: &Invoice) -> Metadata {
    let title = format!("{} {}", labels::title(invoice), invoice.number);
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

/// Text for metadata: printable, and at most 200 characters.
fn brief(text: &str) -> String {
    printable(text).chars().take(200).collect()
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
