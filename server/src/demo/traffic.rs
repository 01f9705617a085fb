//! Calls as companies make them: by the hour of the day and the day of the week, most of them answered, some not.

use std::time::Duration;

use serde_json::{Value, json};

use super::calendar::{Calendar, HOUR, hour_of_day, weekday};
use super::cast::{Company, Fate, Rhythm};
use super::chance::Chance;
use super::market::{self, SUPPLIERS};
use values::Time;

/// How many of a hundred calls of a company with numbers are calls to it.
const INBOUND_PERCENT: i64 = 15;
/// How many of a hundred calls go where the company calls most.
const FAVOURITE_PERCENT: i64 = 70;

/// A company that may call.
pub struct Caller {
    pub company: &'static Company,
    pub trunk_id: String,
    pub numbers: Vec<String>,
    pub since: Time,
    pub until: Option<Time>,
}

impl Caller {
    fn calls_in(&self, hour: Time) -> bool {
        self.since <= hour && self.until.is_none_or(|until| hour.plus(HOUR) <= until)
    }
}

/// Calls that were begun, as lines of a switch.
pub struct Traffic {
    /// Calls for each unit of a company's weight.
    scale: f64,
    /// The first hour that nobody has called in yet.
    hour: Time,
    /// Lines of calls that may not be over, with their ends.
    open: Vec<(Time, Value)>,
}

impl Traffic {
    /// So many calls in all, if everybody called from the first day to the last.
    pub fn new(calendar: Calendar, calls: u32, companies: &[Company]) -> Traffic {
        let hours = || calendar.every(HOUR);
        let weight = |company: &Company| hours().map(|hour| liveliness(company.rhythm, hour)).sum::<f64>();
        let whole: f64 = companies.iter().map(|company| company.weight as f64 * weight(company)).sum();
        Traffic { scale: f64::from(calls) / whole.max(1.0), hour: calendar.begin, open: Vec::new() }
    }

    /// Lets everybody call until now, and answers the lines of all calls that are over.
    pub fn until(&mut self, now: Time, callers: &[Caller], chance: &mut Chance) -> Vec<Value> {
        while self.hour < now {
            for caller in callers.iter().filter(|caller| caller.calls_in(self.hour)) {
                let expected = self.scale * caller.company.weight as f64 * liveliness(caller.company.rhythm, self.hour);
                for _ in 0..chance.about(expected) {
                    self.open.push(call(caller, self.hour, chance));
                }
            }
            self.hour = self.hour.plus(HOUR);
        }
        let over = self.open.extract_if(.., |(ended, _)| *ended <= now);
        over.map(|(_, line)| line).collect()
    }
}

/// How much a company calls in an hour, compared to its busiest.
fn liveliness(rhythm: Rhythm, hour: Time) -> f64 {
    let (at, is_weekend) = (hour_of_day(hour), weekday(hour) >= 5);
    let office = [1, 1, 1, 1, 1, 2, 8, 35, 80, 100, 95, 70, 60, 85, 95, 80, 45, 20, 9, 5, 3, 2, 1, 1];
    let leisure = [6, 4, 2, 2, 2, 3, 6, 12, 20, 28, 34, 40, 42, 38, 36, 40, 55, 75, 95, 100, 85, 60, 35, 15];
    let curve = match rhythm {
        Rhythm::Office => office,
        Rhythm::Leisure => leisure,
        Rhythm::Always => [35; 24],
    };
    let day = match (rhythm, is_weekend) {
        (Rhythm::Office, true) => 0.12,
        (Rhythm::Leisure, false) => 0.7,
        _ => 1.0,
    };
    usize::try_from(at).ok().and_then(|at| curve.get(at)).map_or(0.0, |percent| f64::from(*percent) / 100.0 * day)
}

fn call(caller: &Caller, hour: Time, chance: &mut Chance) -> (Time, Value) {
    let started = hour.plus(Duration::from_millis(chance.between(0, 3_600_000).unsigned_abs()));
    let ringing = started.plus(Duration::from_millis(chance.between(1500, 22_000).unsigned_abs()));
    let Outcome { status, talked } = Outcome::draw(caller.company, chance);
    let ended = ringing.plus(Duration::from_secs(talked.unsigned_abs()));
    let mut line = json!({
        "call_id": chance.uuid(), "started_at": started.millis(), "ended_at": ended.millis(), "status": status,
    });
    if status == "answered" {
        line["answered_at"] = ringing.millis().into();
    }
    let inbound = if chance.happens(INBOUND_PERCENT) { chance.pick(&caller.numbers).cloned() } else { None };
    match inbound {
        Some(number) => {
            line["leg"] = "origination".into();
            line["source_ip"] = SUPPLIERS[0].address.into();
            line["calling"] = market::anywhere(chance).number(chance).into();
            line["called"] = number.into();
        }
        None => {
            line["leg"] = "termination".into();
            line["trunk_id"] = caller.trunk_id.as_str().into();
            line["calling"] = caller.numbers.first().map_or(caller.company.phone, String::as_str).into();
            line["called"] = destination(caller.company, chance).number(chance).into();
        }
    }
    (ended, line)
}

pub fn destination(company: &Company, chance: &mut Chance) -> &'static market::Place {
    let favourite = if chance.happens(FAVOURITE_PERCENT) { chance.pick(company.favourites) } else { None };
    favourite.and_then(|country| market::find(country)).unwrap_or_else(|| market::anywhere(chance))
}

/// What becomes of a call, and for how many seconds people talk.
pub struct Outcome {
    pub status: &'static str,
    pub talked: i64,
}

impl Outcome {
    /// Whoever calls people that do not want to be called is rarely answered, and not for long.
    pub fn draw(company: &Company, chance: &mut Chance) -> Outcome {
        let (answered, mean) = if company.fate == Fate::Suspended { (17, 25.0) } else { (64, 165.0) };
        if chance.happens(answered) {
            return Outcome { status: "answered", talked: chance.length(mean) };
        }
        let status = match chance.between(0, 100) {
            0..45 => "no_answer",
            45..70 => "busy",
            70..88 => "cancelled",
            _ => "failed",
        };
        Outcome { status, talked: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::cast::COMPANIES;

    #[test]
    fn offices_rest_at_night_and_at_the_weekend_and_every_call_ends_before_it_is_told() {
        // Monday, 2 February 2026, 00:00, and the week from then on.
        let begin = Time::from_seconds(1_769_990_400);
        let calendar = Calendar { begin, end: begin.plus(HOUR * 24 * 7) };
        let callers: Vec<Caller> = COMPANIES[..1]
            .iter()
            .map(|company| Caller { company, trunk_id: String::new(), numbers: Vec::new(), since: begin, until: None })
            .collect();
        let (mut traffic, mut chance) = (Traffic::new(calendar, 5000, &COMPANIES[..1]), Chance::new(1));
        let mut told = Vec::new();
        for day in 1..=7 {
            let now = begin.plus(HOUR * 24 * day);
            let lines = traffic.until(now, &callers, &mut chance);
            assert!(lines.iter().all(|line| line["ended_at"].as_i64() <= Some(now.millis())));
            told.push(lines.len());
        }
        assert!((4500..5500).contains(&told.iter().sum::<usize>()), "{told:?}");
        assert!(told[1] > 4 * told[5], "{told:?}");
        assert!(liveliness(Rhythm::Office, begin) < liveliness(Rhythm::Office, begin.plus(HOUR * 9)));
    }
}
