//! What an invoice says, in the terms of EN 16931 (`BT-…` are its names for them).
//!
//! Amounts are whole minor units of the invoice's currency. A credit note has the same positive amounts as the invoice
//! it takes back: its kind says which way the money goes. A negative line has a negative quantity, never a negative
//! price.

use crate::date::Date;
use crate::decimal::{Decimal, TooLarge};

#[derive(Clone, PartialEq, Debug)]
pub struct Invoice {
    /// BT-1
    pub number: String,
    pub kind: Kind,
    /// BT-2
    pub issue_date: Date,
    /// BT-9
    pub due_date: Option<Date>,
    /// BT-73 and BT-74, the days in which the services were supplied
    pub supply: Option<Period>,
    /// BT-5
    pub currency: Currency,
    pub seller: Seller,
    pub buyer: Buyer,
    pub lines: Vec<Line>,
    pub vat_groups: Vec<VatGroup>,
    /// BT-120, why no VAT is charged: "Reverse charge" for [`VatCategory::ReverseCharge`]
    pub exemption_reason: Option<String>,
    pub totals: Totals,
    /// The VAT in the seller's own currency, where the law asks for it beside the invoice's.
    pub vat_at_home: Option<VatAtHome>,
    /// BT-20
    pub payment_terms: Option<String>,
    /// BT-22
    pub notes: Vec<String>,
    /// Whether it was declared void, so that nothing is due under it whatever was paid. Machines are told by the totals
    /// and notes alone, since the norm has no word for it.
    pub is_void: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    Invoice,
    CreditNote {
        /// BT-25
        of: String,
        /// BT-26
        issued: Date,
    },
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Period {
    pub first: Date,
    /// The last day that belongs to it.
    pub last: Date,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Currency {
    /// ISO 4217
    pub code: String,
    /// Places of its minor unit; the standard knows no more than two.
    pub places: u32,
}

#[derive(Clone, PartialEq, Default, Debug)]
pub struct Address {
    /// BT-35, BT-36 and BT-162, at most three
    pub lines: Vec<String>,
    pub postcode: Option<String>,
    pub city: String,
    /// ISO 3166-1, two letters
    pub country: String,
    /// How the country is called on paper.
    pub country_name: String,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Seller {
    /// BT-27
    pub name: String,
    pub address: Address,
    /// BT-31, beginning with its country
    pub vat_id: Option<String>,
    /// BT-30, as in the register of companies
    pub registration_id: Option<String>,
    pub contact: Option<Contact>,
    /// BT-84
    pub iban: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Contact {
    /// BT-41, a person or a department
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
    /// BT-48, beginning with its country
    pub vat_id: Option<String>,
    /// BT-10, what the buyer wants to find on it
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
    /// In per cent; zero for every category but [`VatCategory::Standard`].
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
pub struct VatAtHome {
    /// BT-6
    pub currency: Currency,
    /// BT-111
    pub amount: i64,
    /// Where the exchange rate comes from, for the reader.
    pub remark: Option<String>,
}

impl Line {
    /// What quantity and unit price come to, rounded half away from zero.
    pub fn net_of(quantity: Decimal, unit_price: Decimal, currency: &Currency) -> Result<i64, TooLarge> {
        quantity.times(unit_price, currency.places)
    }
}

impl Unit {
    /// UN/ECE Recommendation 20
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
    /// UNCL 5305
    pub fn code(self) -> &'static str {
        match self {
            VatCategory::Standard => "S",
            VatCategory::ZeroRated => "Z",
            VatCategory::Exempt => "E",
            VatCategory::ReverseCharge => "AE",
            VatCategory::OutsideScope => "O",
        }
    }

    /// BT-121, where the category alone decides it
    pub(crate) fn exemption_code(self) -> Option<&'static str> {
        match self {
            VatCategory::ReverseCharge => Some("VATEX-EU-AE"),
            VatCategory::OutsideScope => Some("VATEX-EU-O"),
            _ => None,
        }
    }

    /// Whether an invoice must say why there is no VAT.
    pub fn needs_reason(self) -> bool {
        matches!(self, VatCategory::Exempt | VatCategory::ReverseCharge | VatCategory::OutsideScope)
    }
}

impl Currency {
    /// As an XML amount: `1234.50`.
    pub(crate) fn plain(&self, amount: i64) -> String {
        let places = self.places as usize;
        let digits = format!("{:0>1$}", amount.unsigned_abs(), places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        let sign = if amount < 0 { "-" } else { "" };
        let point = if places > 0 { "." } else { "" };
        format!("{sign}{whole}{point}{fraction}")
    }
}

impl Invoice {
    /// BT-72, the day on which the supply was complete: that of issue, unless the invoice says otherwise.
    pub(crate) fn supplied(&self) -> Date {
        self.supply.map_or(self.issue_date, |supply| supply.last)
    }

    /// BT-120 of a group, if its category has one.
    pub(crate) fn reason_for(&self, category: VatCategory) -> Option<&str> {
        self.exemption_reason.as_deref().filter(|_| category.needs_reason())
    }
}
