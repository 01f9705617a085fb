//! Invoices and credit notes as documents: XML for machines after EN 16931, and a PDF for people with that XML inside.
//!
//! Plain values go in and bytes come out. There is no clock, no chance and no file behind it, so one build makes the
//! same bytes of the same invoice every time. Another build may draw it differently: what was issued is kept.
//!
//! ```text
//!   lines ── vat_groups ── Totals::of ──> Invoice ── check ──┬── cii ──┐
//!                                                            ├── ubl   ├──> pdf (PDF/A-3b, factur-x.xml attached)
//!                                                            └── Look ─┘
//! ```
//!
//! What it does not do: allowances and charges on an invoice, more than one way to pay, currencies with more than two
//! places (the standard has none), PDF with tags for screen readers, and the proper order of a line in which scripts
//! of both directions meet.

mod check;
mod cii;
mod date;
mod decimal;
mod model;
mod pdf;
mod sums;
mod ubl;
mod xml;

pub use check::Violation;
pub use cii::{GUIDELINE, cii};
pub use date::Date;
pub use decimal::{Decimal, TooLarge};
pub use model::{
    Address, Buyer, Contact, Currency, Invoice, Kind, Line, Period, Seller, Totals, Unit, Vat, VatAtHome, VatCategory,
    VatGroup,
};
pub use pdf::{Look, PdfError, pdf};
pub use sums::{vat_groups, vat_on};
pub use ubl::ubl;
