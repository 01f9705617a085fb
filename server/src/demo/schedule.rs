//! The events of the simulated period, in order.

use std::time::Duration;

use serde_json::Value;

use super::Report;
use super::calendar::{Calendar, DAY, HOUR};
use super::customer;
use super::fixtures::{ADMIN, COMPANIES, Company, OPERATOR, Stage, TICKETS};
use super::operator::{self, NOTICES, Operator};
use super::prices::UPSTREAMS;
use super::rng::Rng;
use super::simulation::Simulation;
use super::traffic::{Caller, Traffic};
use super::wholesale::{self, DISPUTES};
use platform::app::StartError;
use values::Time;

/// Times of day at which the switch sends CDRs: after the nightly jobs, and twice by day.
const CDR_TIMES: [Duration; 3] =
    [Duration::from_secs(2 * 3600 + 15 * 60), Duration::from_secs(11 * 3600), Duration::from_secs(18 * 3600)];
/// How often a customer checks its balance.
const BALANCE_CHECK_INTERVAL: Duration = DAY.saturating_mul(5);
const MAX_LINES_PER_REQUEST: usize = 5_000;
/// The customer that gets a credit, and when (percent of the period).
const CREDIT: (&str, i64) = ("katja@kanaal.example", 28);
/// Customers that order a regulated number, when (percent of the period), and whether they upload the documents.
const REGULATED_ORDERS: [(&str, i64, bool); 2] =
    [("katja@kanaal.example", 72, true), ("berenice@bonjour.example", 94, false)];
/// The customer whose programs use the API, and when they are connected (percent of the period).
const PROGRAMS: (&str, i64) = ("theo@thames.example", 20);
/// Customers whose top-up the bank of the card disputes, when (percent of the period), and whether the payment is lost.
const DISPUTED_TOP_UPS: [(&str, i64, bool); 2] =
    [("piet@poldertaxi.example", 60, true), ("nora@northwind.example", 92, false)];
/// How long the bank takes to decide.
const DECISION_TIME: Duration = DAY.saturating_mul(2);
/// When the suspended company is suspended, in percent of the period.
const SUSPENDED_AT: i64 = 85;
/// When upstreams send a statement, and a rate deck that is held.
const STATEMENT_AT: i64 = 95;
const HELD_DECK_AT: i64 = 97;

#[derive(Clone, Copy)]
enum Event {
    SignUp(usize),
    Review(usize),
    GoLive(usize),
    CheckBalance(usize),
    Suspend(usize),
    /// An order of a number that requires documents, and whether they are uploaded.
    OrderRegulatedNumber(usize, bool),
    ConnectPrograms(usize),
    DisputeTopUp(usize),
    LoseDispute(usize),
    Export(usize),
    /// A message of a ticket: the index of the ticket, and the number of the message.
    SendTicketMessage(usize, usize),
    GrantCredit,
    ImportDeck(usize),
    ImportHeldDeck,
    SendStatement,
    DisputeCall(usize),
    SetExchangeRates,
    PublishNotice(usize),
    SendCdrs,
}

/// Runs all events and returns the number of calls. Reports each day that begins.
pub async fn run(sim: &mut Simulation, calendar: Calendar, calls: u32, report: Report<'_>) -> Result<i64, StartError> {
    sim.bootstrap(OPERATOR, ADMIN).await?;
    let mut run = Run {
        operator: operator::set_up(sim).await?,
        callers: Vec::new(),
        disputed: Vec::new(),
        traffic: Traffic::new(calendar, calls, COMPANIES),
        calls: 0,
    };
    let mut days = 0;
    for (at, event) in all_events(calendar, &mut sim.rng) {
        let day = u32::try_from(at.since(calendar.begin).as_secs() / DAY.as_secs()).unwrap_or(u32::MAX);
        if day > days {
            report(day).await?;
            days = day;
        }
        sim.advance_to(at);
        run.run_event(sim, event, at).await?;
    }
    sim.advance_to_present().await?;
    run.run_event(sim, Event::SendCdrs, sim.now()).await?;
    sim.settle().await?;
    Ok(run.calls)
}

/// All events of the period, sorted by time.
fn all_events(calendar: Calendar, rng: &mut Rng) -> Vec<(Time, Event)> {
    let mut events = Vec::new();
    for (index, company) in COMPANIES.iter().enumerate() {
        events.extend(company_events(index, company, calendar, rng));
    }
    for (index, ticket) in TICKETS.iter().enumerate() {
        // No ticket before the company makes calls.
        let author = COMPANIES.iter().find(|company| company.email == ticket.email);
        let signup = calendar.morning(author.map_or(0, |author| author.signs_up_at));
        let opened = calendar.morning(ticket.at).max(signup.plus(DAY * 3)).plus(random_minutes(rng));
        let times = std::iter::successors(Some(opened), |at| Some(at.plus(HOUR * 5)));
        let messages = (0..ticket.messages.len()).zip(times);
        events.extend(messages.map(|(number, at)| (at, Event::SendTicketMessage(index, number))));
    }
    events.extend(team_events(calendar));
    for midnight in calendar.every(DAY) {
        events.extend(CDR_TIMES.map(|time| (midnight.plus(time), Event::SendCdrs)));
    }
    events.retain(|(at, _)| *at < calendar.end);
    events.sort_by_key(|(at, _)| *at);
    events
}

/// Up to five hours, so that events are not on the hour.
fn random_minutes(rng: &mut Rng) -> Duration {
    Duration::from_secs(60 * rng.between(0, 300).unsigned_abs())
}

/// A company signs up, is reviewed the day after, and makes calls from the next day on.
fn company_events(index: usize, company: &Company, calendar: Calendar, rng: &mut Rng) -> Vec<(Time, Event)> {
    let signup = calendar.morning(company.signs_up_at).plus(random_minutes(rng));
    let (reviewed, live) = (signup.plus(DAY), signup.plus(DAY * 2));
    let mut events = vec![(signup, Event::SignUp(index)), (reviewed, Event::Review(index))];
    if company.makes_calls() {
        events.push((live, Event::GoLive(index)));
    }
    if company.stage == Stage::Live {
        events.push((live.max(calendar.morning(95)), Event::Export(index)));
        let first = live.plus(BALANCE_CHECK_INTERVAL);
        let checks = std::iter::successors(Some(first), |at| Some(at.plus(BALANCE_CHECK_INTERVAL)));
        events.extend(checks.take_while(|at| *at < calendar.end).map(|at| (at, Event::CheckBalance(index))));
    }
    if company.stage == Stage::Suspended {
        events.push((calendar.morning(SUSPENDED_AT).plus(HOUR), Event::Suspend(index)));
    }
    let once_live = |percent: i64| calendar.morning(percent).plus(HOUR * 6).max(live.plus(HOUR));
    if company.email == PROGRAMS.0 {
        events.push((once_live(PROGRAMS.1), Event::ConnectPrograms(index)));
    }
    for (_, at, is_lost) in DISPUTED_TOP_UPS.iter().filter(|(email, ..)| *email == company.email) {
        let disputed = once_live(*at);
        events.push((disputed, Event::DisputeTopUp(index)));
        if *is_lost {
            events.push((disputed.plus(DECISION_TIME), Event::LoseDispute(index)));
        }
    }
    let orders = REGULATED_ORDERS.iter().filter(|(email, ..)| *email == company.email);
    events.extend(
        orders.map(|(_, at, uploads)| {
            (calendar.morning(*at).plus(HOUR * 3), Event::OrderRegulatedNumber(index, *uploads))
        }),
    );
    events
}

fn team_events(calendar: Calendar) -> Vec<(Time, Event)> {
    let mut events = vec![(calendar.morning(CREDIT.1).max(calendar.begin.plus(DAY * 3)), Event::GrantCredit)];
    for (index, upstream) in UPSTREAMS.iter().enumerate() {
        let decks = upstream.decks_at.map(|at| calendar.morning(at).plus(HOUR * 3));
        events.extend(decks.map(|at| (at, Event::ImportDeck(index))));
    }
    events.push((calendar.morning(STATEMENT_AT).plus(HOUR), Event::SendStatement));
    events.push((calendar.morning(HELD_DECK_AT).plus(HOUR * 5), Event::ImportHeldDeck));
    let disputes = DISPUTES.iter().enumerate();
    events.extend(
        disputes.map(|(index, dispute)| (calendar.morning(dispute.at).plus(HOUR * 4), Event::DisputeCall(index))),
    );
    events.extend(calendar.every(DAY * 7).skip(1).map(|at| (at.plus(HOUR * 15), Event::SetExchangeRates)));
    let notices = NOTICES.iter().enumerate();
    events.extend(notices.map(|(index, notice)| (calendar.morning(notice.at), Event::PublishNotice(index))));
    events
}

/// The state of the simulation between events.
struct Run {
    operator: Operator,
    callers: Vec<Caller>,
    /// Companies with a disputed top-up, and its checkout.
    disputed: Vec<(usize, Value)>,
    traffic: Traffic,
    calls: i64,
}

impl Run {
    async fn run_event(&mut self, sim: &mut Simulation, event: Event, at: Time) -> Result<(), StartError> {
        match event {
            Event::SignUp(index) => customer::sign_up(sim, &COMPANIES[index]).await,
            Event::Review(index) => customer::review(sim, &COMPANIES[index], self.operator.manager(index)).await,
            Event::GoLive(index) => {
                wholesale::assign_plan(sim, &self.operator, &COMPANIES[index]).await?;
                let caller = customer::go_live(sim, &COMPANIES[index]).await?;
                self.callers.push(caller);
                Ok(())
            }
            Event::CheckBalance(index) => customer::check_balance(sim, &COMPANIES[index]).await,
            Event::OrderRegulatedNumber(index, uploads) => match self.caller(&COMPANIES[index]) {
                Some(caller) => customer::order_regulated_number(sim, caller, uploads).await,
                None => Ok(()),
            },
            Event::ConnectPrograms(index) => customer::connect_programs(sim, &COMPANIES[index]).await,
            Event::DisputeTopUp(index) => {
                let checkout = customer::dispute_top_up(sim, &COMPANIES[index]).await?;
                self.disputed.push((index, checkout));
                Ok(())
            }
            Event::LoseDispute(index) => match self.disputed.iter().find(|(company, _)| *company == index) {
                Some((_, checkout)) => customer::lose_dispute(sim, checkout).await,
                None => Ok(()),
            },
            Event::Export(index) => customer::export_cdrs(sim, &COMPANIES[index]).await,
            Event::Suspend(index) => {
                let caller = self.callers.iter_mut().find(|caller| caller.company.email == COMPANIES[index].email);
                match caller {
                    Some(caller) => customer::suspend(sim, caller).await,
                    None => Ok(()),
                }
            }
            Event::SendTicketMessage(index, number) => {
                operator::send_ticket_message(sim, &mut self.operator, index, number).await
            }
            Event::GrantCredit => operator::grant_credit(sim, CREDIT.0).await,
            Event::ImportDeck(index) => operator::import_deck(sim, &self.operator, index, Some(at.plus(DAY * 7))).await,
            Event::ImportHeldDeck => wholesale::import_held_deck(sim, &self.operator).await,
            Event::SendStatement => wholesale::send_statement(sim, &self.operator).await,
            Event::DisputeCall(index) => wholesale::dispute_call(sim, &DISPUTES[index]).await,
            Event::SetExchangeRates => operator::set_exchange_rates(sim).await,
            Event::PublishNotice(index) => operator::publish_notice(sim, &NOTICES[index]).await,
            Event::SendCdrs => self.send_cdrs(sim).await,
        }
    }

    fn caller(&self, company: &Company) -> Option<&Caller> {
        self.callers.iter().find(|caller| caller.company.email == company.email)
    }

    async fn send_cdrs(&mut self, sim: &mut Simulation) -> Result<(), StartError> {
        let lines = self.traffic.cdrs_until(sim.now(), &self.callers, &mut sim.rng);
        for part in lines.chunks(MAX_LINES_PER_REQUEST) {
            let text: String = part.iter().map(|line| format!("{line}\n")).collect();
            self.calls += sim.send_cdrs(text).await?;
        }
        sim.settle().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{MAX_DAYS, MIN_DAYS};

    #[test]
    fn every_event_happens_in_a_period_of_any_length() {
        let midnight = Time::from_seconds(1_769_817_600);
        let spans =
            [MIN_DAYS, 10, 33, 90, MAX_DAYS].into_iter().flat_map(|days| [0, 8, 13, 23].map(|hour| (days, hour)));
        for (days, hour) in spans {
            let now = midnight.plus(HOUR * hour);
            let events = all_events(Calendar::of_last(days, now), &mut Rng::new(1));
            let count = |matches: fn(&Event) -> bool| events.iter().filter(|(_, event)| matches(event)).count();
            assert_eq!(count(|event| matches!(event, Event::SignUp(_))), COMPANIES.len(), "{days}");
            let live = COMPANIES.iter().filter(|company| company.makes_calls()).count();
            assert_eq!(count(|event| matches!(event, Event::GoLive(_))), live, "{days}");
            let is_reviewed =
                |index: usize| events.iter().any(|(_, event)| matches!(event, Event::Review(it) if *it == index));
            let to_review = COMPANIES.iter().enumerate().filter(|(_, company)| company.stage > Stage::Waiting);
            assert!(to_review.map(|(index, _)| index).all(is_reviewed), "{days} {hour}");
            for (at, event) in &events {
                let (Event::GoLive(index) | Event::Review(index)) = event else { continue };
                let signed_up = events.iter().position(|(_, event)| matches!(event, Event::SignUp(it) if it == index));
                assert!(signed_up.is_some_and(|position| events[position].0 < *at), "{days}");
            }
            assert_eq!(count(|event| matches!(event, Event::SendTicketMessage(_, 0))), TICKETS.len(), "{days}");
            assert_eq!(count(|event| matches!(event, Event::ConnectPrograms(_))), 1, "{days} {hour}");
            assert_eq!(count(|event| matches!(event, Event::DisputeTopUp(_))), DISPUTED_TOP_UPS.len(), "{days} {hour}");
            assert_eq!(count(|event| matches!(event, Event::LoseDispute(_))), 1, "{days} {hour}");
        }
    }
}
