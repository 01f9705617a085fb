//! How numbers and terms read on paper.

use crate::decimal::Decimal;
use crate::model::{Currency, Invoice, Kind, Line, Period, Unit, Vat, VatCategory};

pub(super) fn title(invoice: &Invoice) -> &'static str {
    match invoice.kind {
        Kind::Invoice if invoice.is_void => "Void invoice",
        Kind::Invoice => "Invoice",
        Kind::CreditNote { .. } => "Credit note",
    }
}

/// The document in a sentence.
pub(super) fn gist(invoice: &Invoice) -> String {
    let (totals, currency) = (&invoice.totals, &invoice.currency);
    if let Kind::CreditNote { of, issued } = &invoice.kind {
        return format!("{} credited on invoice {of} of {}", money(currency, totals.gross), issued.in_words());
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
    grouped(&currency.plain(amount))
}

/// `EUR 1,234.50`
pub(super) fn money(currency: &Currency, value: i64) -> String {
    format!("{} {}", currency.code, amount(currency, value))
}

pub(super) fn quantity(line: &Line) -> String {
    let number = grouped(&line.quantity.to_string());
    match line.unit {
        Unit::One => number,
        unit => format!("{number} {}", unit.label()),
    }
}

pub(super) fn price(price: Decimal, currency: &Currency) -> String {
    grouped(&price.padded(currency.places))
}

/// In the column of a line: `21 %`, or the category where no rate applies.
pub(super) fn rate(vat: Vat) -> String {
    match vat.category {
        VatCategory::Standard | VatCategory::ZeroRated => format!("{} %", vat.rate),
        VatCategory::Exempt => "exempt".to_owned(),
        VatCategory::ReverseCharge => "reverse".to_owned(),
        VatCategory::OutsideScope => "none".to_owned(),
    }
}

/// In the VAT summary.
pub(super) fn vat(vat: Vat) -> String {
    match vat.category {
        VatCategory::Standard | VatCategory::ZeroRated => format!("VAT {} %", vat.rate),
        VatCategory::Exempt => "Exempt from VAT".to_owned(),
        VatCategory::ReverseCharge => "VAT reverse charged".to_owned(),
        VatCategory::OutsideScope => "Outside the scope of VAT".to_owned(),
    }
}

/// `1 – 31 October 2026`, saying no more than once what both ends share.
pub(super) fn period(Period { first, last }: Period) -> String {
    let ends = last.in_words();
    if first == last {
        ends
    } else if (first.year(), first.month()) == (last.year(), last.month()) {
        format!("{} – {ends}", first.day())
    } else {
        format!("{} – {ends}", first.in_words())
    }
}

/// With commas between the thousands.
fn grouped(number: &str) -> String {
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
    fn a_period_does_not_repeat_itself() {
        let read = |first: (u8, u8), last: (u8, u8)| {
            let date = |(month, day)| Date::new(2026, month, day).unwrap();
            period(Period { first: date(first), last: date(last) })
        };
        assert_eq!(read((10, 1), (10, 31)), "1 – 31 October 2026");
        assert_eq!(read((10, 1), (11, 30)), "1 October 2026 – 30 November 2026");
        assert_eq!(read((10, 1), (10, 1)), "1 October 2026");
    }

    #[test]
    fn thousands_are_set_apart() {
        let cases =
            [("0.05", "0.05"), ("999", "999"), ("1000", "1,000"), ("-1234567.891", "-1,234,567.891"), ("-100", "-100")];
        for (plain, read) in cases {
            assert_eq!(grouped(plain), read);
        }
    }
}
