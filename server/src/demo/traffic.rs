//! CDRs of past calls: how many by hour and weekday, where to, how long, and with which status.

use std::time::Duration;

use serde_json::{Value, json};

use super::calendar::{Calendar, HOUR, hour_of_day, weekday};
use super::fixtures::{CallPattern, Company, Stage};
use super::prices::{self, UPSTREAMS};
use super::rng::Rng;
use values::Time;

/// Share of calls to a company's own numbers, if it has any.
const ORIGINATION_PERCENT: i64 = 15;
/// Share of calls to the company's main countries.
const MAIN_COUNTRY_PERCENT: i64 = 70;

/// A company that makes calls.
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

/// Generates CDRs as a switch sends them.
pub struct Traffic {
    /// Calls per unit of a company's weight.
    scale: f64,
    /// The first hour without calls so far.
    hour: Time,
    /// CDRs that were not sent yet, with the end of the call.
    open: Vec<(Time, Value)>,
}

impl Traffic {
    /// Scaled to this many calls, if all companies made calls in the whole period.
    pub fn new(calendar: Calendar, calls: u32, companies: &[Company]) -> Traffic {
        let hours = || calendar.every(HOUR);
        let weight = |company: &Company| hours().map(|hour| activity(company.pattern, hour)).sum::<f64>();
        let whole: f64 = companies.iter().map(|company| company.weight as f64 * weight(company)).sum();
        Traffic { scale: f64::from(calls) / whole.max(1.0), hour: calendar.begin, open: Vec::new() }
    }

    /// Generates calls up to now and returns the CDRs of those that have ended.
    pub fn cdrs_until(&mut self, now: Time, callers: &[Caller], rng: &mut Rng) -> Vec<Value> {
        while self.hour < now {
            for caller in callers.iter().filter(|caller| caller.calls_in(self.hour)) {
                let expected = self.scale * caller.company.weight as f64 * activity(caller.company.pattern, self.hour);
                for _ in 0..rng.around(expected) {
                    self.open.push(generate_cdr(caller, self.hour, rng));
                }
            }
            self.hour = self.hour.plus(HOUR);
        }
        let over = self.open.extract_if(.., |(ended, _)| *ended <= now);
        over.map(|(_, line)| line).collect()
    }
}

/// Calls in an hour relative to the busiest hour, from 0 to 1.
fn activity(pattern: CallPattern, hour: Time) -> f64 {
    let (at, is_weekend) = (hour_of_day(hour), weekday(hour) >= 5);
    let office = [1, 1, 1, 1, 1, 2, 8, 35, 80, 100, 95, 70, 60, 85, 95, 80, 45, 20, 9, 5, 3, 2, 1, 1];
    let leisure = [6, 4, 2, 2, 2, 3, 6, 12, 20, 28, 34, 40, 42, 38, 36, 40, 55, 75, 95, 100, 85, 60, 35, 15];
    let curve = match pattern {
        CallPattern::Office => office,
        CallPattern::Leisure => leisure,
        CallPattern::AllDay => [35; 24],
    };
    let day = match (pattern, is_weekend) {
        (CallPattern::Office, true) => 0.12,
        (CallPattern::Leisure, false) => 0.7,
        _ => 1.0,
    };
    usize::try_from(at).ok().and_then(|at| curve.get(at)).map_or(0.0, |percent| f64::from(*percent) / 100.0 * day)
}

fn generate_cdr(caller: &Caller, hour: Time, rng: &mut Rng) -> (Time, Value) {
    let started = hour.plus(Duration::from_millis(rng.between(0, 3_600_000).unsigned_abs()));
    let ringing = started.plus(Duration::from_millis(rng.between(1500, 22_000).unsigned_abs()));
    let Outcome { status, answered_seconds } = Outcome::random(caller.company, rng);
    let ended = ringing.plus(Duration::from_secs(answered_seconds.unsigned_abs()));
    let mut line = json!({
        "call_id": rng.uuid(), "started_at": started.millis(), "ended_at": ended.millis(), "status": status,
    });
    if status == "answered" {
        line["answered_at"] = ringing.millis().into();
    }
    let inbound = if rng.chance(ORIGINATION_PERCENT) { rng.pick(&caller.numbers).cloned() } else { None };
    match inbound {
        Some(number) => {
            line["leg"] = "origination".into();
            line["source_ip"] = UPSTREAMS[0].address.into();
            line["calling"] = prices::random_destination(rng).number(rng).into();
            line["called"] = number.into();
        }
        None => {
            line["leg"] = "termination".into();
            line["trunk_id"] = caller.trunk_id.as_str().into();
            line["calling"] = caller.numbers.first().map_or(caller.company.phone, String::as_str).into();
            line["called"] = pick_destination(caller.company, rng).number(rng).into();
        }
    }
    (ended, line)
}

pub fn pick_destination(company: &Company, rng: &mut Rng) -> &'static prices::Destination {
    let country = if rng.chance(MAIN_COUNTRY_PERCENT) { rng.pick(company.main_countries) } else { None };
    country.and_then(|country| prices::find(country)).unwrap_or_else(|| prices::random_destination(rng))
}

/// The status of a call, and how many seconds it was answered.
pub struct Outcome {
    pub status: &'static str,
    pub answered_seconds: i64,
}

impl Outcome {
    /// Calls of the suspended company are rarely answered, and short.
    pub fn random(company: &Company, rng: &mut Rng) -> Outcome {
        let (answered_percent, mean_seconds) = if company.stage == Stage::Suspended { (17, 25.0) } else { (64, 165.0) };
        if rng.chance(answered_percent) {
            return Outcome { status: "answered", answered_seconds: rng.duration(mean_seconds) };
        }
        let status = match rng.between(0, 100) {
            0..45 => "no_answer",
            45..70 => "busy",
            70..88 => "cancelled",
            _ => "failed",
        };
        Outcome { status, answered_seconds: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::fixtures::COMPANIES;

    #[test]
    fn offices_call_less_at_weekends_and_cdrs_are_sent_after_the_call() {
        // Monday, 2 February 2026, 00:00, and the week from then on.
        let begin = Time::from_seconds(1_769_990_400);
        let calendar = Calendar { begin, end: begin.plus(HOUR * 24 * 7) };
        let callers: Vec<Caller> = COMPANIES[..1]
            .iter()
            .map(|company| Caller { company, trunk_id: String::new(), numbers: Vec::new(), since: begin, until: None })
            .collect();
        let (mut traffic, mut rng) = (Traffic::new(calendar, 5000, &COMPANIES[..1]), Rng::new(1));
        let mut daily = Vec::new();
        for day in 1..=7 {
            let now = begin.plus(HOUR * 24 * day);
            let lines = traffic.cdrs_until(now, &callers, &mut rng);
            assert!(lines.iter().all(|line| line["ended_at"].as_i64() <= Some(now.millis())));
            daily.push(lines.len());
        }
        assert!((4500..5500).contains(&daily.iter().sum::<usize>()), "{daily:?}");
        assert!(daily[1] > 4 * daily[5], "{daily:?}");
        assert!(activity(CallPattern::Office, begin) < activity(CallPattern::Office, begin.plus(HOUR * 9)));
    }
}
