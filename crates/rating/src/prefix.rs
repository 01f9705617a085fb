//! The leading digits of a phone number, packed into an integer.
//!
//! Each digit takes four bits, the first one highest, stored as the digit plus one; zero bits mean no digit. So the
//! integers sort like strings: `3`, `31`, `3120`, `32`. All numbers with a prefix follow it directly.

use std::fmt;
use std::str::FromStr;

/// 1 to 15 digits: a prefix, or a whole E.164 number without its plus.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix(u64);

/// The text is not 1 to 15 digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrefixError;

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be 1 to 15 digits")
    }
}

impl std::error::Error for PrefixError {}

/// The shift of the digit at `index`, from 0.
const fn shift(index: u32) -> u32 {
    4 * (Prefix::MAX_DIGITS - 1 - index)
}

impl Prefix {
    pub const MAX_DIGITS: u32 = 15;
    /// What can be in the place of a digit: one of ten, or none.
    pub(crate) const RANKS: usize = 11;
    pub(crate) const MAX_RANKED: u32 = 8;
    /// The first prefix in order: `0`.
    pub const FIRST: Prefix = Prefix(1 << shift(0));

    /// The first 15 digits of a number, with or without a plus.
    pub fn of_number(number: &str) -> Option<Prefix> {
        let digits = number.strip_prefix('+').unwrap_or(number);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        digits.get(..Prefix::MAX_DIGITS as usize).unwrap_or(digits).parse().ok()
    }

    /// The packed integer: sorts like the prefixes and is below 2^60, so it fits a signed database column.
    pub fn code(self) -> u64 {
        self.0
    }

    pub fn from_code(code: u64) -> Option<Prefix> {
        let prefix = Prefix(code);
        let digits = prefix.digits();
        let is_decimal = (0..digits).all(|index| matches!(code >> shift(index) & 15, 1..=10));
        (code != 0 && digits <= Prefix::MAX_DIGITS && code < 1 << 60 && is_decimal).then_some(prefix)
    }

    /// The number of digits.
    pub fn digits(self) -> u32 {
        Prefix::MAX_DIGITS - self.0.trailing_zeros().min(60) / 4
    }

    /// Whether `number` begins with or equals this prefix.
    pub fn covers(self, number: Prefix) -> bool {
        number.first(self.digits()) == self.0
    }

    /// All shorter prefixes of this one, longest first.
    pub fn ancestors(self) -> impl Iterator<Item = Prefix> {
        (1..self.digits()).rev().map(move |digits| Prefix(self.first(digits)))
    }

    /// The next prefix in order, where a page after this prefix begins.
    pub fn next(self) -> Option<Prefix> {
        match self.digits() {
            Prefix::MAX_DIGITS => self.range_end(),
            digits => Some(Prefix(self.0 | 1 << shift(digits))),
        }
    }

    /// The end (exclusive) of the range that this prefix covers; `None` if the range reaches to the last prefix.
    pub fn range_end(self) -> Option<Prefix> {
        let mut digits = self.digits();
        while digits > 0 && self.0 >> shift(digits - 1) & 15 == 10 {
            digits -= 1;
        }
        let last = digits.checked_sub(1)?;
        Some(Prefix(self.first(digits) + (1 << shift(last))))
    }

    /// The number of first digits that both have in common.
    pub(crate) fn common_digits(self, other: Prefix) -> u32 {
        (self.0 ^ other.0).leading_zeros().saturating_sub(4) / 4
    }

    /// The first digits, of which there are at least as many.
    pub(crate) fn truncated(self, digits: u32) -> Prefix {
        Prefix(self.first(digits))
    }

    /// The digit at an index below 15, plus one; zero for none.
    pub(crate) fn digit_code(self, index: u32) -> u32 {
        (self.0 >> shift(index) & 15) as u32
    }

    /// The place of the first digits, at most [`Prefix::MAX_RANKED`] of them, among all that could be there.
    pub(crate) fn rank(self, digits: u32) -> usize {
        let code = self.0 >> (4 * (Prefix::MAX_DIGITS - digits));
        let pairs = (code & 0x0f0f_0f0f) + 11 * (code >> 4 & 0x0f0f_0f0f);
        let fours = (pairs & 0x00ff_00ff) + 121 * (pairs >> 8 & 0x00ff_00ff);
        ((fours & 0xffff) + 14_641 * (fours >> 16)) as usize
    }

    fn first(self, digits: u32) -> u64 {
        self.0 & !((1 << (4 * (Prefix::MAX_DIGITS - digits))) - 1)
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Prefix, PrefixError> {
        if text.is_empty() || text.len() > Prefix::MAX_DIGITS as usize {
            return Err(PrefixError);
        }
        let mut code = 0;
        for (index, byte) in (0..).zip(text.bytes()) {
            if !byte.is_ascii_digit() {
                return Err(PrefixError);
            }
            code |= u64::from(byte - b'0' + 1) << shift(index);
        }
        Ok(Prefix(code))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; Prefix::MAX_DIGITS as usize];
        for (index, byte) in (0..).zip(&mut text) {
            *byte = (self.0 >> shift(index) & 15) as u8 + b'0' - 1;
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
