//! The values of cells as upstreams write them. A reason continues a sentence that begins with the column's name.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::UnixMillis;

const NANOS: i64 = 1_000_000_000;
/// Whole units that an amount may have.
const MAX_UNITS: i64 = 1_000_000;
/// Decimals of a nano.
pub const MAX_DECIMALS: usize = 9;
/// A week, as for CDRs.
const MAX_SECONDS: u32 = 7 * 24 * 3600;

/// The digits of a phone number with its country code. A plus, 00, spaces and punctuation do not matter.
pub fn number(cell: &str) -> Result<u64, &'static str> {
    const NO_NUMBER: &str = "must be a phone number with its country code, of 3 to 15 digits";
    let is_separator = |letter: char| letter.is_whitespace() || matches!(letter, '-' | '(' | ')' | '.' | '/' | '\'');
    let plain = cell.trim_matches(is_separator);
    let (digits, is_international) = match plain.strip_prefix('+').or_else(|| plain.strip_prefix("00")) {
        Some(digits) => (digits, true),
        None => (plain, false),
    };
    let (mut value, mut count) = (0u64, 0);
    for letter in digits.chars().filter(|letter| !is_separator(*letter)) {
        let digit = letter.to_digit(10).filter(|_| letter.is_ascii_digit()).ok_or(NO_NUMBER)?;
        if count == 0 && digit == 0 {
            return Err(if is_international { NO_NUMBER } else { "must begin with a country code" });
        }
        (value, count) = (value.checked_mul(10).ok_or(NO_NUMBER)? + u64::from(digit), count + 1);
    }
    if (3..=15).contains(&count) { Ok(value) } else { Err(NO_NUMBER) }
}

/// Seconds, of which every started one counts, or minutes and seconds as in `1:30`, or hours too.
pub fn duration(cell: &str) -> Result<u32, &'static str> {
    const NO_DURATION: &str = "must be a number of seconds such as 90, or a time such as 00:01:30";
    let whole = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse::<u32>().ok()).flatten().ok_or(NO_DURATION)
    };
    let seconds = match cell.split(':').collect::<Vec<_>>().as_slice() {
        [seconds] => {
            let (units, fraction) = seconds.split_once(['.', ',']).unwrap_or((seconds, ""));
            if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(NO_DURATION);
            }
            Some(whole(units)?.saturating_add(u32::from(fraction.bytes().any(|digit| digit != b'0'))))
        }
        [minutes, seconds] => sum(0, whole(minutes)?, whole(seconds)?),
        [hours, minutes, seconds] => sum(whole(hours)?, whole(minutes)?, whole(seconds)?),
        _ => None,
    };
    match seconds {
        None => Err(NO_DURATION),
        Some(seconds) if seconds > MAX_SECONDS => Err("must be at most a week"),
        Some(seconds) => Ok(seconds),
    }
}

fn sum(hours: u32, minutes: u32, seconds: u32) -> Option<u32> {
    (seconds < 60).then_some(())?;
    hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)
}

/// An amount in nanos, rounded half up if it has more decimals, and how many decimals it shows.
pub fn amount(cell: &str, separator: Option<char>) -> Result<(i64, usize), &'static str> {
    const NO_AMOUNT: &str = "must be an amount such as 0.0125";
    // A currency may stand before or after it.
    let is_currency = |letter: char| letter.is_whitespace() || letter.is_alphabetic() || "€$£".contains(letter);
    let plain = cell.trim_matches(is_currency);
    if plain.starts_with('-') {
        return Err("must not be negative");
    }
    match separator {
        Some(',') if plain.contains('.') => return Err("must be an amount such as 0,0125"),
        Some('.') if plain.contains(',') => return Err(NO_AMOUNT),
        _ => {}
    }
    let (whole, fraction) = plain.split_once(['.', ',']).unwrap_or((plain, ""));
    let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !all_digits || (whole.is_empty() && fraction.is_empty()) {
        return Err(NO_AMOUNT);
    }
    let units: i64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| "must be at most 1000000")? };
    let digit = |index: usize| fraction.as_bytes().get(index).map_or(0, |digit| i64::from(digit - b'0'));
    let nanos =
        (0..MAX_DECIMALS).fold(0, |nanos, index| nanos * 10 + digit(index)) + i64::from(digit(MAX_DECIMALS) >= 5);
    if units > MAX_UNITS || (units == MAX_UNITS && nanos > 0) {
        return Err("must be at most 1000000");
    }
    Ok((units * NANOS + nanos, fraction.len().min(MAX_DECIMALS)))
}

pub const NO_TIME: &str = "must be a time such as 2030-01-31T12:00:00Z or 2030-01-31 12:00:00";

/// A time, and whether it is that of clocks in the time zone of the statement.
pub fn time(cell: &str) -> Option<(UnixMillis, bool)> {
    if let Ok(timestamp) = cell.parse::<Timestamp>() {
        return Some((timestamp.as_millisecond(), false));
    }
    // A date alone is not a start.
    let local = cell.parse::<DateTime>().ok().filter(|_| cell.contains(':'))?;
    Some((local.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond(), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_however_they_are_written() {
        for text in
            ["+31201234567", "0031201234567", "31201234567", "+31 20 123-45 67", "(31) 20.123.4567", "'31201234567"]
        {
            assert_eq!(number(text), Ok(31_201_234_567), "{text}");
        }
        for text in ["", "+", "0201234567", "12", "3.12E+10", "1234567890123456", "anonymous", "+0312012345"] {
            assert!(number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_seconds_or_times() {
        for (text, seconds) in
            [("0", 0), ("90", 90), ("89.2", 90), ("90.0", 90), ("1:30", 90), ("00:01:30", 90), ("1:00:00", 3600)]
        {
            assert_eq!(duration(text), Ok(seconds), "{text}");
        }
        for text in ["", "-1", "1:60", "1:2:3:4", "x", "1:", "604801", "99999999999", "4000000:00:00"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_keep_the_decimals_that_they_show() {
        for (text, read) in [
            ("0.0125", (12_500_000, 4)),
            ("0,012500", (12_500_000, 6)),
            ("12", (12_000_000_000, 0)),
            (".5", (500_000_000, 1)),
            ("0.30000000000000004", (300_000_000, 9)),
            ("0.0000000005", (1, 9)),
            ("0.9999999999", (1_000_000_000, 9)),
            ("€ 0.01", (10_000_000, 2)),
            ("0.01 EUR", (10_000_000, 2)),
        ] {
            assert_eq!(amount(text, None), Ok(read), "{text}");
        }
        for text in ["", "-1", "1.2.3", "1E-5", "1000000.1", "9999999999999999999", "EUR"] {
            assert!(amount(text, None).is_err(), "{text}");
        }
        assert!(amount("0.1", Some(',')).is_err() && amount("0,1", Some('.')).is_err());
    }

    #[test]
    fn times_have_an_offset_or_are_local() {
        assert_eq!(time("1970-01-01T01:00:00+01:00"), Some((0, false)));
        assert_eq!(time("1970-01-01T00:00:01Z"), Some((1000, false)));
        assert_eq!(time("1970-01-01 00:00:01"), Some((1000, true)));
        assert_eq!(time("1970-01-01"), None);
        assert_eq!(time("01/02/1970 00:00"), None);
    }
}
