//! The leading digits of a number, packed so that comparing two of them is comparing two integers.
//!
//! Each digit takes four bits, the first one highest, and is kept as one more than it is; zero bits mean that no digit
//! is there. So the order of the integers is the order of a dictionary: `3`, `31`, `3120`, `32`. All that begins with a
//! prefix stands together, right behind it.

use std::fmt;
use std::str::FromStr;

/// One to fifteen digits: a prefix of numbers, or a whole number in E.164 without its plus sign.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix(u64);

/// A text that is not one to fifteen digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadPrefix;

impl fmt::Display for BadPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be 1 to 15 digits")
    }
}

impl std::error::Error for BadPrefix {}

/// How far a digit's bits stand from the right, by its place.
const fn shift(place: u32) -> u32 {
    4 * (Prefix::MOST_DIGITS - 1 - place)
}

impl Prefix {
    pub const MOST_DIGITS: u32 = 15;
    /// Before every other prefix: `0`.
    pub const FIRST: Prefix = Prefix(1 << shift(0));

    /// The leading digits, fifteen at most, of a number that may begin with a plus sign.
    pub fn of_number(number: &str) -> Option<Prefix> {
        let digits = number.strip_prefix('+').unwrap_or(number);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        digits.get(..Prefix::MOST_DIGITS as usize).unwrap_or(digits).parse().ok()
    }

    /// An integer below 2^60 in the order of the prefixes, which fits the signed columns of a database.
    pub fn code(self) -> u64 {
        self.0
    }

    pub fn from_code(code: u64) -> Option<Prefix> {
        let prefix = Prefix(code);
        let digits = prefix.digits();
        let held = (0..digits).all(|place| matches!(code >> shift(place) & 15, 1..=10));
        (code != 0 && digits <= Prefix::MOST_DIGITS && code < 1 << 60 && held).then_some(prefix)
    }

    /// How many there are.
    pub fn digits(self) -> u32 {
        Prefix::MOST_DIGITS - self.0.trailing_zeros().min(60) / 4
    }

    /// Whether `number` begins with this prefix, or is it.
    pub fn covers(self, number: Prefix) -> bool {
        number.first(self.digits()) == self.0
    }

    /// The prefixes that cover this one without being it, longest first.
    pub fn ancestors(self) -> impl Iterator<Item = Prefix> {
        (1..self.digits()).rev().map(move |digits| Prefix(self.first(digits)))
    }

    /// The one that follows directly: where a listing goes on after this prefix.
    pub fn next(self) -> Option<Prefix> {
        match self.digits() {
            Prefix::MOST_DIGITS => self.beyond(),
            digits => Some(Prefix(self.0 | 1 << shift(digits))),
        }
    }

    /// The first that stands behind everything this prefix covers.
    pub fn beyond(self) -> Option<Prefix> {
        let mut digits = self.digits();
        while digits > 0 && self.0 >> shift(digits - 1) & 15 == 10 {
            digits -= 1;
        }
        let place = digits.checked_sub(1)?;
        Some(Prefix(self.first(digits) + (1 << shift(place))))
    }

    fn first(self, digits: u32) -> u64 {
        self.0 & !((1 << (4 * (Prefix::MOST_DIGITS - digits))) - 1)
    }
}

impl FromStr for Prefix {
    type Err = BadPrefix;

    fn from_str(text: &str) -> Result<Prefix, BadPrefix> {
        if text.is_empty() || text.len() > Prefix::MOST_DIGITS as usize {
            return Err(BadPrefix);
        }
        let mut code = 0;
        for (place, byte) in (0..).zip(text.bytes()) {
            if !byte.is_ascii_digit() {
                return Err(BadPrefix);
            }
            code |= u64::from(byte - b'0' + 1) << shift(place);
        }
        Ok(Prefix(code))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; Prefix::MOST_DIGITS as usize];
        for (place, byte) in (0..).zip(&mut text) {
            *byte = (self.0 >> shift(place) & 15) as u8 + b'0' - 1;
        }
        let text = text.get(..self.digits() as usize).and_then(|digits| str::from_utf8(digits).ok());
        f.pad(text.unwrap_or_default())
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
