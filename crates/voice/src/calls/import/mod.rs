//! Lines of other switches: finished calls that nobody asked us about, one JSON object to a line.
//!
//! Each line is judged for itself: a good one is kept whatever its neighbours are. The same call, by trunk, Call-ID, leg
//! and beginning, is kept and charged once, however often and in whatever company it arrives. A call is priced by the
//! tariff that was in force when it began.

mod store;

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use super::SKEW_MILLIS;
use super::end::seconds_between;
use super::events::faults;
use super::prices::{Quote, caller, dialled, quote};
use super::records::{Lines, Record};
use super::retention::{self, FORGOTTEN};
use super::types::{CallStatus, ImportAnswer, Leg, Line, RejectedLine};
use api::problem::Problem;
use api::schema;
use db::DbError;
use identity::balance::CURRENCY;
use platform::app::App;
use platform::ledger::LedgerError;
use platform::routing::allow_lists::Addresses;
use platform::routing::tariff::{self, Tariff};
use platform::routing::upstreams::Gateways;
use store::{Holding, TrunkFacts};
use values::{CallId, E164, Time, TrunkId, UpstreamId};

/// The most lines that are taken in at once, so many of them in one transaction.
pub const LINES_AT_ONCE: usize = 20_000;
const LINES_IN_TRANSACTION: usize = 2_000;
/// No line is longer.
const LINE_LENGTH: usize = 4096;
/// The most tariffs of the past that one import needs; beyond, lines are refused and may come again in smaller parts.
const TARIFFS_AT_ONCE: usize = 64;
/// The most changes of the tariff that are looked at.
const CHANGES: i64 = 100_000;
/// Before this there were no calls: 2000-01-01.
const EARLIEST: Time = Time::from_millis(946_684_800_000);

/// What lines are judged by.
struct Judge<'a> {
    app: &'a App,
    addresses: Arc<Addresses>,
    gateways: Arc<Gateways>,
    tariff: Arc<Tariff>,
    /// When the tariff has changed since the earliest line, in order.
    changes: Vec<Time>,
    /// Whether there were more changes than are looked at.
    is_cut: bool,
    /// Tariffs of the past, by the change that began them.
    past: Vec<(Option<Time>, Arc<Tariff>)>,
    trunks: HashMap<TrunkId, Option<TrunkFacts>>,
    /// Who had a number when, of numbers that were called.
    holdings: HashMap<E164, Vec<Holding>>,
    now: Time,
}

/// Where a line belongs.
struct Place {
    trunk: TrunkFacts,
    /// Who carried the call, if that is known.
    upstream_id: Option<UpstreamId>,
    /// Where the customer's number is that was called.
    country: Option<String>,
}

/// Takes in lines; the first of them is counted as `first`.
pub async fn import(app: &App, text: &[u8], first: usize) -> Result<ImportAnswer, Problem> {
    let mut answer = ImportAnswer::default();
    let mut lines: Vec<(usize, Line)> = Vec::new();
    for (place, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match read(line) {
            Ok(line) => lines.push((first + place, line)),
            Err(reason) => answer.rejected.push(RejectedLine { line: first + place, reason }),
        }
    }
    let Some(earliest) = lines.iter().map(|(_, line)| line.started_at.0).min() else { return Ok(answer) };
    let mut judge = Judge::new(app, earliest).await?;
    let mut seen = HashSet::new();
    for part in lines.chunks(LINES_IN_TRANSACTION) {
        let mut records = Vec::with_capacity(part.len());
        for (place, line) in part {
            match judge.record(line).await? {
                Ok(record) if seen.insert((record.trunk_id, record.call_id.clone(), record.leg, record.started_at)) => {
                    records.push(record);
                }
                Ok(_) => answer.duplicates += 1,
                Err(reason) => answer.rejected.push(RejectedLine { line: *place, reason: reason.to_owned() }),
            }
        }
        let good = records.len();
        let new = if good == 0 { 0 } else { keep(app, records, judge.now).await? };
        answer.accepted += new;
        answer.duplicates += good - new;
    }
    answer.rejected.sort_by_key(|rejected| rejected.line);
    Ok(answer)
}

fn read(line: &[u8]) -> Result<Line, String> {
    if line.len() > LINE_LENGTH {
        return Err(format!("it is longer than {LINE_LENGTH} bytes"));
    }
    // The type of a line asks for all that its schema does, unless it is given a list. What is wrong the schema tells.
    if line.trim_ascii_start().starts_with(b"{")
        && let Ok(line) = serde_json::from_slice(line)
    {
        return Ok(line);
    }
    let value = serde_json::from_slice(line).map_err(|error| format!("it is not JSON: {error}"))?;
    schema::read(value).map_err(|problem| faults(&problem))
}

async fn keep(app: &App, records: Vec<Record>, now: Time) -> Result<usize, LedgerError> {
    let input = Arc::new((app.entropy, Lines::new(app.entropy, records, now), now));
    // Where rows travel, they go into their table at once: mostly none has been there before.
    if app.db.is_shared() {
        let all = app.db.tx(Arc::clone(&input), |conn, input| {
            let (entropy, lines, now) = &**input;
            Box::pin(lines.keep_all(conn, *entropy, *now))
        });
        match all.await {
            Err(LedgerError::Db(DbError::Unique(_))) => {}
            outcome => return outcome,
        }
    }
    let new = app.db.tx(input, |conn, input| {
        let (entropy, lines, now) = &**input;
        Box::pin(lines.keep_new(conn, *entropy, *now))
    });
    new.await
}

impl<'a> Judge<'a> {
    async fn new(app: &'a App, earliest: Time) -> Result<Judge<'a>, DbError> {
        // The changes are read last: whatever the tariff lacks has a change that says so.
        let tariff = app.tariff.current(&app.db).await?;
        let (addresses, gateways) = (app.addresses.current(&app.db).await?, app.gateways.current(&app.db).await?);
        let changes = tariff::changes_after(&mut *app.db.read().await?, earliest, CHANGES).await?;
        let changes: Vec<Time> = changes.into_iter().map(|(change,)| change).collect();
        let is_cut = changes.len() as i64 == CHANGES;
        let (past, trunks, holdings, now) = (Vec::new(), HashMap::new(), HashMap::new(), app.clock.now());
        Ok(Judge { app, addresses, gateways, tariff, changes, is_cut, past, trunks, holdings, now })
    }

    /// The record of a line, or why there can be none.
    async fn record(&mut self, line: &Line) -> Result<Result<Record, &'static str>, DbError> {
        let (started_at, ended_at) = (line.started_at.0, line.ended_at.0);
        let answered_at = line.answered_at.map(|at| at.0);
        if let Err(reason) = check_times(started_at, answered_at, ended_at, line.status, self.now) {
            return Ok(Err(reason));
        }
        if line.upstream_id.is_some_and(|id| self.gateways.find(id).is_none()) {
            return Ok(Err("there is no such upstream"));
        }
        let Some(called) = dialled(&line.called) else { return Ok(Err("called is no number that can be dialled")) };
        let place = match self.place(line, &called).await? {
            Ok(place) => place,
            Err(reason) => return Ok(Err(reason)),
        };
        let seconds = match answered_at.map_or(Ok(0), |at| seconds_between(at, ended_at)) {
            Ok(seconds) => seconds,
            Err(reason) => return Ok(Err(reason)),
        };
        let quote = match (line.leg, self.tariff_at(started_at).await?) {
            (Leg::Origination, _) => None,
            (Leg::Termination, None) => return Ok(Err("it needs one tariff of the past too many; send fewer lines")),
            // Who is down now may have been up then.
            (Leg::Termination, Some(tariff)) => quote(&tariff, &self.gateways, |_| false, &called, started_at),
        };
        if quote.is_none() && line.leg == Leg::Termination && answered_at.is_some() {
            return Ok(Err("the number was not sold when the call began"));
        }
        Ok(self.priced(line, place, &called, seconds, quote.as_ref()))
    }

    fn priced(
        &self,
        line: &Line,
        place: Place,
        called: &E164,
        seconds: u32,
        quote: Option<&Quote>,
    ) -> Result<Record, &'static str> {
        let (sale, is_answered) = (quote.map(|quote| &quote.sale), line.answered_at.is_some());
        let rate = sale.map(|sale| sale.rate);
        let charge = rate.filter(|_| is_answered).map_or(Ok(0), |rate| rate.price(seconds));
        let carrier = quote.and_then(|quote| quote.carrier(line.upstream_id));
        let cost = quote.zip(carrier).and_then(|(quote, carrier)| quote.cost(carrier, seconds));
        let (started_at, Place { trunk, upstream_id, country }) = (line.started_at.0, place);
        let (calling, called) = match retention::is_over(self.app, started_at, self.now) {
            true => (FORGOTTEN.to_owned(), FORGOTTEN.to_owned()),
            false => (caller(line.calling.as_deref()), called.to_string()),
        };
        Ok(Record {
            id: CallId::new(self.app.entropy.uuid(started_at)),
            account_id: trunk.account_id,
            trunk_id: trunk.id,
            call_id: line.call_id.to_string(),
            leg: line.leg,
            zone: trunk.zone,
            calling,
            called,
            country: sale.map(|sale| sale.country.clone()).or(country),
            destination_name: sale.map(|sale| sale.destination_name.clone()),
            prefix: sale.map(|sale| sale.prefix.clone()),
            started_at,
            answered_at: line.answered_at.map(|at| at.0),
            ended_at: Some(line.ended_at.0),
            duration_seconds: seconds.into(),
            billed_seconds: rate.filter(|_| is_answered).map_or(0, |rate| rate.billed_seconds(seconds)).into(),
            status: line.status,
            currency: CURRENCY,
            rate_per_minute: rate.map_or(0, |rate| rate.nanos_per_minute()),
            connect_fee: rate.map_or(0, |rate| rate.connect_fee_nanos()),
            increment_seconds: rate.map_or(1, |rate| rate.increment_seconds().into()),
            minimum_seconds: rate.map_or(0, |rate| rate.minimum_seconds().into()),
            rate_upstream_id: sale.map(|sale| sale.upstream),
            upstream_id: carrier.or(upstream_id),
            charge: charge.map_err(|_| "it costs more than there is money")?,
            cost: cost.filter(|_| is_answered).unwrap_or(0),
            ledger_id: None,
            imported: true,
            // What it cost us is for a person to find out.
            review: is_answered && quote.is_some() && cost.is_none(),
            recorded_at: self.now,
        })
    }

    /// Where a line belongs: by its trunk, by the trunk that the call came from, or by the number that an upstream called.
    async fn place(&mut self, line: &Line, called: &E164) -> Result<Result<Place, &'static str>, DbError> {
        let address = match line.source_ip.as_ref().map(|text| text.parse::<IpAddr>()).transpose() {
            Ok(address) => address,
            Err(_) if line.trunk_id.is_some() => None,
            Err(_) => return Ok(Err("source_ip must be an IP address")),
        };
        let is_inbound = line.leg == Leg::Origination;
        let holding = if is_inbound { self.holding(called, line.started_at.0).await? } else { None };
        let carrier = address.filter(|_| is_inbound).and_then(|address| self.gateways.find_by_source(address));
        let upstream_id = line.upstream_id.or(carrier.map(|carrier| carrier.id));
        let found = match (line.trunk_id, address) {
            (Some(id), _) => Ok(id),
            (None, None) => Err("trunk_id or source_ip is missing"),
            (None, Some(_)) if is_inbound && carrier.is_none() => Err("no upstream calls from this source_ip"),
            (None, Some(_)) if is_inbound => {
                holding.as_ref().map(|holding| holding.trunk_id).ok_or("no customer had the number when the call began")
            }
            (None, Some(address)) => {
                let network = self.addresses.find(address).ok_or("no trunk calls from this source_ip");
                network.map(|network| network.trunk_id)
            }
        };
        let country = holding.map(|holding| holding.country);
        Ok(match found {
            Err(reason) => Err(reason),
            Ok(id) => match self.trunk(id).await? {
                Some(trunk) => Ok(Place { trunk, upstream_id, country }),
                None => Err("there is no such trunk"),
            },
        })
    }

    async fn trunk(&mut self, id: TrunkId) -> Result<Option<TrunkFacts>, DbError> {
        if let Some(known) = self.trunks.get(&id) {
            return Ok(known.clone());
        }
        let found = store::trunk(&mut *self.app.db.read().await?, id).await?;
        self.trunks.insert(id, found.clone());
        Ok(found)
    }

    /// Who had a number at a moment.
    async fn holding(&mut self, number: &E164, moment: Time) -> Result<Option<Holding>, DbError> {
        if !self.holdings.contains_key(number) {
            let all = store::holdings(&mut *self.app.db.read().await?, number).await?;
            self.holdings.insert(number.clone(), all);
        }
        let had = |one: &&Holding| one.since <= moment && one.released_at.is_none_or(|released| moment < released);
        Ok(self.holdings.get(number).and_then(|all| all.iter().find(had)).cloned())
    }

    /// The tariff of a moment; nothing if too many were needed already.
    async fn tariff_at(&mut self, moment: Time) -> Result<Option<Arc<Tariff>>, DbError> {
        let behind = self.changes.partition_point(|change| *change <= moment);
        if behind == self.changes.len() {
            return Ok((!self.is_cut).then(|| Arc::clone(&self.tariff)));
        }
        let begun = behind.checked_sub(1).and_then(|place| self.changes.get(place)).copied();
        if let Some((_, known)) = self.past.iter().find(|(since, _)| *since == begun) {
            return Ok(Some(Arc::clone(known)));
        }
        if self.past.len() == TARIFFS_AT_ONCE {
            return Ok(None);
        }
        let mut known: Vec<Arc<Tariff>> = self.past.iter().map(|(_, tariff)| Arc::clone(tariff)).collect();
        known.push(Arc::clone(&self.tariff));
        let tariff = Arc::new(Tariff::at(&self.app.db, moment, &known).await?);
        self.past.push((begun, Arc::clone(&tariff)));
        Ok(Some(tariff))
    }
}

fn check_times(
    started_at: Time,
    answered_at: Option<Time>,
    ended_at: Time,
    status: CallStatus,
    now: Time,
) -> Result<(), &'static str> {
    match answered_at {
        _ if started_at < EARLIEST => Err("started_at lies too far back"),
        _ if ended_at.millis() > now.millis() + SKEW_MILLIS => Err("ended_at lies in the future"),
        _ if ended_at < started_at => Err("it ends before it began"),
        Some(at) if at < started_at => Err("it was answered before it began"),
        Some(at) if ended_at < at => Err("it ends before it was answered"),
        Some(_) if status != CallStatus::Answered => Err("a call with answered_at has the status answered"),
        None if status == CallStatus::Answered => Err("answered_at is missing"),
        _ => Ok(()),
    }
}
