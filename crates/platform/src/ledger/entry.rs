//! A transaction to be posted, valid from its construction.
//!
//! A charge names the books that get the money, a credit the books that give it; the customer's own posting is the
//! negated sum. So the postings of an entry always sum to zero.

use super::post::BookKey;
use super::{Book, Kind, LedgerError, TransactionId};
use values::{AccountId, Currency, Money, UserId};

/// Maximum of a posting, balance or hold: two billion units. The tables have the same check, so that
/// balance − held − minimum fits into 64 bits.
pub(super) const MAX_AMOUNT_NANOS: i64 = 2_000_000_000_000_000_000;

const MAX_BOOKS: usize = 6;
const MAX_REFERENCE_BYTES: usize = 200;
const MAX_NOTE_CHARS: usize = 300;

/// The kind and the reference of an event, which is posted once.
pub(super) type Event<'a> = (&'a str, &'a str);

/// A movement of one customer's money, in one currency.
#[derive(Clone, Debug)]
pub struct Entry {
    pub(super) account: AccountId,
    pub(super) kind: Kind,
    pub(super) reference: String,
    pub(super) currency: Currency,
    /// The customer's posting; negative for a charge.
    pub(super) amount: i64,
    /// The postings of the other books.
    pub(super) others: Vec<(Book, i64)>,
    pub(super) note: Option<String>,
    pub(super) actor: Option<UserId>,
    /// The id of the transaction; a new one if absent.
    pub(super) id: Option<TransactionId>,
}

impl Entry {
    /// The customer pays these amounts, each to a book of the operator.
    pub fn charge(
        account: AccountId,
        kind: Kind,
        reference: impl Into<String>,
        to: &[(Book, Money)],
    ) -> Result<Entry, LedgerError> {
        Entry::new(account, kind, reference.into(), to, 1)
    }

    /// The customer gets these amounts, each from a book of the operator.
    pub fn credit(
        account: AccountId,
        kind: Kind,
        reference: impl Into<String>,
        from: &[(Book, Money)],
    ) -> Result<Entry, LedgerError> {
        Entry::new(account, kind, reference.into(), from, -1)
    }

    /// Adds a note for people, cut to one short line.
    pub fn with_note(mut self, note: impl AsRef<str>) -> Entry {
        let clean = note.as_ref().chars().filter(|character| !character.is_control());
        self.note = Some(clean.take(MAX_NOTE_CHARS).collect());
        self
    }

    /// Adds the team member who did it.
    pub fn by(mut self, actor: UserId) -> Entry {
        self.actor = Some(actor);
        self
    }

    /// Sets the id of its transaction, for a caller that must know it beforehand.
    pub fn with_id(mut self, id: TransactionId) -> Entry {
        self.id = Some(id);
        self
    }

    /// The change of the customer's balance; negative for a charge.
    pub fn amount(&self) -> Money {
        Money::from_nanos(self.amount, self.currency)
    }

    pub(super) fn book(&self) -> BookKey {
        (self.account, self.currency)
    }

    pub(super) fn event(&self) -> Event<'_> {
        (self.kind.as_str(), &self.reference)
    }

    fn new(
        account: AccountId,
        kind: Kind,
        reference: String,
        parts: &[(Book, Money)],
        sign: i64,
    ) -> Result<Entry, LedgerError> {
        check_reference(&reference)?;
        let Some((_, first)) = parts.first() else { return Err(LedgerError::Invalid("an entry needs an amount")) };
        if parts.len() > MAX_BOOKS {
            return Err(LedgerError::Invalid("an entry has too many books"));
        }
        let mut total = Money::zero(first.currency());
        let mut others = Vec::with_capacity(parts.len());
        for &(book, part) in parts {
            if others.iter().any(|(other, _)| *other == book) {
                return Err(LedgerError::Invalid("an entry may name each book only once"));
            }
            total = total.add(part)?;
            others.push((book, sign * checked(part)?));
        }
        let amount = -sign * checked(total)?;
        let currency = total.currency();
        Ok(Entry { account, kind, reference, currency, amount, others, note: None, actor: None, id: None })
    }
}

/// The nanos of an amount to be moved: positive and within the maximum.
pub(super) fn checked(amount: Money) -> Result<i64, LedgerError> {
    match amount.nanos() {
        nanos if nanos > MAX_AMOUNT_NANOS => Err(LedgerError::TooLarge),
        nanos if nanos > 0 => Ok(nanos),
        _ => Err(LedgerError::Invalid("an amount to be moved must be positive")),
    }
}

pub(super) fn check_reference(reference: &str) -> Result<(), LedgerError> {
    if reference.is_empty() || reference.len() > MAX_REFERENCE_BYTES || reference.contains('\0') {
        return Err(LedgerError::Invalid("a reference must have 1 to 200 bytes and no NUL"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const ACCOUNT: AccountId = AccountId::new(Uuid::nil());

    fn eur(nanos: i64) -> Money {
        Money::from_nanos(nanos, Currency::EUR)
    }

    proptest! {
        #[test]
        fn the_postings_of_an_entry_sum_to_zero(setup: i64, rental: i64, pays: bool) {
            let parts = [(Book::NumberSetup, eur(setup)), (Book::NumberRental, eur(rental))];
            let make = if pays { Entry::charge } else { Entry::credit };
            if let Ok(entry) = make(ACCOUNT, Kind::NumberOrder, "1".to_owned(), &parts) {
                let others: i64 = entry.others.iter().map(|(_, amount)| amount).sum();
                prop_assert_eq!(entry.amount + others, 0);
                prop_assert_eq!(entry.amount < 0, pays);
                prop_assert!(setup > 0 && rental > 0 && entry.amount.abs() <= MAX_AMOUNT_NANOS);
            } else {
                let sum = i128::from(setup) + i128::from(rental);
                prop_assert!(setup <= 0 || rental <= 0 || sum > i128::from(MAX_AMOUNT_NANOS));
            }
        }
    }

    #[test]
    fn an_invalid_entry_is_refused() {
        let yen = Money::from_nanos(1, "JPY".parse().unwrap());
        let parts: [&[(Book, Money)]; 6] = [
            &[],
            &[(Book::Calls, eur(0))],
            &[(Book::Calls, eur(-1))],
            &[(Book::Calls, eur(1)), (Book::Calls, eur(1))],
            &[(Book::Calls, eur(1)), (Book::Vat, yen)],
            &[(Book::Calls, eur(MAX_AMOUNT_NANOS)), (Book::Vat, eur(1))],
        ];
        for parts in parts {
            assert!(Entry::charge(ACCOUNT, Kind::Call, "1", parts).is_err(), "{parts:?}");
        }
        let long = "x".repeat(201);
        for reference in ["", "a\0b", &long] {
            assert!(Entry::charge(ACCOUNT, Kind::Call, reference, &[(Book::Calls, eur(1))]).is_err());
        }
        assert!(matches!(
            Entry::charge(ACCOUNT, Kind::Call, "1", &[(Book::Calls, eur(i64::MAX)), (Book::Vat, eur(i64::MAX))]),
            Err(LedgerError::TooLarge)
        ));
    }

    #[test]
    fn a_note_is_short_and_on_one_line() {
        let entry = Entry::charge(ACCOUNT, Kind::Call, "1", &[(Book::Calls, eur(1))]).unwrap();
        assert_eq!(entry.clone().with_note("a\nb\0c").note.as_deref(), Some("abc"));
        assert_eq!(entry.with_note("x".repeat(1000)).note.map(|note| note.len()), Some(MAX_NOTE_CHARS));
    }
}
