//! The test cards, and the validation of a card.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::super::{Brand, Card};
use super::Choice;
use values::Time;

/// Pays. The default in the form.
pub const PAYS: &str = "4242424242424242";
/// Is always declined.
const DECLINES: &str = "4000000000000002";
/// Pays at the checkout, and is declined when the merchant charges it later.
const DECLINES_LATER: &str = "4000000000009995";
/// Pays, and the payment is disputed at once.
const DISPUTES: &str = "4000000000000259";

/// The test cards, as the checkout page lists them.
pub const TEST_CARDS: [(&str, &str); 6] = [
    (PAYS, "Visa, pays"),
    ("5555555555554444", "Mastercard, pays"),
    ("378282246310005", "American Express, pays"),
    (DECLINES, "is declined"),
    (DECLINES_LATER, "pays now, is declined later"),
    (DISPUTES, "pays, and its bank disputes the payment"),
];

/// A card as the payer entered it.
pub struct CardInput {
    pub number: String,
    pub exp_month: String,
    pub exp_year: String,
}

/// The current year and month, to compare with a card's expiry.
pub fn year_and_month(now: Time) -> (i64, i64) {
    let date = Timestamp::from_millisecond(now.millis()).unwrap_or_default().to_zoned(TimeZone::UTC);
    (i64::from(date.year()), i64::from(date.month()))
}

/// The outcome of paying with this card in this year and month, or why the card is invalid.
pub fn pay(input: &CardInput, (year, month): (i64, i64)) -> Result<Choice, &'static str> {
    let number: String = input.number.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
    if !(12..=19).contains(&number.len()) || !is_luhn(&number) {
        return Err("This is not a valid card number. Check its digits.");
    }
    let exp_month = input.exp_month.parse().ok().filter(|month| (1..=12).contains(month));
    let exp_month: i64 = exp_month.ok_or("The month must be a number from 1 to 12.")?;
    let exp_year = input.exp_year.parse().ok().filter(|year| (2000..=2099).contains(year));
    let exp_year: i64 = exp_year.ok_or("The year must have four digits.")?;
    if (exp_year, exp_month) < (year, month) {
        return Err("This card has expired.");
    }
    if number == DECLINES {
        return Ok(Choice::Declined);
    }
    let last4 = number[number.len() - 4..].to_owned();
    let card = Card { brand: brand(&number), last4, exp_month, exp_year };
    let (declines_later, is_disputed) = (number == DECLINES_LATER, number == DISPUTES);
    Ok(Choice::Paid { card, number, declines_later, is_disputed })
}

/// Whether all characters are digits and the check digit is right (ISO/IEC 7812-1).
fn is_luhn(number: &str) -> bool {
    let mut sum = 0;
    for (position, byte) in number.bytes().rev().enumerate() {
        if !byte.is_ascii_digit() {
            return false;
        }
        let digit = u32::from(byte - b'0') * if position % 2 == 1 { 2 } else { 1 };
        sum += digit / 10 + digit % 10;
    }
    sum % 10 == 0
}

fn brand(number: &str) -> Brand {
    let head = |digits: usize| number.get(..digits).and_then(|head| head.parse::<u32>().ok()).unwrap_or(0);
    match (head(1), head(2), head(4)) {
        (4, ..) => Brand::Visa,
        (_, 51..=55, _) | (_, _, 2221..=2720) => Brand::Mastercard,
        (_, 34 | 37, _) => Brand::Amex,
        _ => Brand::Other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: (i64, i64) = (2030, 6);

    fn typed(number: &str) -> CardInput {
        CardInput { number: number.into(), exp_month: "06".into(), exp_year: "2030".into() }
    }

    fn paid(number: &str) -> Option<(Brand, String, bool)> {
        match pay(&typed(number), NOW) {
            Ok(Choice::Paid { card, declines_later, .. }) => Some((card.brand, card.last4, declines_later)),
            _ => None,
        }
    }

    #[test]
    fn every_test_card_does_what_the_page_says() {
        assert_eq!(paid("4242 4242 4242 4242"), Some((Brand::Visa, "4242".into(), false)));
        assert_eq!(paid("5555-5555-5555-4444"), Some((Brand::Mastercard, "4444".into(), false)));
        assert_eq!(paid("378282246310005"), Some((Brand::Amex, "0005".into(), false)));
        assert_eq!(paid(DECLINES_LATER), Some((Brand::Visa, "9995".into(), true)));
        assert!(matches!(pay(&typed(DECLINES), NOW), Ok(Choice::Declined)));
        assert!(matches!(pay(&typed(DISPUTES), NOW), Ok(Choice::Paid { is_disputed: true, .. })));
        assert!(TEST_CARDS.iter().all(|(number, _)| is_luhn(number)));
    }

    #[test]
    fn a_card_is_valid_to_the_end_of_its_month() {
        let ends = |exp_month: &str, exp_year: &str| {
            pay(&CardInput { exp_month: exp_month.into(), exp_year: exp_year.into(), ..typed(PAYS) }, NOW).is_ok()
        };
        assert!(ends("6", "2030") && ends("1", "2031"));
        assert!(!ends("5", "2030") && !ends("12", "2029") && !ends("13", "2030") && !ends("0", "2031"));
        assert!(!ends("6", "30") && !ends("", ""));
    }

    proptest! {
        #[test]
        fn one_wrong_digit_is_always_detected(position in 0usize..16, add in 1u8..10) {
            let mut digits = PAYS.as_bytes().to_vec();
            digits[position] = b'0' + (digits[position] - b'0' + add) % 10;
            let wrong: String = digits.into_iter().map(char::from).collect();
            prop_assert!(!is_luhn(&wrong));
        }

        #[test]
        fn no_input_panics(number: String, exp_month: String, exp_year: String) {
            let _ = pay(&CardInput { number, exp_month, exp_year }, NOW);
        }
    }
}
