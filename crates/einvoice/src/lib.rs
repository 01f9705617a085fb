//! Writes invoices and credit notes: EN 16931 XML (CII or UBL) for machines, and a Factur-X PDF with that XML attached
//! for people.
//!
//! Output depends on the input alone (no clock, no randomness, no files): one build writes the same bytes for the same
//! invoice every time. Another build may lay it out differently, so callers store what they issued.
//!
//! ```text
//!   lines ── vat_groups ── Totals::of ──> Invoice ── check ──┬── cii ──┐
//!                                                            └── ubl   ├──> pdf (PDF/A-3b, factur-x.xml attached)
//!                                                      Branding ───────┘
//! ```
//!
//! Not supported: allowances and charges, more than one payment means, currencies with more than two decimals (EN 16931
//! has none), tagged PDF for screen readers, and bidirectional reordering within a line.

mod cii;
mod date;
mod decimal;
mod model;
mod pdf;
mod rules;
mod totals;
mod ubl;
mod xml;

pub use cii::{SPECIFICATION_ID, cii};
pub use date::Date;
pub use decimal::{Decimal, TooLarge};
pub use model::{
    Address, Buyer, Contact, Currency, Invoice, Kind, Line, Period, Seller, Totals, Unit, Vat, VatCategory, VatGroup,
    VatInAccountingCurrency,
};
pub use pdf::{Branding, PdfError, pdf};
pub use rules::Violation;
pub use totals::{vat_groups, vat_on};
pub use ubl::ubl;
