//! The points in time of a series: hours, or days of a time zone.
//!
//! Rollups are kept by UTC hour and UTC day. Days of a zone whose clocks are not whole hours from UTC cannot be summed
//! up from them and are refused.

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

/// Consecutive points of the same length, in hours since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub start: i64,
    /// Exclusive.
    pub end: i64,
    /// Hours from one point to the next.
    pub length: i64,
}

/// Slots of the rollups to sum up for a stretch, and the points for which they count.
///
/// A day that begins at 22:00 UTC is the UTC day, with the two hours of the evening before in place of its own last two.
/// So it takes far fewer rows than its 24 hours: the UTC days, and the hours exchanged, which count for one day and
/// against its neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub span: i64,
    pub start: i64,
    /// Exclusive.
    end: i64,
    /// Hours from one run of slots to the next.
    step: i64,
    /// Hours of a run.
    width: i64,
    /// Hours from one number to the next.
    pub length: i64,
    stretch: Stretch,
    /// The sign with which a number counts for its own point and for the one before.
    signs: (Sign, Option<Sign>),
}

impl Stretch {
    /// The start of the point with this number, if it has one.
    fn point(&self, number: i64) -> Option<Time> {
        let hour = self.start.checked_add(number.checked_mul(self.length)?)?;
        (self.start..self.end).contains(&hour).then(|| Time::from_millis(hour.saturating_mul(HOUR_MILLIS)))
    }

    pub fn parts(&self) -> Vec<Part> {
        let Stretch { start, end, length } = *self;
        let offset = start.rem_euclid(DAY_SPAN);
        let all = |span, start, end| Part {
            span,
            start,
            end,
            step: end - start,
            width: end - start,
            length,
            stretch: *self,
            signs: (Sign::Plus, None),
        };
        if length != DAY_SPAN {
            return vec![all(HOUR_SPAN, start, end)];
        }
        if offset == 0 {
            return vec![all(DAY_SPAN, start, end)];
        }
        // The UTC days that begin before those of the stretch, or after, whichever are nearer.
        let shift = if offset <= DAY_SPAN / 2 { -offset } else { DAY_SPAN - offset };
        let (first, width) = (start.min(start + shift), shift.abs());
        let exchanged = Part {
            step: DAY_SPAN,
            width,
            signs: if shift < 0 { (Sign::Minus, Some(Sign::Plus)) } else { (Sign::Plus, Some(Sign::Minus)) },
            ..all(HOUR_SPAN, first, first + (end - start) + width)
        };
        vec![all(DAY_SPAN, start + shift, end + shift), exchanged]
    }
}

impl Part {
    /// In order, each once.
    pub fn slots(&self) -> impl Iterator<Item = i64> {
        let step = |hours: i64| usize::try_from(hours).unwrap_or(1).max(1);
        let Part { span, start, end, width, .. } = *self;
        (start..end).step_by(step(self.step)).flat_map(move |run| (run..run + width).step_by(step(span)))
    }

    /// Whether no two slots have the same number.
    pub fn has_one_slot_per_point(&self) -> bool {
        self.span == self.length
    }

    /// The points for which the slots with this number count.
    pub fn counts(&self, number: i64) -> impl Iterator<Item = (Time, Sign)> {
        let (own, before) = self.signs;
        let counts = [Some((number, own)), before.map(|sign| (number.saturating_sub(1), sign))];
        let stretch = self.stretch;
        counts.into_iter().flatten().filter_map(move |(number, sign)| Some((stretch.point(number)?, sign)))
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
            Ok(vec![Stretch { start, end, length: 1 }])
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
            _ => stretches.push(Stretch { start, end, length: end - start }),
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
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use values::Rfc3339;

    fn at(text: &str) -> Time {
        text.parse::<Rfc3339>().unwrap().0
    }

    /// The number of points of each stretch, and their length.
    fn of(interval: Interval, zone: &str, from: &str, to: &str) -> Result<Vec<(i64, i64)>, NotWholeHours> {
        let found = stretches(interval, &zone.parse().unwrap(), (at(from), at(to)))?;
        Ok(found.iter().map(|it| ((it.end - it.start) / it.length, it.length)).collect())
    }

    #[test]
    fn both_ends_are_rounded_outwards() {
        let hours = of(Interval::Hour, "UTC", "2026-03-01T10:30:00Z", "2026-03-01T12:00:01Z");
        assert_eq!(hours, Ok(vec![(3, 1)]));
        let days = of(Interval::Day, "UTC", "2026-03-01T10:30:00Z", "2026-03-03T00:00:00Z");
        assert_eq!(days, Ok(vec![(2, 24)]));
    }

    #[test]
    fn days_of_a_zone_may_have_23_or_25_hours() {
        let spring = of(Interval::Day, "Europe/Amsterdam", "2026-03-27T12:00:00Z", "2026-03-31T12:00:00Z");
        assert_eq!(spring, Ok(vec![(2, 24), (1, 23), (2, 24)]));
        let autumn = of(Interval::Day, "Europe/Amsterdam", "2026-10-25T12:00:00Z", "2026-10-25T13:00:00Z");
        assert_eq!(autumn, Ok(vec![(1, 25)]));
        let first = stretches(
            Interval::Day,
            &"America/New_York".parse().unwrap(),
            (at("2026-01-31T12:00:00Z"), at("2026-01-31T13:00:00Z")),
        );
        assert_eq!(first.unwrap()[0].point(0), Some(at("2026-01-31T05:00:00Z")));
    }

    #[test]
    fn days_that_begin_at_half_past_are_refused() {
        let found = of(Interval::Day, "Asia/Kolkata", "2026-03-27T12:00:00Z", "2026-03-31T12:00:00Z");
        assert_eq!(found, Err(NotWholeHours));
        let hours = of(Interval::Hour, "Asia/Kolkata", "2026-03-27T12:00:00Z", "2026-03-27T13:00:00Z");
        assert_eq!(hours, Ok(vec![(1, 1)]));
    }

    /// How often each hour counts for each point, as the statements select slots.
    fn weights(stretch: Stretch) -> BTreeMap<(Time, i64), i64> {
        let mut weights = BTreeMap::new();
        for part in stretch.parts() {
            for slot in part.slots() {
                assert_eq!(slot % part.span, 0);
                for (point, sign) in part.counts((slot - part.start) / part.length) {
                    for hour in slot..slot + part.span {
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
        fn every_hour_counts_once_for_its_own_point_only(
            start in 480_000i64..480_100,
            length in prop::sample::select(vec![1i64, 23, 24, 25]),
            points in 1i64..40,
        ) {
            let stretch = Stretch { start, end: start + points * length, length };
            let expected = (start..stretch.end)
                .map(|hour| ((stretch.point((hour - start) / length).unwrap(), hour), 1))
                .collect::<BTreeMap<_, _>>();
            prop_assert_eq!(weights(stretch), expected);
        }
    }

    #[test]
    fn a_day_of_amsterdam_takes_four_hours_and_a_utc_day() {
        let found = stretches(
            Interval::Day,
            &"Europe/Amsterdam".parse().unwrap(),
            (at("2026-07-01T00:00:00Z"), at("2026-07-01T01:00:00Z")),
        );
        let parts: Vec<_> = found.unwrap()[0].parts().iter().map(|it| (it.span, it.end - it.start, it.width)).collect();
        assert_eq!(parts, [(24, 24, 24), (1, 26, 2)]);
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
