//! What happens when, from the first day to now.

use std::time::Duration;

use super::calendar::{Calendar, DAY, HOUR};
use super::cast::{ADMIN, CARRIER, COMPANIES, Company, Fate, QUESTIONS};
use super::chance::Chance;
use super::company;
use super::house::{self, House, NOTICES};
use super::market::SUPPLIERS;
use super::stage::Stage;
use super::traffic::{Caller, Traffic};
use crate::app::StartError;
use crate::values::Time;

/// When the switch hands in what was called, after the jobs of the night and twice by day.
const ROUNDS: [Duration; 3] =
    [Duration::from_secs(2 * 3600 + 15 * 60), Duration::from_secs(11 * 3600), Duration::from_secs(18 * 3600)];
/// How often a customer looks at its balance.
const VISITS: Duration = DAY.saturating_mul(5);
/// The most lines that are handed in together.
const LINES: usize = 5_000;
/// Whoever had trouble and hears sorry for it.
const GIFT: (&str, i64) = ("katja@kanaal.example", 28);
/// When the suspended company is stopped, in hundredths.
const STOPPED: i64 = 85;

#[derive(Clone, Copy)]
enum Event {
    SignUp(usize),
    Judge(usize),
    GoLive(usize),
    Visit(usize),
    Suspend(usize),
    /// A turn of a conversation.
    Speak(usize, usize),
    Gift,
    Deck(usize),
    ExchangeRates,
    Announce(usize),
    HandInCalls,
}

/// Lives through everything, and answers how many calls there were.
pub async fn live_through(
    stage: &mut Stage,
    calendar: Calendar,
    calls: u32,
    tell: impl Fn(u32),
) -> Result<i64, StartError> {
    stage.bootstrap(CARRIER, ADMIN).await?;
    let mut life = Life {
        house: house::open(stage).await?,
        callers: Vec::new(),
        traffic: Traffic::new(calendar, calls, COMPANIES),
        calls: 0,
    };
    let mut days = 0;
    for (at, event) in events(calendar, &mut stage.chance) {
        let day = u32::try_from(at.since(calendar.begin).as_secs() / DAY.as_secs()).unwrap_or(u32::MAX);
        if day > days {
            tell(day);
            days = day;
        }
        stage.come_to(at);
        life.happen(stage, event, at).await?;
    }
    stage.catch_up().await?;
    life.happen(stage, Event::HandInCalls, stage.now()).await?;
    stage.settle().await?;
    Ok(life.calls)
}

/// Everything that happens, in its order.
fn events(calendar: Calendar, chance: &mut Chance) -> Vec<(Time, Event)> {
    let mut events: Vec<(Time, Event)> = Vec::new();
    let minutes = |chance: &mut Chance| Duration::from_secs(60 * chance.between(0, 300).unsigned_abs());
    for (place, company) in COMPANIES.iter().enumerate() {
        let arrival = calendar.morning(company.arrives).plus(minutes(chance));
        events.push((arrival, Event::SignUp(place)));
        events.push((arrival.plus(DAY), Event::Judge(place)));
        if company.calls() {
            let live = arrival.plus(DAY * 2);
            events.push((live, Event::GoLive(place)));
            let visits = std::iter::successors(Some(live.plus(VISITS)), |at| Some(at.plus(VISITS)));
            events.extend(visits.take_while(|at| *at < calendar.end).map(|at| (at, Event::Visit(place))));
        }
        if company.fate == Fate::Suspended {
            events.push((calendar.morning(STOPPED).plus(HOUR), Event::Suspend(place)));
        }
    }
    for (place, question) in QUESTIONS.iter().enumerate() {
        // Nobody asks before it calls.
        let began = COMPANIES.iter().find(|company| company.email == question.email).map_or(0, |asking| asking.arrives);
        let asked = calendar.morning(question.at).max(calendar.morning(began).plus(DAY * 3)).plus(minutes(chance));
        let turns = (0..question.words.len()).zip(std::iter::successors(Some(asked), |at| Some(at.plus(HOUR * 5))));
        events.extend(turns.map(|(turn, at)| (at, Event::Speak(place, turn))));
    }
    events.push((calendar.morning(GIFT.1).max(calendar.begin.plus(DAY * 3)), Event::Gift));
    for (place, _) in SUPPLIERS.iter().enumerate() {
        let decks = [33 + place, 66 + place, 92].map(|hundredths| calendar.morning(hundredths as i64).plus(HOUR * 3));
        events.extend(decks.map(|at| (at, Event::Deck(place))));
    }
    events.extend(calendar.every(DAY * 7).skip(1).map(|at| (at.plus(HOUR * 15), Event::ExchangeRates)));
    let notices = NOTICES.iter().enumerate();
    events.extend(notices.map(|(place, notice)| (calendar.morning(notice.at), Event::Announce(place))));
    for midnight in calendar.every(DAY) {
        events.extend(ROUNDS.map(|round| (midnight.plus(round), Event::HandInCalls)));
    }
    events.retain(|(at, _)| *at < calendar.end);
    events.sort_by_key(|(at, _)| *at);
    events
}

struct Life {
    house: House,
    callers: Vec<Caller>,
    traffic: Traffic,
    calls: i64,
}

impl Life {
    async fn happen(&mut self, stage: &mut Stage, event: Event, at: Time) -> Result<(), StartError> {
        match event {
            Event::SignUp(place) => company::sign_up(stage, &COMPANIES[place]).await,
            Event::Judge(place) => company::judge(stage, &COMPANIES[place], self.house.manager(place)).await,
            Event::GoLive(place) => {
                let caller = company::go_live(stage, &COMPANIES[place]).await?;
                self.callers.push(caller);
                Ok(())
            }
            Event::Visit(place) if self.is_calling(&COMPANIES[place]) => {
                company::look_after_money(stage, &COMPANIES[place]).await
            }
            Event::Visit(_) => Ok(()),
            Event::Suspend(place) => {
                let stopped = self.callers.iter_mut().find(|caller| caller.company.email == COMPANIES[place].email);
                match stopped {
                    Some(caller) => company::suspend(stage, caller).await,
                    None => Ok(()),
                }
            }
            Event::Speak(place, turn) => house::speak(stage, &mut self.house, place, turn).await,
            Event::Gift => house::say_sorry(stage, GIFT.0).await,
            Event::Deck(place) => house::import_deck(stage, &self.house, place, Some(at.plus(DAY * 7))).await,
            Event::ExchangeRates => house::exchange_rates(stage).await,
            Event::Announce(place) => house::announce(stage, &NOTICES[place]).await,
            Event::HandInCalls => self.hand_in(stage).await,
        }
    }

    fn is_calling(&self, company: &Company) -> bool {
        self.callers.iter().any(|caller| caller.company.email == company.email && caller.until.is_none())
    }

    async fn hand_in(&mut self, stage: &mut Stage) -> Result<(), StartError> {
        let lines = self.traffic.until(stage.now(), &self.callers, &mut stage.chance);
        for part in lines.chunks(LINES) {
            let text: String = part.iter().map(|line| format!("{line}\n")).collect();
            self.calls += stage.hand_in(text).await?;
        }
        stage.settle().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{FEWEST_DAYS, MOST_DAYS};

    #[test]
    fn in_any_number_of_days_every_story_comes_to_its_end() {
        let now = Time::from_seconds(1_769_817_600);
        for days in [FEWEST_DAYS, 10, 33, 90, MOST_DAYS] {
            let events = events(Calendar::of_last(days, now), &mut Chance::new(1));
            let count = |wanted: fn(&Event) -> bool| events.iter().filter(|(_, event)| wanted(event)).count();
            assert_eq!(count(|event| matches!(event, Event::SignUp(_))), COMPANIES.len(), "{days}");
            let live = COMPANIES.iter().filter(|company| company.calls()).count();
            assert_eq!(count(|event| matches!(event, Event::GoLive(_))), live, "{days}");
            for (at, event) in &events {
                let (Event::GoLive(place) | Event::Judge(place)) = event else { continue };
                let signed_up = events.iter().position(|(_, event)| matches!(event, Event::SignUp(it) if it == place));
                assert!(signed_up.is_some_and(|position| events[position].0 < *at), "{days}");
            }
            assert_eq!(count(|event| matches!(event, Event::Speak(_, 0))), QUESTIONS.len(), "{days}");
        }
    }
}
