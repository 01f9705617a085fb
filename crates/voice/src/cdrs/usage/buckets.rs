//! The points in time of a series: hours, or days of a time zone.
//!
//! Rollups are kept by UTC hour and UTC day. Days of a zone whose clocks are not whole hours from UTC cannot be summed
//! up from them and are refused.

use crate::concurrency::{HOUR_MILLIS, hour_of};
use values::{Time, TimeZone, text_enum};

text_enum! {
    /// Interval of a series.
    pub enum Interval {
        Hour = "hour",
        Day = "day",
    }
}

/// Hours that a slot of the rollups has.
pub const HOUR_SPAN: i64 = 1;
pub const DAY_SPAN: i64 = 24;

/// Consecutive points of the same length, in hours since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub start: i64,
    /// Exclusive.
    pub end: i64,
    /// Hours from one point to the next.
    pub length: i64,
    /// The slots of the rollups to sum up.
    pub span: i64,
}

impl Stretch {
    /// The start of the point with this number.
    pub fn point(&self, number: i64) -> Time {
        Time::from_millis(self.start.saturating_add(number.saturating_mul(self.length)).saturating_mul(HOUR_MILLIS))
    }
}

/// Slots of one length in the rollups, in hours since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    pub span: i64,
    pub start: i64,
    /// Exclusive.
    pub end: i64,
}

/// The slots that cover a range of hours exactly: whole UTC days, and the hours before and after them.
pub fn covering(start: i64, end: i64) -> Vec<Slots> {
    let first_day = (start + DAY_SPAN - 1).div_euclid(DAY_SPAN) * DAY_SPAN;
    let last_day = end.div_euclid(DAY_SPAN) * DAY_SPAN;
    if first_day >= last_day {
        return vec![Slots { span: HOUR_SPAN, start, end }];
    }
    let parts = [
        Slots { span: HOUR_SPAN, start, end: first_day },
        Slots { span: DAY_SPAN, start: first_day, end: last_day },
        Slots { span: HOUR_SPAN, start: last_day, end },
    ];
    parts.into_iter().filter(|part| part.start < part.end).collect()
}

/// Days that do not begin on a full hour UTC.
#[derive(Debug, PartialEq, Eq)]
pub struct NotWholeHours;

/// The points that cover a range, both of its ends rounded outwards to the interval.
pub fn stretches(interval: Interval, zone: &TimeZone, (from, to): (Time, Time)) -> Result<Vec<Stretch>, NotWholeHours> {
    let last = Time::from_millis(to.millis().saturating_sub(1));
    match interval {
        Interval::Hour => {
            let (start, end) = (hour_of(from), hour_of(last) + 1);
            Ok(vec![Stretch { start, end, length: 1, span: HOUR_SPAN }])
        }
        Interval::Day => days(zone, from, last),
    }
}

/// The days from that of `from` to that of `last`. Days of 23 or 25 hours are stretches of their own.
fn days(zone: &TimeZone, from: Time, last: Time) -> Result<Vec<Stretch>, NotWholeHours> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let Some(mut day) = zone.day_start(from) else { return Ok(stretches) };
    while day <= last {
        let Some(next) = zone.next_day_start(day) else { break };
        let (start, end) = (whole_hour(day)?, whole_hour(next)?);
        match stretches.last_mut() {
            Some(stretch) if stretch.length == end - start => stretch.end = end,
            _ => {
                let is_utc_day = start % DAY_SPAN == 0 && end - start == DAY_SPAN;
                let span = if is_utc_day { DAY_SPAN } else { HOUR_SPAN };
                stretches.push(Stretch { start, end, length: end - start, span });
            }
        }
        day = next;
    }
    Ok(stretches)
}

fn whole_hour(time: Time) -> Result<i64, NotWholeHours> {
    if time.millis() % HOUR_MILLIS == 0 { Ok(hour_of(time)) } else { Err(NotWholeHours) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use values::Rfc3339;

    fn at(text: &str) -> Time {
        text.parse::<Rfc3339>().unwrap().0
    }

    fn of(interval: Interval, zone: &str, from: &str, to: &str) -> Result<Vec<(i64, i64, i64)>, NotWholeHours> {
        let found = stretches(interval, &zone.parse().unwrap(), (at(from), at(to)))?;
        Ok(found.iter().map(|it| ((it.end - it.start) / it.length, it.length, it.span)).collect())
    }

    #[test]
    fn both_ends_are_rounded_outwards() {
        let hours = of(Interval::Hour, "UTC", "2026-03-01T10:30:00Z", "2026-03-01T12:00:01Z");
        assert_eq!(hours, Ok(vec![(3, 1, 1)]));
        let days = of(Interval::Day, "UTC", "2026-03-01T10:30:00Z", "2026-03-03T00:00:00Z");
        assert_eq!(days, Ok(vec![(2, 24, 24)]));
    }

    #[test]
    fn days_of_a_zone_are_summed_from_hours_and_may_have_23_or_25() {
        let spring = of(Interval::Day, "Europe/Amsterdam", "2026-03-27T12:00:00Z", "2026-03-31T12:00:00Z");
        assert_eq!(spring, Ok(vec![(2, 24, 1), (1, 23, 1), (2, 24, 1)]));
        let autumn = of(Interval::Day, "Europe/Amsterdam", "2026-10-25T12:00:00Z", "2026-10-25T13:00:00Z");
        assert_eq!(autumn, Ok(vec![(1, 25, 1)]));
        let first = stretches(
            Interval::Day,
            &"America/New_York".parse().unwrap(),
            (at("2026-01-31T12:00:00Z"), at("2026-01-31T13:00:00Z")),
        );
        assert_eq!(first.unwrap()[0].point(0), at("2026-01-31T05:00:00Z"));
    }

    #[test]
    fn days_that_begin_at_half_past_are_refused() {
        let found = of(Interval::Day, "Asia/Kolkata", "2026-03-27T12:00:00Z", "2026-03-31T12:00:00Z");
        assert_eq!(found, Err(NotWholeHours));
        let hours = of(Interval::Hour, "Asia/Kolkata", "2026-03-27T12:00:00Z", "2026-03-27T13:00:00Z");
        assert_eq!(hours, Ok(vec![(1, 1, 1)]));
    }

    #[test]
    fn a_range_is_covered_by_days_and_the_hours_around_them() {
        let parts = |start, end| -> Vec<(i64, i64, i64)> {
            covering(start, end).iter().map(|it| (it.span, it.start, it.end)).collect()
        };
        assert_eq!(parts(48, 96), [(24, 48, 96)]);
        assert_eq!(parts(47, 97), [(1, 47, 48), (24, 48, 96), (1, 96, 97)]);
        assert_eq!(parts(47, 71), [(1, 47, 71)]);
        assert_eq!(parts(48, 71), [(1, 48, 71)]);
        assert_eq!(parts(47, 96), [(1, 47, 48), (24, 48, 96)]);
    }
}
