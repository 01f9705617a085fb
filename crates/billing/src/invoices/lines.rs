//! The lines of an invoice, from the ledger's sums of the month.
//!
//! The ledger sums each day by kind and book, and lines follow from that. Calls have a line for each destination, from
//! the charge rollup, which is written in the same transactions as the ledger. If the rollup does not add up to the
//! ledger, a line "Other calls" is the difference, so the lines always sum to what was charged. Amounts are exact; the
//! document states minor units that add up to the rounded sum.

use super::refunds::{CarriedRefund, Refunded};
use crate::vat::Decision;
use platform::ledger::{Book, Kind, Sum};
use values::{Money, MoneyError};
use voice::cdrs::Charge;

/// One line of an invoice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    pub description: String,
    /// Exact; negative for refunds.
    pub net: Money,
    /// VAT of this line, if it is not that of the invoice.
    pub vat: Option<Decision>,
}

impl Line {
    fn new(description: String, net: Money) -> Line {
        Line { description, net, vat: None }
    }
}

/// What was sold, in the order of the lines. Payments, credits and VAT are not sales.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Item {
    Calls,
    NumberSetup,
    NumberRental,
    NumberRefunds,
    CallCredits,
    Corrections,
}

fn item(kind: Kind, book: Book) -> Option<Item> {
    match (kind, book) {
        (Kind::Call, Book::Calls) => Some(Item::Calls),
        (Kind::NumberOrder | Kind::NumberRenewal, Book::NumberSetup) => Some(Item::NumberSetup),
        (Kind::NumberOrder | Kind::NumberRenewal, Book::NumberRental) => Some(Item::NumberRental),
        (Kind::NumberRefund, Book::Refunds) => Some(Item::NumberRefunds),
        (Kind::CallCredit, Book::Refunds) => Some(Item::CallCredits),
        (Kind::Correction, Book::Calls | Book::NumberSetup | Book::NumberRental | Book::Refunds) => {
            Some(Item::Corrections)
        }
        _ => None,
    }
}

/// Whether an invoice has what is posted with this kind to this book.
pub fn is_invoiced(kind: Kind, book: Book) -> bool {
    item(kind, book).is_some()
}

/// Destinations with a line of their own; the cheapest of the others share one.
const MAX_DESTINATIONS: usize = 200;

/// The lines of these sums; calls by destination, most expensive first. Refunds carried from earlier months have their
/// own lines, or none.
pub fn lines(sums: &[Sum], charges: &[Charge], carried: &[CarriedRefund]) -> Result<Vec<Line>, MoneyError> {
    let mut items: Vec<(Item, Money, i64)> = Vec::new();
    for sum in sums {
        let Some(item) = item(sum.kind, sum.book) else { continue };
        match items.iter_mut().find(|(known, _, _)| *known == item) {
            Some((_, net, entries)) => {
                *net = net.add(sum.amount)?;
                *entries += sum.entries;
            }
            None => items.push((item, sum.amount, sum.entries)),
        }
    }
    items.sort_unstable_by_key(|(item, _, _)| *item);
    let of = |what: Refunded| carried.iter().filter(move |one| one.what == what);
    let mut lines = Vec::new();
    for (item, net, entries) in items {
        match item {
            Item::Calls if !charges.is_empty() => lines.extend(by_destination(net, charges)?),
            Item::NumberRefunds => lines.extend(by_rate(item, net, entries, of(Refunded::Number))?),
            Item::CallCredits => lines.extend(by_rate(item, net, entries, of(Refunded::Call))?),
            _ => lines.push(Line::new(describe(item, entries), net)),
        }
    }
    Ok(lines)
}

/// The refunds at the invoice's own rate first, then a line for each other rate.
fn by_rate<'c>(
    item: Item,
    net: Money,
    entries: i64,
    carried: impl Iterator<Item = &'c CarriedRefund>,
) -> Result<Vec<Line>, MoneyError> {
    let mut lines: Vec<(Option<Decision>, Money, i64)> = vec![(None, net, entries)];
    for one in carried {
        let (_, own, count) = &mut lines[0];
        (*own, *count) = (own.add(one.net)?, *count - 1);
        let Some(vat) = one.vat else { continue };
        match lines.iter_mut().skip(1).find(|(known, _, _)| *known == Some(vat)) {
            Some((_, net, count)) => (*net, *count) = (net.sub(one.net)?, *count + 1),
            None => lines.push((Some(vat), one.net.neg()?, 1)),
        }
    }
    let stated = lines.into_iter().filter(|(_, _, count)| *count > 0);
    Ok(stated.map(|(vat, net, count)| Line { description: describe(item, count), net, vat }).collect())
}

fn by_destination(net: Money, charges: &[Charge]) -> Result<Vec<Line>, MoneyError> {
    let money = |charge: &Charge| Money::from_nanos(charge.charge, net.currency());
    let (named, others) = charges.split_at(charges.len().min(MAX_DESTINATIONS));
    let mut lines: Vec<Line> = named.iter().map(|charge| Line::new(describe_calls(charge), money(charge))).collect();
    if !others.is_empty() {
        let description = describe_volume(
            &format!("{} other destinations", others.len()),
            others.iter().map(|charge| charge.calls).sum(),
            others.iter().map(|charge| charge.billed_seconds).sum(),
        );
        let net = others.iter().map(money).try_fold(Money::zero(net.currency()), Money::add)?;
        lines.push(Line::new(description, net));
    }
    let rest = lines.iter().map(|line| line.net).try_fold(net, Money::sub)?;
    if !rest.is_zero() {
        lines.push(Line::new("Other calls".to_owned(), rest));
    }
    Ok(lines)
}

fn describe_calls(charge: &Charge) -> String {
    let label = match (charge.destination_name.as_str(), charge.country.as_str()) {
        ("", "") => "Calls".to_owned(),
        ("", country) => format!("Calls to {country}"),
        (name, "") => format!("Calls to {name}"),
        (name, country) => format!("Calls to {name} ({country})"),
    };
    describe_volume(&label, charge.calls, charge.billed_seconds)
}

/// The number of calls and the billed minutes.
fn describe_volume(label: &str, calls: i64, seconds: i64) -> String {
    let hundredths = (seconds * 100 + 30) / 60;
    let minutes = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    match calls {
        // Calls invoiced in an earlier month and amended by late events.
        0 => format!("{label}: {minutes} more minutes of earlier calls"),
        1 => format!("{label}: 1 call, {minutes} minutes"),
        calls => format!("{label}: {calls} calls, {minutes} minutes"),
    }
}

fn describe(item: Item, entries: i64) -> String {
    let what = match (item, entries) {
        (Item::Calls, 1) => "call",
        (Item::Calls, _) => "calls",
        (Item::NumberSetup, 1) => "number set up",
        (Item::NumberSetup, _) => "numbers set up",
        (Item::NumberRental, 1) => "month of number rental",
        (Item::NumberRental, _) => "months of number rental",
        (Item::NumberRefunds, 1) => "number order refunded",
        (Item::NumberRefunds, _) => "number orders refunded",
        (Item::CallCredits, 1) => "disputed call credited",
        (Item::CallCredits, _) => "disputed calls credited",
        (Item::Corrections, 1) => "correction",
        (Item::Corrections, _) => "corrections",
    };
    format!("{entries} {what}")
}

pub fn subtotal(lines: &[Line], zero: Money) -> Result<Money, MoneyError> {
    lines.iter().map(|line| line.net).try_fold(zero, Money::add)
}

/// The lines in minor units that add up to the rounded sum: each is rounded down, and those with the largest remainder
/// get one unit back.
pub fn rounded_amounts(lines: &[Line], subtotal: Money) -> Result<Vec<i64>, MoneyError> {
    let unit = Money::from_minor(1, subtotal.currency())?.nanos();
    let mut stated: Vec<i64> = lines.iter().map(|line| line.net.nanos().div_euclid(unit)).collect();
    let short = subtotal.minor() - stated.iter().sum::<i64>();
    let mut by_remainder: Vec<usize> = (0..lines.len()).collect();
    by_remainder.sort_by_key(|at| std::cmp::Reverse(lines[*at].net.nanos().rem_euclid(unit)));
    for at in by_remainder.into_iter().take(usize::try_from(short).unwrap_or(0)) {
        stated[at] += 1;
    }
    Ok(stated)
}

/// The VAT on the rounded amounts, for each rate on the sum of its lines.
pub fn vat(lines: &[Line], stated: &[i64], own: Decision, zero: Money) -> Result<Money, MoneyError> {
    let mut groups: Vec<(Decision, i64)> = Vec::new();
    for (line, minor) in lines.iter().zip(stated) {
        let rate = line.vat.unwrap_or(own);
        match groups.iter_mut().find(|(known, _)| *known == rate) {
            Some((_, sum)) => *sum = sum.saturating_add(*minor),
            None => groups.push((rate, *minor)),
        }
    }
    let on = |(decision, minor): (Decision, i64)| decision.rate.on(Money::from_minor(minor, zero.currency())?);
    groups.into_iter().map(on).try_fold(zero, |sum, vat| sum.add(vat?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;
    use values::Currency;

    fn eur(nanos: i64) -> Money {
        Money::from_nanos(nanos, Currency::EUR)
    }

    fn sum(kind: Kind, book: Book, nanos: i64, entries: i64) -> Sum {
        Sum { kind, book, amount: eur(nanos), entries }
    }

    #[test]
    fn sales_have_lines_and_payments_and_vat_have_none() {
        let sums = [
            sum(Kind::Call, Book::Calls, 6_750_000, 3),
            sum(Kind::Correction, Book::Calls, -500_000, 1),
            sum(Kind::Correction, Book::Credits, 9, 1),
            sum(Kind::NumberOrder, Book::NumberRental, 2_000_000_000, 1),
            sum(Kind::NumberRenewal, Book::NumberRental, 4_000_000_000, 2),
            sum(Kind::NumberOrder, Book::NumberSetup, 5_000_000_000, 1),
            sum(Kind::NumberRefund, Book::Refunds, -7_000_000_000, 1),
            sum(Kind::Topup, Book::Clearing, -1, 1),
            sum(Kind::InvoiceVat, Book::Vat, 1, 1),
            sum(Kind::CreditNote, Book::Refunds, -1, 1),
        ];
        let lines = lines(&sums, &[], &[]).unwrap();
        let described: Vec<(&str, i64)> =
            lines.iter().map(|line| (line.description.as_str(), line.net.nanos())).collect();
        let expected = [
            ("3 calls", 6_750_000),
            ("1 number set up", 5_000_000_000),
            ("3 months of number rental", 6_000_000_000),
            ("1 number order refunded", -7_000_000_000),
            ("1 correction", -500_000),
        ];
        assert_eq!(described, expected);
        assert_eq!(subtotal(&lines, eur(0)).unwrap(), eur(4_006_250_000));
    }

    fn charge(country: &str, name: &str, calls: i64, seconds: i64, nanos: i64) -> Charge {
        let (country, destination_name) = (country.to_owned(), name.to_owned());
        Charge { country, destination_name, calls, billed_seconds: seconds, charge: nanos }
    }

    #[test]
    fn calls_have_a_line_for_each_destination_and_one_for_the_rest() {
        let sums = [sum(Kind::Call, Book::Calls, 100, 2), sum(Kind::NumberOrder, Book::NumberSetup, 7, 1)];
        let charges =
            [charge("NL", "Netherlands mobile", 3, 90, 70), charge("", "", 1, 60, 20), charge("", "Sweden", 0, 30, 4)];
        let described: Vec<(String, i64)> =
            lines(&sums, &charges, &[]).unwrap().into_iter().map(|line| (line.description, line.net.nanos())).collect();
        let expected = [
            ("Calls to Netherlands mobile (NL): 3 calls, 1.50 minutes", 70),
            ("Calls: 1 call, 1.00 minutes", 20),
            ("Calls to Sweden: 0.50 more minutes of earlier calls", 4),
            ("Other calls", 6),
            ("1 number set up", 7),
        ];
        assert_eq!(described, expected.map(|(text, nanos)| (text.to_owned(), nanos)));
    }

    proptest! {
        #[test]
        fn the_lines_of_any_number_of_destinations_sum_to_the_charges(
            amounts in proptest::collection::vec(1i64..1_000_000_000, 0..MAX_DESTINATIONS + 20),
            rest in 0i64..2,
        ) {
            let charges: Vec<Charge> = amounts.iter().map(|nanos| charge("NL", "Some", 1, 60, *nanos)).collect();
            let charged = amounts.iter().sum::<i64>() + rest;
            let lines = lines(&[sum(Kind::Call, Book::Calls, charged, 1)], &charges, &[]).unwrap();
            prop_assert_eq!(subtotal(&lines, eur(0)).unwrap(), eur(charged));
            prop_assert!(lines.len() <= MAX_DESTINATIONS + 2);
        }

        #[test]
        fn rounded_amounts_sum_to_the_rounded_total_and_are_off_by_less_than_a_unit(
            nets in proptest::collection::vec(-10_000_000_000_000i64..10_000_000_000_000, 1..12),
        ) {
            let lines: Vec<Line> =
                nets.iter().map(|nanos| Line::new(String::new(), eur(*nanos))).collect();
            let sum = subtotal(&lines, eur(0)).unwrap();
            let stated = rounded_amounts(&lines, sum).unwrap();
            prop_assert_eq!(stated.iter().sum::<i64>(), sum.minor());
            for (line, stated) in lines.iter().zip(&stated) {
                prop_assert!((stated * 10_000_000 - line.net.nanos()).abs() <= 10_000_000, "{line:?} {stated}");
            }
        }
    }
}
