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
use platform::app::StartError;
use values::Time;

/// When the switch hands in what was called, after the jobs of the night and twice by day.
const ROUNDS: [Duration; 3] =
    [Duration::from_secs(2 * 3600 + 15 * 60), Duration::from_secs(11 * 3600), Duration::from_secs(18 * 3600)];
/// How often a customer looks at its balance.
const VISITS: Duration = DAY.saturating_mul(5);
/// The most lines that are handed in together.
const LINES: usize = 5_000;
/// Whoever had trouble and hears sorry for it.
const GIFT: (&str, i64) = ("katja@kanaal.example", 28);
/// Who orders a number that takes papers, when, and whether they are handed in.
const PAPERS: [(&str, i64, bool); 2] = [("katja@kanaal.example", 72, true), ("berenice@bonjour.example", 94, false)];
/// When the suspended company is stopped, in hundredths.
const STOPPED: i64 = 85;

#[derive(Clone, Copy)]
enum Event {
    SignUp(usize),
    Judge(usize),
    GoLive(usize),
    Visit(usize),
    Suspend(usize),
    /// An order of a number that takes papers, which are handed in or not.
    Papers(usize, bool),
    Export(usize),
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
    let mut events = Vec::new();
    for (place, company) in COMPANIES.iter().enumerate() {
        events.extend(way_of(place, company, calendar, chance));
    }
    for (place, question) in QUESTIONS.iter().enumerate() {
        // Nobody asks before it calls.
        let began = COMPANIES.iter().find(|company| company.email == question.email).map_or(0, |asking| asking.arrives);
        let asked = calendar.morning(question.at).max(calendar.morning(began).plus(DAY * 3)).plus(minutes(chance));
        let turns = (0..question.words.len()).zip(std::iter::successors(Some(asked), |at| Some(at.plus(HOUR * 5))));
        events.extend(turns.map(|(turn, at)| (at, Event::Speak(place, turn))));
    }
    events.extend(work_of_the_team(calendar));
    for midnight in calendar.every(DAY) {
        events.extend(ROUNDS.map(|round| (midnight.plus(round), Event::HandInCalls)));
    }
    events.retain(|(at, _)| *at < calendar.end);
    events.sort_by_key(|(at, _)| *at);
    events
}

/// Nobody comes on the hour.
fn minutes(chance: &mut Chance) -> Duration {
    Duration::from_secs(60 * chance.between(0, 300).unsigned_abs())
}

/// A company signs up, is judged the day after, and calls from the next day on.
fn way_of(place: usize, company: &Company, calendar: Calendar, chance: &mut Chance) -> Vec<(Time, Event)> {
    let arrival = calendar.morning(company.arrives).plus(minutes(chance));
    let (judged, live) = (arrival.plus(DAY), arrival.plus(DAY * 2));
    let mut way = vec![(arrival, Event::SignUp(place)), (judged, Event::Judge(place))];
    if company.calls() {
        way.push((live, Event::GoLive(place)));
    }
    if company.fate == Fate::Live {
        way.push((live.max(calendar.morning(95)), Event::Export(place)));
        let visits = std::iter::successors(Some(live.plus(VISITS)), |at| Some(at.plus(VISITS)));
        way.extend(visits.take_while(|at| *at < calendar.end).map(|at| (at, Event::Visit(place))));
    }
    if company.fate == Fate::Suspended {
        way.push((calendar.morning(STOPPED).plus(HOUR), Event::Suspend(place)));
    }
    let papers = PAPERS.iter().filter(|(email, ..)| *email == company.email);
    way.extend(papers.map(|(_, at, hands_in)| (calendar.morning(*at).plus(HOUR * 3), Event::Papers(place, *hands_in))));
    way
}

fn work_of_the_team(calendar: Calendar) -> Vec<(Time, Event)> {
    let mut work = vec![(calendar.morning(GIFT.1).max(calendar.begin.plus(DAY * 3)), Event::Gift)];
    for (place, supplier) in SUPPLIERS.iter().enumerate() {
        let decks = supplier.sends.map(|at| calendar.morning(at).plus(HOUR * 3));
        work.extend(decks.map(|at| (at, Event::Deck(place))));
    }
    work.extend(calendar.every(DAY * 7).skip(1).map(|at| (at.plus(HOUR * 15), Event::ExchangeRates)));
    let notices = NOTICES.iter().enumerate();
    work.extend(notices.map(|(place, notice)| (calendar.morning(notice.at), Event::Announce(place))));
    work
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
            Event::Visit(place) => company::look_after_money(stage, &COMPANIES[place]).await,
            Event::Papers(place, hands_in) => match self.caller(&COMPANIES[place]) {
                Some(caller) => company::order_with_papers(stage, caller, hands_in).await,
                None => Ok(()),
            },
            Event::Export(place) => company::export_calls(stage, &COMPANIES[place]).await,
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

    fn caller(&self, company: &Company) -> Option<&Caller> {
        self.callers.iter().find(|caller| caller.company.email == company.email)
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
        let midnight = Time::from_seconds(1_769_817_600);
        let spans =
            [FEWEST_DAYS, 10, 33, 90, MOST_DAYS].into_iter().flat_map(|days| [0, 8, 13, 23].map(|hour| (days, hour)));
        for (days, hour) in spans {
            let now = midnight.plus(HOUR * hour);
            let events = events(Calendar::of_last(days, now), &mut Chance::new(1));
            let count = |wanted: fn(&Event) -> bool| events.iter().filter(|(_, event)| wanted(event)).count();
            assert_eq!(count(|event| matches!(event, Event::SignUp(_))), COMPANIES.len(), "{days}");
            let live = COMPANIES.iter().filter(|company| company.calls()).count();
            assert_eq!(count(|event| matches!(event, Event::GoLive(_))), live, "{days}");
            let is_judged =
                |place: usize| events.iter().any(|(_, event)| matches!(event, Event::Judge(it) if *it == place));
            let to_judge = COMPANIES.iter().enumerate().filter(|(_, company)| company.fate > Fate::Waiting);
            assert!(to_judge.map(|(place, _)| place).all(is_judged), "{days} {hour}");
            for (at, event) in &events {
                let (Event::GoLive(place) | Event::Judge(place)) = event else { continue };
                let signed_up = events.iter().position(|(_, event)| matches!(event, Event::SignUp(it) if it == place));
                assert!(signed_up.is_some_and(|position| events[position].0 < *at), "{days}");
            }
            assert_eq!(count(|event| matches!(event, Event::Speak(_, 0))), QUESTIONS.len(), "{days}");
        }
    }
}
