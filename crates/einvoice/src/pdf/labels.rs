//! The words and number formats of the PDF.

use crate::decimal::Decimal;
use crate::model::{Currency, Invoice, Kind, Line, Period, Unit, Vat, VatCategory};

pub(super) fn title(invoice: &Invoice) -> &'static str {
    match invoice.kind {
        Kind::Invoice if invoice.is_void => "Void invoice",
        Kind::Invoice => "Invoice",
        Kind::CreditNote { .. } => "Credit note",
    }
}

/// The sentence below the title: what is due, paid or credited.
pub(super) fn summary(invoice: &Invoice) -> String {
    let (totals, currency) = (&invoice.totals, &invoice.currency);
    if let Kind::CreditNote { invoice_number, invoice_date } = &invoice.kind {
        return format!(
            "{} credited on invoice {invoice_number} of {}",
            money(currency, totals.gross),
            invoice_date.in_words()
        );
    }
    match (totals.due, invoice.due_date) {
        (0, _) if invoice.is_void => "Void; nothing is due.".to_owned(),
        (0, _) if totals.paid == 0 => "Nothing is due.".to_owned(),
        (0, _) => "Paid in full; nothing is due.".to_owned(),
        (..0, _) => format!("Overpaid by {}.", money(currency, totals.due.saturating_neg())),
        (_, Some(date)) => format!("{} due on {}", money(currency, totals.due), date.in_words()),
        (_, None) => format!("{} due", money(currency, totals.due)),
    }
}

/// `1,234.50`
pub(super) fn amount(currency: &Currency, amount: i64) -> String {
    group_thousands(&currency.format(amount))
}

/// `EUR 1,234.50`
pub(super) fn money(currency: &Currency, value: i64) -> String {
    format!("{} {}", currency.code, amount(currency, value))
}

pub(super) fn quantity(line: &Line) -> String {
    let number = group_thousands(&line.quantity.to_string());
    match line.unit {
        Unit::One => number,
        unit => format!("{number} {}", unit.label()),
    }
}

pub(super) fn price(price: Decimal, currency: &Currency) -> String {
    group_thousands(&price.padded(currency.places))
}

/// The VAT column of a line: `21 %`, or the category where no rate applies.
pub(super) fn line_vat(vat: Vat) -> String {
    match vat.category {
        VatCategory::Standard | VatCategory::ZeroRated => format!("{} %", vat.rate),
        VatCategory::Exempt => "exempt".to_owned(),
        VatCategory::ReverseCharge => "reverse".to_owned(),
        VatCategory::OutsideScope => "none".to_owned(),
    }
}

/// A row of the VAT summary.
pub(super) fn vat_group(vat: Vat) -> String {
    match vat.category {
        VatCategory::Standard | VatCategory::ZeroRated => format!("VAT {} %", vat.rate),
        VatCategory::Exempt => "Exempt from VAT".to_owned(),
        VatCategory::ReverseCharge => "VAT reverse charged".to_owned(),
        VatCategory::OutsideScope => "Outside the scope of VAT".to_owned(),
    }
}

/// `1 – 31 October 2026`: month and year once if both ends share them.
pub(super) fn period(Period { first, last }: Period) -> String {
    let end = last.in_words();
    if first == last {
        end
    } else if (first.year(), first.month()) == (last.year(), last.month()) {
        format!("{} – {end}", first.day())
    } else {
        format!("{} – {end}", first.in_words())
    }
}

/// Adds thousands separators.
fn group_thousands(number: &str) -> String {
    let whole_ends = number.find('.').unwrap_or(number.len());
    let (whole, fraction) = number.split_at(whole_ends);
    let digits = whole.trim_start_matches('-').len();
    let mut text = String::with_capacity(number.len() + digits / 3);
    for (index, c) in whole.chars().enumerate() {
        let left = whole_ends - index;
        if c.is_ascii_digit() && left < digits && left.is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text + fraction
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::date::Date;

    #[test]
    fn a_period_names_a_shared_month_once() {
        let format = |first: (u8, u8), last: (u8, u8)| {
            let date = |(month, day)| Date::new(2026, month, day).unwrap();
            period(Period { first: date(first), last: date(last) })
        };
        assert_eq!(format((10, 1), (10, 31)), "1 – 31 October 2026");
        assert_eq!(format((10, 1), (11, 30)), "1 October 2026 – 30 November 2026");
        assert_eq!(format((10, 1), (10, 1)), "1 October 2026");
    }

    #[test]
    fn thousands_have_separators() {
        let cases =
            [("0.05", "0.05"), ("999", "999"), ("1000", "1,000"), ("-1234567.891", "-1,234,567.891"), ("-100", "-100")];
        for (plain, formatted) in cases {
            assert_eq!(group_thousands(plain), formatted);
        }
    }
}
