//! Parses the cells of a deck. An error continues a sentence that begins with the column's name.

use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};

use crate::{Prefix, UnixMillis};

/// Maximum price per minute and connect fee, in units of the deck's currency. More is a mistake, such as a swapped
/// column.
const MAX_UNITS: i64 = 1_000_000;
const NANOS: i64 = 1_000_000_000;
const MAX_DECIMALS: usize = 9;
pub const MAX_NAME_CHARS: usize = 200;

/// Accepts a leading `+` or `00`. No country code begins with zero: such a prefix is a national number and would match
/// no call.
pub fn prefix(cell: &str) -> Result<Prefix, &'static str> {
    let digits = cell.strip_prefix('+').or_else(|| cell.strip_prefix("00")).unwrap_or(cell);
    if digits.starts_with('0') {
        return Err("must begin with a country code");
    }
    digits.parse().map_err(|_| "must be 1 to 15 digits")
}

pub fn name(cell: &str) -> Result<&str, &'static str> {
    if cell.is_empty() {
        Err("must not be empty")
    } else if cell.chars().count() > MAX_NAME_CHARS {
        Err("must have at most 200 characters")
    } else if cell.chars().any(char::is_control) {
        Err("must not have control characters")
    } else {
        Ok(cell)
    }
}

/// Parses an amount with a decimal point or comma into nanos.
pub fn nanos(cell: &str) -> Result<i64, &'static str> {
    const NO_AMOUNT: &str = "must be an amount such as 0.0125";
    if cell.starts_with('-') {
        return Err("must not be negative");
    }
    let (whole, fraction) = cell.split_once(['.', ',']).unwrap_or((cell, ""));
    let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !all_digits || (whole.is_empty() && fraction.is_empty()) {
        return Err(NO_AMOUNT);
    }
    if fraction.len() > MAX_DECIMALS {
        return Err("must have at most 9 decimals");
    }
    let number = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<i64>().ok() };
    let units = number(whole).filter(|units| *units <= MAX_UNITS).ok_or("must be at most 1000000")?;
    let scale = (fraction.len()..MAX_DECIMALS).fold(1, |scale, _| scale * 10);
    let nanos = units * NANOS + number(fraction).ok_or(NO_AMOUNT)? * scale;
    if nanos > MAX_UNITS * NANOS { Err("must be at most 1000000") } else { Ok(nanos) }
}

pub fn seconds(cell: &str, min: u16, reason: &'static str) -> Result<u16, &'static str> {
    let is_digits = cell.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = cell.parse().ok().filter(|seconds| is_digits && (min..=crate::Rate::MAX_SECONDS).contains(seconds));
    seconds.ok_or(reason)
}

pub const NO_TIMESTAMP: &str = "must be a date such as 2030-01-31 or a timestamp such as 2030-01-31T12:00:00Z";

/// An RFC 3339 timestamp, or a date, which means midnight UTC.
pub fn timestamp(cell: &str) -> Result<UnixMillis, &'static str> {
    let date = || cell.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let is_date = cell.len() == "2030-01-01".len();
    let timestamp = if is_date { date() } else { cell.parse::<Timestamp>().ok() };
    timestamp.map(Timestamp::as_millisecond).ok_or(NO_TIMESTAMP)
}

/// Minimum and increment in seconds, such as `60/1`; one number means both.
pub fn increments(cell: &str) -> Result<(u16, u16), &'static str> {
    const NO_INCREMENTS: &str = "must be minimum and increment such as 60/1, up to 3600 seconds";
    let (minimum, increment) = cell.split_once(['/', '+', ':', '-']).unwrap_or((cell, cell));
    Ok((seconds(minimum.trim(), 0, NO_INCREMENTS)?, seconds(increment.trim(), 1, NO_INCREMENTS)?))
}
