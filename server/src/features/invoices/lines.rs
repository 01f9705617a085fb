//! What a month is invoiced for: the lines, from what the ledger knows of it.
//!
//! The ledger sums each day by kind and book, and so do the lines. They are exact; the document states whole minor
//! units that add up to the rounded sum.

use crate::ledger::{Book, Kind, Sum};
use crate::values::{Money, MoneyError};

/// One thing that was sold in a month.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    pub description: String,
    /// Exact; negative for what was given back.
    pub net: Money,
}

/// What a movement was for, in the order of the lines. Payments, gifts and VAT are for nothing that was sold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Item {
    Calls,
    NumberSetup,
    NumberRental,
    NumberRefunds,
    Corrections,
}

fn item(kind: Kind, book: Book) -> Option<Item> {
    match (kind, book) {
        (Kind::Call, Book::Calls) => Some(Item::Calls),
        (Kind::NumberOrder | Kind::NumberRenewal, Book::NumberSetup) => Some(Item::NumberSetup),
        (Kind::NumberOrder | Kind::NumberRenewal, Book::NumberRental) => Some(Item::NumberRental),
        (Kind::NumberRefund, Book::Refunds) => Some(Item::NumberRefunds),
        (Kind::Correction, Book::Calls | Book::NumberSetup | Book::NumberRental | Book::Refunds) => {
            Some(Item::Corrections)
        }
        _ => None,
    }
}

/// The lines of these movements.
pub fn lines(sums: &[Sum]) -> Result<Vec<Line>, MoneyError> {
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
    Ok(items.into_iter().map(|(item, net, entries)| Line { description: describe(item, entries), net }).collect())
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
        (Item::Corrections, 1) => "correction",
        (Item::Corrections, _) => "corrections",
    };
    format!("{entries} {what}")
}

pub fn subtotal(lines: &[Line], none: Money) -> Result<Money, MoneyError> {
    lines.iter().map(|line| line.net).try_fold(none, Money::add)
}

/// The lines in whole minor units that add up to the rounded sum: each is rounded down, and those that lost most get
/// one unit back.
pub fn stated(lines: &[Line], subtotal: Money) -> Result<Vec<i64>, MoneyError> {
    let unit = Money::from_minor(1, subtotal.currency())?.nanos();
    let mut stated: Vec<i64> = lines.iter().map(|line| line.net.nanos().div_euclid(unit)).collect();
    let short = subtotal.minor() - stated.iter().sum::<i64>();
    let mut by_loss: Vec<usize> = (0..lines.len()).collect();
    by_loss.sort_by_key(|at| std::cmp::Reverse(lines[*at].net.nanos().rem_euclid(unit)));
    for at in by_loss.into_iter().take(usize::try_from(short).unwrap_or(0)) {
        stated[at] += 1;
    }
    Ok(stated)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;
    use crate::values::Currency;

    fn eur(nanos: i64) -> Money {
        Money::from_nanos(nanos, Currency::EUR)
    }

    fn sum(kind: Kind, book: Book, nanos: i64, entries: i64) -> Sum {
        Sum { kind, book, amount: eur(nanos), entries }
    }

    #[test]
    fn a_month_has_a_line_for_each_thing_sold_and_none_for_money_that_only_moved() {
        let sums = [
            sum(Kind::Call, Book::Calls, 6_750_000, 3),
            sum(Kind::Call, Book::Customer, -6_750_000, 3),
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
        let lines = lines(&sums).unwrap();
        let shown: Vec<(&str, i64)> = lines.iter().map(|line| (line.description.as_str(), line.net.nanos())).collect();
        let expected = [
            ("3 calls", 6_750_000),
            ("1 number set up", 5_000_000_000),
            ("3 months of number rental", 6_000_000_000),
            ("1 number order refunded", -7_000_000_000),
            ("1 correction", -500_000),
        ];
        assert_eq!(shown, expected);
        assert_eq!(subtotal(&lines, eur(0)).unwrap(), eur(4_006_250_000));
    }

    proptest! {
        #[test]
        fn stated_amounts_add_up_to_the_rounded_sum_and_are_off_by_less_than_a_unit(
            nets in proptest::collection::vec(-10_000_000_000_000i64..10_000_000_000_000, 1..12),
        ) {
            let lines: Vec<Line> =
                nets.iter().map(|nanos| Line { description: String::new(), net: eur(*nanos) }).collect();
            let sum = subtotal(&lines, eur(0)).unwrap();
            let stated = stated(&lines, sum).unwrap();
            prop_assert_eq!(stated.iter().sum::<i64>(), sum.minor());
            for (line, stated) in lines.iter().zip(&stated) {
                prop_assert!((stated * 10_000_000 - line.net.nanos()).abs() <= 10_000_000, "{line:?} {stated}");
            }
        }
    }
}
