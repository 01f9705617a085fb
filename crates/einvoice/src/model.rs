//! The data of an invoice, in the terms of EN 16931 (`BT-…` are its business terms).
//!
//! Amounts are whole minor units of the invoice's currency. A credit note has the same positive amounts as the invoice
//! it credits: its [`Kind`] says which way the money goes. A negative line has a negative quantity, never a negative
//! price.

use crate::date::Date;
use crate::decimal::Decimal;

#[derive(Clone, PartialEq, Debug)]
pub struct Invoice {
    /// BT-1
    pub number: String,
    pub kind: Kind,
    /// BT-2
    pub issue_date: Date,
    /// BT-9
    pub due_date: Option<Date>,
    /// BT-73 and BT-74, the invoicing period.
    pub supply_period: Option<Period>,
    /// BT-5
    pub currency: Currency,
    pub seller: Seller,
    pub buyer: Buyer,
    pub lines: Vec<Line>,
    pub vat_groups: Vec<VatGroup>,
    /// BT-120, why no VAT is charged: "Reverse charge" for [`VatCategory::ReverseCharge`].
    pub exemption_reason: Option<String>,
    pub totals: Totals,
    /// The VAT total in the seller's accounting currency, where the law requires it in addition.
    pub vat_in_accounting_currency: Option<VatInAccountingCurrency>,
    /// BT-20
    pub payment_terms: Option<String>,
    /// BT-22
    pub notes: Vec<String>,
    /// Whether the invoice was voided, so that nothing is due whatever was paid. Only the PDF says so: EN 16931 has no
    /// field for it, and the XML shows it by totals and notes alone.
    pub is_void: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    Invoice,
    CreditNote {
        /// BT-25, the number of the credited invoice.
        invoice_number: String,
        /// BT-26, the issue date of the credited invoice.
        invoice_date: Date,
    },
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Period {
    pub first: Date,
    /// Inclusive.
    pub last: Date,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Currency {
    /// ISO 4217.
    pub code: String,
    /// Decimals of its minor unit, at most two (BR-DEC-*).
    pub places: u32,
}

#[derive(Clone, PartialEq, Default, Debug)]
pub struct Address {
    /// BT-35, BT-36 and BT-162 for a seller, BT-50, BT-51 and BT-163 for a buyer; at most three.
    pub lines: Vec<String>,
    pub postcode: Option<String>,
    pub city: String,
    /// ISO 3166-1 alpha-2.
    pub country: String,
    /// The name of the country in the PDF.
    pub country_name: String,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Seller {
    /// BT-27
    pub name: String,
    pub address: Address,
    /// BT-31, with its country prefix.
    pub vat_id: Option<String>,
    /// BT-30, the company registration number.
    pub registration_id: Option<String>,
    pub contact: Option<Contact>,
    /// BT-84
    pub iban: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Contact {
    /// BT-41, a person or a department.
    pub name: String,
    /// BT-42
    pub phone: Option<String>,
    /// BT-43
    pub email: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Buyer {
    /// BT-44
    pub name: String,
    pub address: Address,
    /// BT-48, with its country prefix.
    pub vat_id: Option<String>,
    /// BT-10, the reference that the buyer asked for.
    pub reference: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// BT-126
    pub id: String,
    /// BT-153
    pub description: String,
    /// BT-129
    pub quantity: Decimal,
    /// BT-130
    pub unit: Unit,
    /// BT-146
    pub unit_price: Decimal,
    /// BT-131
    pub net: i64,
    pub vat: Vat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    One,
    Second,
    Minute,
    Hour,
    Day,
    Month,
}

/// BT-151 and BT-152
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vat {
    pub category: VatCategory,
    /// In percent; zero for every category except [`VatCategory::Standard`].
    pub rate: Decimal,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VatCategory {
    Standard,
    ZeroRated,
    Exempt,
    ReverseCharge,
    OutsideScope,
}

/// One row of the VAT breakdown.
#[derive(Clone, PartialEq, Debug)]
pub struct VatGroup {
    /// BT-118 and BT-119
    pub vat: Vat,
    /// BT-116
    pub taxable: i64,
    /// BT-117
    pub amount: i64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Totals {
    /// BT-106
    pub lines: i64,
    /// BT-109
    pub net: i64,
    /// BT-110
    pub vat: i64,
    /// BT-112
    pub gross: i64,
    /// BT-113
    pub paid: i64,
    /// BT-115
    pub due: i64,
}

#[derive(Clone, PartialEq, Debug)]
pub struct VatInAccountingCurrency {
    /// BT-6
    pub currency: Currency,
    /// BT-111
    pub amount: i64,
    /// Shown in the PDF: the exchange rate and its source.
    pub remark: Option<String>,
}

impl Unit {
    /// The code of UN/ECE Recommendation 20.
    pub fn code(self) -> &'static str {
        match self {
            Unit::One => "C62",
            Unit::Second => "SEC",
            Unit::Minute => "MIN",
            Unit::Hour => "HUR",
            Unit::Day => "DAY",
            Unit::Month => "MON",
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Unit::One => "",
            Unit::Second => "s",
            Unit::Minute => "min",
            Unit::Hour => "h",
            Unit::Day => "d",
            Unit::Month => "mo",
        }
    }
}

impl VatCategory {
    /// The code of UNTDID 5305.
    pub fn code(self) -> &'static str {
        match self {
            VatCategory::Standard => "S",
            VatCategory::ZeroRated => "Z",
            VatCategory::Exempt => "E",
            VatCategory::ReverseCharge => "AE",
            VatCategory::OutsideScope => "O",
        }
    }

    /// BT-121, where it follows from the category alone.
    pub(crate) fn exemption_code(self) -> Option<&'static str> {
        match self {
            VatCategory::ReverseCharge => Some("VATEX-EU-AE"),
            VatCategory::OutsideScope => Some("VATEX-EU-O"),
            _ => None,
        }
    }

    /// Whether the invoice must state why no VAT is charged (BT-120).
    pub fn needs_reason(self) -> bool {
        matches!(self, VatCategory::Exempt | VatCategory::ReverseCharge | VatCategory::OutsideScope)
    }
}

impl Currency {
    /// Formats an amount as in XML: `1234.50`.
    pub(crate) fn format(&self, amount: i64) -> String {
        let places = self.places as usize;
        let digits = format!("{:0>1$}", amount.unsigned_abs(), places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        let sign = if amount < 0 { "-" } else { "" };
        let point = if places > 0 { "." } else { "" };
        format!("{sign}{whole}{point}{fraction}")
    }
}

impl Invoice {
    /// BT-72, the date of supply: the last day of the supply period, or else the issue date.
    pub(crate) fn supply_date(&self) -> Date {
        self.supply_period.map_or(self.issue_date, |period| period.last)
    }

    /// BT-120 of a VAT group, if its category needs one.
    pub(crate) fn reason_for(&self, category: VatCategory) -> Option<&str> {
        self.exemption_reason.as_deref().filter(|_| category.needs_reason())
    }
}
