//! The points in time of a series: hours, or days of a time zone.
//!
//! Rollups are kept by UTC hour and UTC day. Days of a zone whose clocks are not whole hours from UTC cannot be summed
//! up from them and are refused.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::cdrs::rollups::Sign;
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
const DAY_HOURS: usize = 24;

/// Slots of the rollups to sum up, and the points for which they count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub span: i64,
    /// In hours since 1970, in order.
    pub slots: Vec<i64>,
    /// Hours that are summed up together: those of the slots with the same quotient, which is their number.
    pub width: i64,
    counts: BTreeMap<i64, Vec<(Time, Sign)>>,
}

/// The points that cover a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    /// In hours since 1970.
    pub hours: Range<i64>,
    pub parts: Vec<Part>,
}

impl Part {
    fn new(span: i64, width: i64) -> Part {
        Part { span, slots: Vec::new(), width, counts: BTreeMap::new() }
    }

    /// Adds slots that all have the same number, if there are any.
    fn add(&mut self, slots: Range<i64>, counts: Vec<(Time, Sign)>) {
        if !slots.is_empty() {
            self.counts.insert(slots.start.div_euclid(self.width), counts);
            self.slots.extend(slots.step_by(usize::try_from(self.span).unwrap_or(1)));
        }
    }

    /// Whether there are hardly more slots than numbers, so that summing them up takes longer than reading them.
    pub fn has_few_slots_per_number(&self) -> bool {
        self.slots.len() <= 2 * self.counts.len()
    }

    /// The points for which the slots with this number count.
    pub fn counts(&self, number: i64) -> impl Iterator<Item = (Time, Sign)> {
        self.counts.get(&number).into_iter().flatten().copied()
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
pub fn cover(interval: Interval, zone: &TimeZone, (from, to): (Time, Time)) -> Result<Covered, NotWholeHours> {
    let last = Time::from_millis(to.millis().saturating_sub(1));
    match interval {
        Interval::Hour => {
            let (hours, mut part) = (hour_of(from)..hour_of(last) + 1, Part::new(HOUR_SPAN, HOUR_SPAN));
            for hour in hours.clone() {
                part.add(hour..hour + 1, vec![(start_of(hour), Sign::Plus)]);
            }
            Ok(Covered { hours, parts: vec![part] })
        }
        Interval::Day => {
            let ends = days(zone, from, last)?;
            let (Some(first), Some(end)) = (ends.first(), ends.last()) else { return Ok(Covered::default()) };
            Ok(Covered { hours: *first..*end, parts: of_days(&ends) })
        }
    }
}

/// What to sum up for days that begin at these hours, the last of which is the end of the last day.
///
/// A day that begins at 22:00 UTC is the UTC day, with the two hours of the evening before in place of its own last two.
/// So it takes far fewer rows than its 24 hours: the UTC days between the midnights next to its two ends, and the hours
/// from each end to its midnight, which count for one day and against its neighbour. All midnights are before their ends,
/// or all after, whichever takes fewer hours: so no two ends have their hours on the same UTC day.
fn of_days(ends: &[i64]) -> Vec<Part> {
    let before = |end: i64| end.div_euclid(DAY_SPAN) * DAY_SPAN;
    let after = |end: i64| before(end + DAY_SPAN - 1);
    let hours_before: i64 = ends.iter().map(|end| end - before(*end)).sum();
    let hours_after: i64 = ends.iter().map(|end| after(*end) - end).sum();
    let is_before = hours_before <= hours_after;
    let midnight = |end: i64| if is_before { before(end) } else { after(end) };
    let (to_earlier, to_later) = if is_before { (Sign::Plus, Sign::Minus) } else { (Sign::Minus, Sign::Plus) };
    let (mut days, mut hours) = (Part::new(DAY_SPAN, DAY_SPAN), Part::new(HOUR_SPAN, DAY_SPAN));
    for (index, &end) in ends.iter().enumerate() {
        let earlier = index.checked_sub(1).and_then(|earlier| ends.get(earlier));
        let later = ends.get(index + 1);
        let mut counts: Vec<_> = earlier.map(|earlier| (start_of(*earlier), to_earlier)).into_iter().collect();
        counts.extend(later.map(|_| (start_of(end), to_later)));
        let midnight_of_end = midnight(end);
        hours.add(end.min(midnight_of_end)..end.max(midnight_of_end), counts);
        for day in later.into_iter().flat_map(|later| (midnight_of_end..midnight(*later)).step_by(DAY_HOURS)) {
            days.add(day..day + DAY_SPAN, vec![(start_of(end), Sign::Plus)]);
        }
    }
    [days, hours].into_iter().filter(|part| !part.slots.is_empty()).collect()
}

fn start_of(hour: i64) -> Time {
    Time::from_millis(hour.saturating_mul(HOUR_MILLIS))
}

/// The hours at which the days from that of `from` to that of `last` begin, and at which the last one ends.
fn days(zone: &TimeZone, from: Time, last: Time) -> Result<Vec<i64>, NotWholeHours> {
    let mut ends = Vec::new();
    let Some(mut day) = zone.day_start(from) else { return Ok(ends) };
    ends.push(whole_hour(day)?);
    while day <= last {
        let Some(next) = zone.next_day_start(day) else { break };
        ends.push(whole_hour(next)?);
        day = next;
    }
    Ok(ends)
}

fn whole_hour(time: Time) -> Result<i64, NotWholeHours> {
    if time.millis() % HOUR_MILLIS == 0 { Ok(hour_of(time)) } else { Err(NotWholeHours) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use values::Rfc3339;

    fn at(text: &str) -> Time {
        text.parse::<Rfc3339>().unwrap().0
    }

    /// The number of points, and the slots of hours and days that are summed up for them.
    fn of(interval: Interval, zone: &str, from: &str, to: &str) -> Result<(usize, usize, usize), NotWholeHours> {
        let found = cover(interval, &zone.parse().unwrap(), (at(from), at(to)))?.parts;
        let points: BTreeSet<Time> =
            found.iter().flat_map(|part| part.counts.values().flatten()).map(|(at, _)| *at).collect();
        let slots = |span| found.iter().filter(|part| part.span == span).map(|part| part.slots.len()).sum();
        Ok((points.len(), slots(HOUR_SPAN), slots(DAY_SPAN)))
    }

    #[test]
    fn both_ends_are_rounded_outwards() {
        let hours = of(Interval::Hour, "UTC", "2026-03-01T10:30:00Z", "2026-03-01T12:00:01Z");
        assert_eq!(hours, Ok((3, 3, 0)));
        let days = of(Interval::Day, "UTC", "2026-03-01T10:30:00Z", "2026-03-03T00:00:00Z");
        assert_eq!(days, Ok((2, 0, 2)));
    }

    #[test]
    fn a_day_of_a_zone_takes_a_utc_day_and_the_hours_at_its_ends() {
        let summer = of(Interval::Day, "Europe/Amsterdam", "2026-07-01T00:00:00Z", "2026-07-01T01:00:00Z");
        assert_eq!(summer, Ok((1, 4, 1)));
        let spring = of(Interval::Day, "Europe/Amsterdam", "2026-03-27T12:00:00Z", "2026-03-31T12:00:00Z");
        assert_eq!(spring, Ok((5, 3 + 3 * 2, 5)), "a day of 23 hours among them");
        let autumn = of(Interval::Day, "Europe/Amsterdam", "2026-10-25T12:00:00Z", "2026-10-25T13:00:00Z");
        assert_eq!(autumn, Ok((1, 3, 1)), "of 25 hours");
        let london = of(Interval::Day, "Europe/London", "2026-03-28T12:00:00Z", "2026-03-31T12:00:00Z");
        assert_eq!(london, Ok((4, 3, 4)));
        let new_york = of(Interval::Day, "America/New_York", "2026-01-31T12:00:00Z", "2026-01-31T13:00:00Z");
        assert_eq!(new_york, Ok((1, 10, 1)));
    }

    #[test]
    fn days_that_begin_at_half_past_are_refused() {
        let found = of(Interval::Day, "Asia/Kolkata", "2026-03-27T12:00:00Z", "2026-03-31T12:00:00Z");
        assert_eq!(found, Err(NotWholeHours));
        let hours = of(Interval::Hour, "Asia/Kolkata", "2026-03-27T12:00:00Z", "2026-03-27T13:00:00Z");
        assert_eq!(hours, Ok((1, 1, 0)));
    }

    /// How often each hour counts for each point, as the statements select slots.
    fn weights(parts: &[Part]) -> BTreeMap<(Time, i64), i64> {
        let mut weights = BTreeMap::new();
        for part in parts {
            assert!(part.slots.is_sorted());
            for slot in &part.slots {
                assert_eq!(slot % part.span, 0);
                for (point, sign) in part.counts(slot / part.width) {
                    for hour in *slot..slot + part.span {
                        *weights.entry((point, hour)).or_default() += if sign == Sign::Plus { 1 } else { -1 };
                    }
                }
            }
        }
        weights.retain(|_, weight| *weight != 0);
        weights
    }

    proptest! {
        #[test]
        fn every_hour_counts_once_for_its_own_day_only(
            start in 480_000i64..480_100,
            lengths in prop::collection::vec(prop::sample::select(vec![24i64, 24, 24, 24, 23, 25]), 1..40),
        ) {
            let mut ends = vec![start];
            for length in lengths {
                ends.push(ends[ends.len() - 1] + length);
            }
            let days = ends.windows(2);
            let expected: BTreeMap<_, _> =
                days.flat_map(|day| (day[0]..day[1]).map(|hour| ((start_of(day[0]), hour), 1))).collect();
            prop_assert_eq!(weights(&of_days(&ends)), expected);
        }
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
