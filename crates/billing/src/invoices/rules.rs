//! The states of an invoice as one pure table, and when the balance has covered it.

use platform::ledger::{Book, Kind, Sum};
use values::{Money, MoneyError, text_enum};

text_enum! {
    pub enum InvoiceStatus {
        /// Being worked out, inside the transaction that issues it.
        Draft = "draft",
        Issued = "issued",
        /// The balance has covered it.
        Paid = "paid",
        /// Declared void before it was paid; it keeps its number.
        Void = "void",
        /// Taken back by a credit note.
        Credited = "credited",
    }
}

impl InvoiceStatus {
    /// Whether what it says still holds: it was neither declared void nor taken back.
    pub fn is_in_force(self) -> bool {
        matches!(self, InvoiceStatus::Issued | InvoiceStatus::Paid)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// Given a number, with the balance covering it or not.
    Issue {
        covered: bool,
    },
    Pay,
    Void,
    Credit,
}

/// A move that the invoice's state does not allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub current: InvoiceStatus,
    pub allowed: &'static [InvoiceStatus],
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let allowed: Vec<&str> = self.allowed.iter().map(|status| status.as_str()).collect();
        write!(f, "The invoice is {}; this is allowed only while it is {}.", self.current, allowed.join(" or "))
    }
}

/// Where a move leads.
pub fn apply(current: InvoiceStatus, step: Move) -> Result<InvoiceStatus, Refusal> {
    use InvoiceStatus::{Credited, Draft, Issued, Paid, Void};
    let (allowed, to): (&'static [InvoiceStatus], InvoiceStatus) = match step {
        Move::Issue { covered } => (&[Draft], if covered { Paid } else { Issued }),
        Move::Pay => (&[Issued], Paid),
        Move::Void => (&[Issued], Void),
        Move::Credit => (&[Issued, Paid], Credited),
    };
    if allowed.contains(&current) { Ok(to) } else { Err(Refusal { current, allowed }) }
}

/// What was paid in, or given back, by these movements of a customer. Payments cover the oldest charges first.
pub fn paid_in(sums: &[Sum], none: Money) -> Result<Money, MoneyError> {
    let pays = |kind: Kind| {
        matches!(
            kind,
            Kind::Topup
                | Kind::Refund
                | Kind::Credit
                | Kind::Correction
                | Kind::NumberRefund
                | Kind::InvoiceVoid
                | Kind::CreditNote
        )
    };
    let counted = sums.iter().filter(|sum| sum.book == Book::Customer && pays(sum.kind));
    counted.map(|sum| sum.amount).try_fold(none, Money::add)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;
    use InvoiceStatus::{Credited, Draft, Issued, Paid, Void};
    use values::Currency;

    const MOVES: [Move; 5] =
        [Move::Issue { covered: true }, Move::Issue { covered: false }, Move::Pay, Move::Void, Move::Credit];

    /// The whole table once more, by hand.
    fn may(from: InvoiceStatus, step: Move) -> Option<InvoiceStatus> {
        match (from, step) {
            (Draft, Move::Issue { covered: true }) | (Issued, Move::Pay) => Some(Paid),
            (Draft, Move::Issue { covered: false }) => Some(Issued),
            (Issued, Move::Void) => Some(Void),
            (Issued | Paid, Move::Credit) => Some(Credited),
            _ => None,
        }
    }

    #[test]
    fn every_move_leads_where_the_table_says_and_nowhere_else() {
        for &from in InvoiceStatus::ALL {
            for step in MOVES {
                assert_eq!(apply(from, step).ok(), may(from, step), "{from} {step:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn an_invoice_is_issued_once_ends_once_and_is_never_void_after_it_was_paid(
            steps in proptest::collection::vec(proptest::sample::select(&MOVES), 1..30),
        ) {
            let (mut current, mut issued, mut paid) = (Draft, 0, false);
            for step in steps {
                let Ok(next) = apply(current, step) else { continue };
                prop_assert!(!matches!(current, Void | Credited), "{current} is an end");
                issued += i32::from(matches!(step, Move::Issue { .. }));
                paid |= next == Paid;
                prop_assert!(next != Draft && issued == 1 && !(paid && next == Void));
                current = next;
            }
        }
    }

    #[test]
    fn a_refusal_names_where_the_invoice_is_and_where_it_should_be() {
        let refusal = apply(Void, Move::Credit).unwrap_err().to_string();
        assert_eq!(refusal, "The invoice is void; this is allowed only while it is issued or paid.");
    }

    #[test]
    fn what_was_charged_is_not_paid_in_and_what_went_back_is_taken_off() {
        let eur = |units: i64| Money::from_minor(units * 100, Currency::EUR).unwrap();
        let sum = |kind, book, units| Sum { kind, book, amount: eur(units), entries: 1 };
        let sums = [
            sum(Kind::Topup, Book::Customer, 50),
            sum(Kind::Topup, Book::Clearing, -50),
            sum(Kind::Refund, Book::Customer, -5),
            sum(Kind::Call, Book::Customer, -30),
            sum(Kind::InvoiceVat, Book::Customer, -7),
            sum(Kind::Credit, Book::Customer, 1),
        ];
        assert_eq!(paid_in(&sums, eur(0)).unwrap(), eur(46));
    }
}
