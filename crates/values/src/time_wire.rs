//! Times in JSON, in three formats, and dates.
//!
//! All of them range from the year 0000 to the year 9999, so that each format can express what another did.
//! A [`Time`] outside that range is sent as its nearest end.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::civil;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::text_form::{TextForm, impl_serde_as_text, impl_stored_as_text};
use super::{Invalid, Time, ascii, scalar};

const FIRST: Time = Time::from_millis(-62_167_219_200_000);
const LAST: Time = Time::from_millis(253_402_300_799_999);
const DAY_MS: i64 = 86_400_000;

/// A time in RFC 3339 format. Any offset is accepted; UTC is written, with milliseconds only if they are not zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rfc3339(pub Time);

/// A time as whole seconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnixSeconds(pub Time);

/// A time as milliseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnixMillis(pub Time);

/// A calendar date in the years 0000 to 9999, without a time zone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Date(civil::Date);

impl TextForm for Rfc3339 {
    const DESCRIPTION: &'static str = "Date and time (RFC 3339); responses are in UTC.";
    const FORMAT: &'static str = "date-time";
    const REASON: &'static str = "must be a date and time such as 2026-01-31T12:00:00Z";
    const PATTERN: &'static str =
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$";
    const EXAMPLE: &'static str = "2026-01-31T12:00:00Z";
}

impl FromStr for Rfc3339 {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        read_moment(text).filter(|time| (FIRST..=LAST).contains(time)).map(Rfc3339).ok_or_else(Self::invalid)
    }
}

/// Exactly the grammar of RFC 3339, section 5.6. Libraries accept more, such as a space in place of the T.
fn read_moment(text: &str) -> Option<Time> {
    let (date, time) = text.split_once(['T', 't'])?;
    let date: Date = date.parse().ok()?;
    let (clock, offset) = time.split_at(time.find(['Z', 'z', '+', '-'])?);
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, digits)| (clock, Some(digits)));
    let [hours, minutes, seconds] = fields(clock)?;
    // A leap second, 60, becomes the first second of the next minute: Unix time has no other value for it.
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let clock_ms = ((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction.map_or(Some(0), read_fraction)?;
    Some(Time::from_millis(date.start().millis() + clock_ms - read_offset(offset)?))
}

/// The milliseconds of a fraction of a second; finer digits are dropped.
fn read_fraction(digits: &str) -> Option<i64> {
    let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let millis =
        digits.bytes().chain(*b"00").take(3).fold(0, |millis, b| millis * 10 + i64::from(b.wrapping_sub(b'0')));
    all_digits.then_some(millis)
}

fn read_offset(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let [hours, minutes] = fields(text.get(1..)?)?;
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes) * 60_000)
}

/// Two-digit numbers between colons.
fn fields<const N: usize>(text: &str) -> Option<[i64; N]> {
    let mut found = [0; N];
    let mut parts = text.split(':');
    for field in &mut found {
        *field = i64::from(digits::<2>(parts.next()?)?);
    }
    parts.next().is_none().then_some(found)
}

fn digits<const N: usize>(text: &str) -> Option<i16> {
    let right = text.len() == N && text.bytes().all(|b| b.is_ascii_digit());
    right.then(|| text.parse().ok()).flatten()
}

impl Rfc3339 {
    /// The text and its length.
    fn ascii(self) -> ([u8; 24], usize) {
        let of_day = clamp_to_range(self.0).millis().rem_euclid(DAY_MS);
        let (seconds, fraction) = (of_day / 1000, of_day % 1000);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        put_date(&mut text, Date::from(self.0).0);
        put_digits(&mut text[11..13], seconds / 3600);
        put_digits(&mut text[14..16], seconds / 60 % 60);
        put_digits(&mut text[17..19], seconds % 60);
        if fraction > 0 {
            put_digits(&mut text[20..23], fraction);
            (text, 24)
        } else {
            text[19] = b'Z';
            (text, 20)
        }
    }

    /// Appends the time as it is displayed.
    pub fn push_to(self, out: &mut Vec<u8>) {
        let (text, length) = self.ascii();
        out.extend_from_slice(&text[..length]);
    }
}

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, length) = self.ascii();
        write_ascii(f, &text[..length])
    }
}

// Not with `write!`, which takes five times as long: responses contain many times.

fn put_date(text: &mut [u8], date: civil::Date) {
    put_digits(&mut text[0..4], date.year().into());
    put_digits(&mut text[5..7], date.month().into());
    put_digits(&mut text[8..10], date.day().into());
}

/// Fills `out` with the last digits of a number that is not negative.
fn put_digits(out: &mut [u8], number: i64) {
    ascii::put_digits(out, number.unsigned_abs());
}

fn write_ascii(f: &mut fmt::Formatter<'_>, text: &[u8]) -> fmt::Result {
    f.write_str(std::str::from_utf8(text).map_err(|_| fmt::Error)?)
}

fn clamp_to_range(time: Time) -> Time {
    time.clamp(FIRST, LAST)
}

impl TextForm for Date {
    const DESCRIPTION: &'static str = "Calendar date (YYYY-MM-DD).";
    const FORMAT: &'static str = "date";
    const REASON: &'static str = "must be a date such as 2026-01-31";
    const PATTERN: &'static str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$";
    const EXAMPLE: &'static str = "2026-01-31";
}

impl Date {
    /// `None` for a year before 0000, which has no four-digit form.
    pub fn new(date: civil::Date) -> Option<Date> {
        (date.year() >= 0).then_some(Date(date))
    }

    pub fn civil(self) -> civil::Date {
        self.0
    }

    /// Midnight at the start of the day, in UTC.
    pub fn start(self) -> Time {
        let days = self.0.duration_since(civil::date(1970, 1, 1)).as_hours() / 24;
        Time::from_millis(days * DAY_MS)
    }
}

impl From<Time> for Date {
    /// The day in UTC.
    fn from(time: Time) -> Date {
        let days = clamp_to_range(time).millis().div_euclid(DAY_MS);
        Date(civil::date(1970, 1, 1).saturating_add(jiff::SignedDuration::from_hours(days * 24)))
    }
}

impl FromStr for Date {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let read = || {
            let mut parts = text.splitn(3, '-');
            let year = digits::<4>(parts.next()?)?;
            let month = i8::try_from(digits::<2>(parts.next()?)?).ok()?;
            let day = i8::try_from(digits::<2>(parts.next()?)?).ok()?;
            civil::Date::new(year, month, day).ok().map(Date)
        };
        read().ok_or_else(Self::invalid)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = *b"0000-00-00";
        put_date(&mut text, self.0);
        write_ascii(f, &text)
    }
}

impl_serde_as_text!(Rfc3339);
impl_serde_as_text!(Date);
impl_stored_as_text!(Date);

/// Serde and the JSON schema of a time that is a number in JSON.
macro_rules! impl_serde_as_number {
    ($form:ident, $to_number:path, $from_number:path, $reason:literal, $example:literal) => {
        impl Serialize for $form {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_i64($to_number(clamp_to_range(self.0)))
            }
        }

        impl<'de> Deserialize<'de> for $form {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let time = $from_number(scalar::number(deserializer, || Invalid::because($reason))?);
                if (FIRST..=LAST).contains(&time) { Ok($form(time)) } else { Err(de::Error::custom($reason)) }
            }
        }

        impl JsonSchema for $form {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($form).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "integer", "format": "int64",
                    "minimum": $to_number(FIRST), "maximum": $to_number(LAST), "examples": [$example],
                })
            }
        }
    };
}

impl_serde_as_number!(
    UnixSeconds,
    Time::seconds,
    Time::from_seconds,
    "must be a whole number of seconds since 1970 such as 1769860800",
    1_769_860_800
);
impl_serde_as_number!(
    UnixMillis,
    Time::millis,
    Time::from_millis,
    "must be a whole number of milliseconds since 1970 such as 1769860800000",
    1_769_860_800_000i64
);

impl From<Time> for Rfc3339 {
    fn from(time: Time) -> Self {
        Rfc3339(time)
    }
}

impl From<Time> for UnixSeconds {
    fn from(time: Time) -> Self {
        UnixSeconds(time)
    }
}

impl From<Time> for UnixMillis {
    fn from(time: Time) -> Self {
        UnixMillis(time)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::Stored;

    proptest! {
        #[test]
        fn a_time_round_trips_through_each_format(millis in FIRST.millis()..=LAST.millis()) {
            let time = Time::from_millis(millis);
            prop_assert_eq!(Rfc3339(time).to_string().parse(), Ok(Rfc3339(time)));
            prop_assert_eq!(serde_json::from_value::<UnixMillis>(json!(UnixMillis(time))).unwrap().0, time);
            let seconds = serde_json::from_value::<UnixSeconds>(json!(UnixSeconds(time))).unwrap().0;
            prop_assert_eq!(seconds, Time::from_seconds(time.seconds()));
        }

        #[test]
        fn jiff_parses_the_times_we_write(millis in FIRST.millis()..=253_402_207_200_000) {
            let written: jiff::Timestamp = Rfc3339(Time::from_millis(millis)).to_string().parse().unwrap();
            prop_assert_eq!(written.as_millisecond(), millis);
        }

        #[test]
        fn a_date_round_trips_through_json_and_its_column(day in FIRST.millis() / DAY_MS..=LAST.millis() / DAY_MS) {
            let date = Date::from(Time::from_millis(day * DAY_MS));
            prop_assert_eq!(date.start().millis(), day * DAY_MS);
            prop_assert_eq!(date.to_string().parse(), Ok(date));
            prop_assert_eq!(Date::from_raw(date.to_raw()), Ok(date));
        }

        #[test]
        fn every_time_can_be_sent(millis: i64) {
            let time = Time::from_millis(millis);
            prop_assert!(Rfc3339(time).to_string().parse::<Rfc3339>().is_ok());
            prop_assert!(serde_json::from_value::<UnixSeconds>(json!(UnixSeconds(time))).is_ok());
            prop_assert!(serde_json::from_value::<UnixMillis>(json!(UnixMillis(time))).is_ok());
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text: String) {
            let _ = (text.parse::<Rfc3339>(), text.parse::<Date>());
        }
    }

    #[test]
    fn milliseconds_are_written_only_if_not_zero() {
        assert_eq!(Rfc3339(Time::EPOCH).to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(Rfc3339(Time::from_millis(-1)).to_string(), "1969-12-31T23:59:59.999Z");
        assert_eq!(Rfc3339(FIRST).to_string(), "0000-01-01T00:00:00Z");
        assert_eq!(Rfc3339(LAST).to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn offsets_fractions_and_leap_seconds_are_understood() {
        for (text, millis) in [
            ("1970-01-01T01:30:00+01:30", 0),
            ("1969-12-31T23:00:00-01:00", 0),
            ("1970-01-01t00:00:00z", 0),
            ("1970-01-01T00:00:00-00:00", 0),
            ("1970-01-01T00:00:00.5Z", 500),
            ("1970-01-01T00:00:00.0019999999999Z", 1),
            ("1970-01-01T00:00:60Z", 60_000),
        ] {
            assert_eq!(text.parse(), Ok(Rfc3339(Time::from_millis(millis))), "{text}");
        }
    }

    #[test]
    fn a_time_that_is_not_rfc_3339_is_refused() {
        for text in [
            "",
            "2026-01-31",
            "2026-01-31T12:00:00",
            "2026-01-31 12:00:00Z",
            "2026-01-31T12:00Z",
            "2026-02-30T12:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T12:60:00Z",
            "2026-01-31T12:00:61Z",
            "2026-01-31T12:00:00.Z",
            "2026-01-31T12:00:00+24:00",
            "2026-01-31T12:00:00+0100",
            "2026-01-31T12:00:00+01",
            "2026-01-31T12:00:00ZZ",
            "20260131T120000Z",
            "+2026-01-31T12:00:00Z",
            "-0001-01-31T12:00:00Z",
            "10000-01-01T00:00:00Z",
            "2026-01-31T12:00:00Z[UTC]",
            "0000-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "2026-01-31T12:00:00\u{661}Z",
            "2026-01-31T12:00:00Z\0",
        ] {
            assert_eq!(text.parse::<Rfc3339>(), Err(Rfc3339::invalid()), "{text}");
        }
    }

    #[test]
    fn a_malformed_date_is_refused() {
        for text in
            ["", "2026-1-31", "2026-02-29", "20260131", "2026-01-31Z", "2026-01-31-", "-026-01-31", "2026-13-01"]
        {
            assert_eq!(text.parse::<Date>(), Err(Date::invalid()), "{text}");
        }
        assert!(Date::new(civil::date(-1, 1, 1)).is_none());
    }

    #[test]
    fn a_number_out_of_range_is_refused_with_the_reason() {
        for number in [json!(1.5), json!("1769860800"), json!(null), json!(i64::MAX), json!(u64::MAX), json!(i64::MIN)]
        {
            let error = serde_json::from_value::<UnixSeconds>(number.clone()).unwrap_err().to_string();
            assert!(error.starts_with("must be a whole number of seconds"), "{number}: {error}");
            assert!(serde_json::from_value::<UnixMillis>(number).is_err());
        }
    }
}
