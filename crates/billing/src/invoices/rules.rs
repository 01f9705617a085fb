//! The status changes of an invoice as one table, and what counts as payment of it.

use platform::ledger::{Kind, Sum};
use values::{Money, MoneyError, text_enum};

text_enum! {
    /// Status of an invoice; `issued` means unpaid, `void` declared invalid, `credited` cancelled by a credit note.
    pub enum InvoiceStatus {
        /// Only inside the transaction that issues it.
        Draft = "draft",
        Issued = "issued",
        /// Covered by the balance or by later payments.
        Paid = "paid",
        /// Voided before it was paid; it keeps its number.
        Void = "void",
        /// Cancelled by a credit note.
        Credited = "credited",
    }
}

impl InvoiceStatus {
    /// Whether it still counts: neither voided nor credited.
    pub fn is_in_force(self) -> bool {
        matches!(self, InvoiceStatus::Issued | InvoiceStatus::Paid)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transition {
    /// Takes a number; `covered` if the balance covers it.
    Issue {
        covered: bool,
    },
    Pay,
    Void,
    Credit,
}

/// A status change that the current status does not allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidTransition {
    pub current: InvoiceStatus,
    pub allowed: &'static [InvoiceStatus],
}

impl std::fmt::Display for InvalidTransition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let allowed: Vec<&str> = self.allowed.iter().map(|status| status.as_str()).collect();
        write!(f, "The invoice is {}. This is allowed only while it is {}.", self.current, allowed.join(" or "))
    }
}

/// The status after a transition.
pub fn apply(current: InvoiceStatus, step: Transition) -> Result<InvoiceStatus, InvalidTransition> {
    use InvoiceStatus::{Credited, Draft, Issued, Paid, Void};
    let (allowed, to): (&'static [InvoiceStatus], InvoiceStatus) = match step {
        Transition::Issue { covered } => (&[Draft], if covered { Paid } else { Issued }),
        Transition::Pay => (&[Issued], Paid),
        Transition::Void => (&[Issued], Void),
        Transition::Credit => (&[Issued, Paid], Credited),
    };
    if allowed.contains(&current) { Ok(to) } else { Err(InvalidTransition { current, allowed }) }
}

/// Net payments of a customer in these sums: payments and credits minus refunds and disputed payments. Payments cover
/// the oldest charges first.
pub fn paid_in(sums: &[Sum], zero: Money) -> Result<Money, MoneyError> {
    let pays = |kind: Kind| {
        matches!(
            kind,
            Kind::Topup
                | Kind::Refund
                | Kind::Dispute
                | Kind::DisputeRelease
                | Kind::Chargeback
                | Kind::Credit
                | Kind::Correction
                | Kind::NumberRefund
                | Kind::CallCredit
                | Kind::InvoiceVoid
                | Kind::CreditNote
        )
    };
    let counted = sums.iter().filter(|sum| pays(sum.kind));
    counted.map(|sum| sum.amount).try_fold(zero, Money::sub)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;
    use InvoiceStatus::{Credited, Draft, Issued, Paid, Void};
    use platform::ledger::Book;
    use values::Currency;

    const MOVES: [Transition; 5] = [
        Transition::Issue { covered: true },
        Transition::Issue { covered: false },
        Transition::Pay,
        Transition::Void,
        Transition::Credit,
    ];

    /// The whole table a second time, written out.
    fn may(from: InvoiceStatus, step: Transition) -> Option<InvoiceStatus> {
        match (from, step) {
            (Draft, Transition::Issue { covered: true }) | (Issued, Transition::Pay) => Some(Paid),
            (Draft, Transition::Issue { covered: false }) => Some(Issued),
            (Issued, Transition::Void) => Some(Void),
            (Issued | Paid, Transition::Credit) => Some(Credited),
            _ => None,
        }
    }

    #[test]
    fn every_transition_follows_the_table() {
        for &from in InvoiceStatus::ALL {
            for step in MOVES {
                assert_eq!(apply(from, step).ok(), may(from, step), "{from} {step:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn an_invoice_is_issued_once_ends_once_and_is_not_voided_once_paid(
            steps in proptest::collection::vec(proptest::sample::select(&MOVES), 1..30),
        ) {
            let (mut current, mut issued, mut paid) = (Draft, 0, false);
            for step in steps {
                let Ok(next) = apply(current, step) else { continue };
                prop_assert!(!matches!(current, Void | Credited), "{current} is an end");
                issued += i32::from(matches!(step, Transition::Issue { .. }));
                paid |= next == Paid;
                prop_assert!(next != Draft && issued == 1 && !(paid && next == Void));
                current = next;
            }
        }
    }

    #[test]
    fn a_refused_transition_names_the_current_and_the_allowed_statuses() {
        let error = apply(Void, Transition::Credit).unwrap_err().to_string();
        assert_eq!(error, "The invoice is void. This is allowed only while it is issued or paid.");
    }

    #[test]
    fn charges_are_not_payments_and_refunds_are_subtracted() {
        let eur = |units: i64| Money::from_minor(units * 100, Currency::EUR).unwrap();
        let sum = |kind, book, units| Sum { kind, book, amount: eur(units), entries: 1 };
        let sums = [
            sum(Kind::Topup, Book::Clearing, -50),
            sum(Kind::Refund, Book::Clearing, 5),
            sum(Kind::Call, Book::Calls, 30),
            sum(Kind::InvoiceVat, Book::Vat, 7),
            sum(Kind::Credit, Book::Credits, -1),
        ];
        assert_eq!(paid_in(&sums, eur(0)).unwrap(), eur(46));
    }
}
