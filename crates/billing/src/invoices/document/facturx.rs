//! Renders a document as Factur-X: a PDF with the invoice as EN 16931 XML inside.

use einvoice::{
    Address, Branding, Buyer, Currency, Date, Decimal, Invoice, Kind, Line, Period, Seller, TooLarge, Totals, Unit,
    Vat, VatCategory, vat_groups,
};

use super::{FactLine, Facts, Party};
use crate::vat::{Category, Rate};
use values::{Country, Date as Day};

/// Colour of the letterhead.
const ACCENT: [u8; 3] = [23, 92, 150];

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Deterministic: the same content gives the same bytes.
pub fn pdf(facts: &Facts) -> Result<Vec<u8>, Fault> {
    let invoice = invoice(facts)?;
    if let Err(violations) = invoice.check() {
        let rules: Vec<String> = violations.iter().map(ToString::to_string).collect();
        tracing::warn!(number = facts.number, rules = rules.join("; "), "invoice violates EN 16931 rules");
    }
    let branding = Branding { brand: facts.seller.name.clone(), tagline: None, accent: ACCENT, footer: Vec::new() };
    Ok(einvoice::pdf(&invoice, &branding)?)
}

fn invoice(facts: &Facts) -> Result<Invoice, Fault> {
    let currency = Currency { code: facts.currency.code().to_owned(), places: facts.currency.exponent() };
    let vat = vat_of(facts.category, facts.rate)?;
    let lines = facts.lines.iter().zip(1..).map(|(stated, number)| line(stated, number, vat, &currency));
    let lines: Vec<Line> = lines.collect::<Result<_, _>>()?;
    let groups = vat_groups(&lines)?;
    let kind = match &facts.credits {
        None => Kind::Invoice,
        Some(credited) => {
            Kind::CreditNote { invoice_number: credited.number.clone(), invoice_date: date(credited.issue_date)? }
        }
    };
    Ok(Invoice {
        number: facts.number.clone(),
        due_date: if facts.credits.is_none() { Some(date(facts.due_date)?) } else { None },
        kind,
        issue_date: date(facts.issue_date)?,
        supply_period: Some(Period { first: date(facts.supply_first)?, last: date(facts.supply_last)? }),
        currency,
        seller: Seller {
            name: facts.seller.name.clone(),
            address: address(&facts.seller),
            vat_id: facts.seller.vat_id.clone(),
            registration_id: facts.seller.registration.clone(),
            contact: None,
            iban: None,
        },
        buyer: Buyer {
            name: facts.buyer.name.clone(),
            address: address(&facts.buyer),
            vat_id: facts.buyer.vat_id.clone(),
            reference: None,
        },
        lines,
        exemption_reason: facts.exemption_reason().map(str::to_owned),
        totals: Totals::of(&groups, facts.paid)?,
        vat_groups: groups,
        vat_in_accounting_currency: None,
        payment_terms: None,
        notes: facts.note.iter().cloned().collect(),
        is_void: facts.is_void,
    })
}

/// A line of quantity one. A refund has the quantity minus one, since EN 16931 allows no negative price.
fn line(stated: &FactLine, number: usize, vat: Vat, currency: &Currency) -> Result<Line, Fault> {
    let vat = match stated.vat {
        Some(own) => vat_of(own.category, own.rate)?,
        None => vat,
    };
    let price = i64::try_from(stated.net.unsigned_abs()).map_err(|_| TooLarge)?;
    Ok(Line {
        id: number.to_string(),
        description: stated.description.clone(),
        quantity: Decimal::whole(if stated.net < 0 { -1 } else { 1 }),
        unit: Unit::One,
        unit_price: Decimal::new(price, currency.places).ok_or(TooLarge)?,
        net: stated.net,
        vat,
    })
}

fn vat_of(of: Category, rate: Rate) -> Result<Vat, Fault> {
    Ok(Vat { category: category(of), rate: Decimal::new(rate.0, 2).ok_or(TooLarge)? })
}

fn category(category: Category) -> VatCategory {
    match category {
        Category::Standard => VatCategory::Standard,
        Category::ReverseCharge => VatCategory::ReverseCharge,
        Category::OutsideScope => VatCategory::OutsideScope,
        Category::Exempt => VatCategory::Exempt,
    }
}

fn address(party: &Party) -> Address {
    Address {
        lines: party.street.clone(),
        postcode: Some(party.postal_code.clone()).filter(|code| !code.is_empty()),
        city: party.city.clone(),
        country: party.country.clone(),
        country_name: party
            .country
            .parse::<Country>()
            .map_or_else(|_| party.country.clone(), |known| known.name().to_owned()),
    }
}

fn date(day: Day) -> Result<Date, Fault> {
    let day = day.civil();
    let (year, month, date) = (u16::try_from(day.year())?, u8::try_from(day.month())?, u8::try_from(day.day())?);
    Date::new(year, month, date).ok_or_else(|| "not a calendar date".into())
}
