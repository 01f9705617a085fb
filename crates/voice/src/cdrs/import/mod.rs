//! Imports CDRs of other switches: finished calls that we did not authorize, one JSON object per line.
//!
//! Each line is accepted or rejected by itself. The same call, by trunk, Call-ID, leg and start, is stored and charged
//! once, however often it is imported. A call is priced by the tariff in force when it began.

mod store;
mod types;

pub use types::{ImportAnswer, ImportLine, RejectedLine};

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use super::quotes::{Quote, normalize_caller, parse_dialled, quote};
use super::retention::{self, ANONYMISED};
use super::row::{CallResult, CdrRow};
use super::terms::{CallStatus, CallTerms, Leg, Parties, Price};
use super::write::{ImportBatch, MAX_CLOCK_SKEW_MILLIS, seconds_between};
use api::problem::Problem;
use api::schema;
use db::{DbError, Entropy};
use platform::app::App;
use platform::ledger::LedgerError;
use platform::routing::allow_lists::Addresses;
use platform::routing::tariff::{self, PastTime, Tariff};
use platform::routing::upstreams::Gateways;
use store::{NumberRental, TrunkRow};
use values::{CallId, E164, Time, TrunkId, UpstreamId};

/// Maximum number of lines of one import.
pub const MAX_IMPORT_LINES: usize = 20_000;
const LINES_PER_TRANSACTION: usize = 2_000;
const MAX_LINE_BYTES: usize = 4096;
/// Past tariffs that one import may need; further lines are rejected and can be sent in smaller parts.
const MAX_PAST_TARIFFS: usize = 64;
/// Changes of the tariff that are considered.
const MAX_TARIFF_CHANGES: i64 = 100_000;
/// 2000-01-01: earlier calls are rejected.
const EARLIEST_START: Time = Time::from_millis(946_684_800_000);

/// What lines are checked and priced by.
struct Importer<'a> {
    app: &'a App,
    addresses: Arc<Addresses>,
    gateways: Arc<Gateways>,
    tariff: Arc<Tariff>,
    /// Changes of the tariff since the earliest line, in order.
    changes: Vec<Time>,
    /// There were more changes than are considered.
    is_truncated: bool,
    /// Past tariffs by the change that began them.
    past: Vec<(Option<Time>, Arc<Tariff>)>,
    trunks: HashMap<TrunkId, Option<TrunkRow>>,
    rentals: HashMap<E164, Vec<NumberRental>>,
    now: Time,
}

/// Whose call a line is.
struct Owner {
    trunk: TrunkRow,
    /// The upstream of the call, if it is known.
    upstream_id: Option<UpstreamId>,
    /// Country of the customer's number that was called.
    country: Option<String>,
}

/// Imports lines; `first` is the number of the first line.
pub async fn import(app: &App, text: &[u8], first: usize) -> Result<ImportAnswer, Problem> {
    let mut answer = ImportAnswer::default();
    let mut lines: Vec<(usize, ImportLine)> = Vec::new();
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match parse(line) {
            Ok(line) => lines.push((first + index, line)),
            Err(reason) => answer.rejected.push(RejectedLine { line: first + index, reason }),
        }
    }
    let Some(earliest) = lines.iter().map(|(_, line)| line.started_at.0).min() else { return Ok(answer) };
    let mut importer = Importer::new(app, earliest).await?;
    let mut seen = HashSet::new();
    for part in lines.chunks(LINES_PER_TRANSACTION) {
        let mut cdrs = Vec::with_capacity(part.len());
        for (number, line) in part {
            match importer.cdr(line).await? {
                Ok(cdr) if seen.insert(identity(&cdr)) => cdrs.push(cdr),
                Ok(_) => answer.duplicates += 1,
                Err(reason) => answer.rejected.push(RejectedLine { line: *number, reason: reason.to_owned() }),
            }
        }
        let valid = cdrs.len();
        let new = if valid == 0 { 0 } else { write(app, cdrs, importer.now).await? };
        answer.accepted += new;
        answer.duplicates += valid - new;
    }
    answer.rejected.sort_by_key(|rejected| rejected.line);
    Ok(answer)
}

fn identity(cdr: &CdrRow) -> (TrunkId, String, Leg, Time) {
    let CallTerms { trunk_id, leg, started_at, .. } = cdr.terms;
    (trunk_id, cdr.terms.call_id.clone(), leg, started_at)
}

fn parse(line: &[u8]) -> Result<ImportLine, String> {
    if line.len() > MAX_LINE_BYTES {
        return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
    }
    // The type accepts what the schema accepts, except that it also takes a list. The schema has the better error
    // texts.
    if line.trim_ascii_start().starts_with(b"{")
        && let Ok(line) = serde_json::from_slice(line)
    {
        return Ok(line);
    }
    let value = serde_json::from_slice(line).map_err(|error| format!("the line is not JSON: {error}"))?;
    schema::read(value).map_err(|problem| invalid_reason(&problem))
}

/// What is wrong with a line or an event, as one text.
pub fn invalid_reason(problem: &Problem) -> String {
    let invalid: Vec<String> =
        problem.invalid_params().iter().map(|param| format!("{} {}", param.name, param.reason)).collect();
    match invalid.as_slice() {
        [] => problem.detail().unwrap_or("cannot be read").to_owned(),
        invalid => invalid.join("; "),
    }
}

async fn write(app: &App, cdrs: Vec<CdrRow>, now: Time) -> Result<usize, LedgerError> {
    let batch = Arc::new(ImportBatch::new(cdrs, now));
    // On PostgreSQL, try to copy all rows at once: most imports have no duplicates.
    if app.db.is_shared() {
        match app.db.tx(Arc::clone(&batch), |conn, batch| Box::pin(batch.write_all(conn))).await {
            Err(LedgerError::Db(DbError::Unique(_))) => {}
            outcome => return outcome,
        }
    }
    app.db.tx(batch, |conn, batch| Box::pin(batch.write_new(conn))).await
}

impl<'a> Importer<'a> {
    async fn new(app: &'a App, earliest: Time) -> Result<Importer<'a>, DbError> {
        // The changes are read last, so that every change that the tariff lacks is among them.
        let tariff = app.tariff.current(&app.db).await?;
        let (addresses, gateways) = (app.addresses.current(&app.db).await?, app.gateways.current(&app.db).await?);
        let changes = tariff::changes_after(&mut *app.db.read().await?, earliest, MAX_TARIFF_CHANGES).await?;
        let changes: Vec<Time> = changes.into_iter().map(|(change,)| change).collect();
        let is_truncated = changes.len() as i64 == MAX_TARIFF_CHANGES;
        let (past, trunks, rentals, now) = (Vec::new(), HashMap::new(), HashMap::new(), app.clock.now());
        Ok(Importer { app, addresses, gateways, tariff, changes, is_truncated, past, trunks, rentals, now })
    }

    /// The CDR of a line, or why the line is rejected.
    async fn cdr(&mut self, line: &ImportLine) -> Result<Result<CdrRow, &'static str>, DbError> {
        let (started_at, ended_at) = (line.started_at.0, line.ended_at.0);
        let answered_at = line.answered_at.map(|at| at.0);
        if let Err(reason) = check_times(started_at, answered_at, ended_at, line.status, self.now) {
            return Ok(Err(reason));
        }
        if line.upstream_id.is_some_and(|id| self.gateways.find(id).is_none()) {
            return Ok(Err("there is no such upstream"));
        }
        let Some(called) = parse_dialled(&line.called) else { return Ok(Err("called is not a dialable number")) };
        let owner = match self.owner(line, &called).await? {
            Ok(owner) => owner,
            Err(reason) => return Ok(Err(reason)),
        };
        let seconds = match answered_at.map_or(Ok(0), |at| seconds_between(at, ended_at)) {
            Ok(seconds) => seconds,
            Err(reason) => return Ok(Err(reason)),
        };
        let quote = match (line.leg, self.tariff_at(started_at).await?) {
            (Leg::Origination, _) => None,
            (Leg::Termination, None) => return Ok(Err("the import needs too many past tariffs; send fewer lines")),
            // An upstream that is down now may have been up then.
            (Leg::Termination, Some(tariff)) => quote(&tariff, &self.gateways, |_| false, &called, started_at),
        };
        if quote.is_none() && line.leg == Leg::Termination && answered_at.is_some() {
            return Ok(Err("the number had no sell rate when the call began"));
        }
        Ok(self.rate(line, owner, &called, seconds, quote.as_ref()))
    }

    fn rate(
        &self,
        line: &ImportLine,
        owner: Owner,
        called: &E164,
        seconds: u32,
        quote: Option<&Quote>,
    ) -> Result<CdrRow, &'static str> {
        let (sale, is_answered) = (quote.map(|quote| &quote.sale), line.answered_at.is_some());
        let billed_rate = sale.map(|sale| sale.rate).filter(|_| is_answered);
        let charge = billed_rate.map_or(Ok(0), |rate| rate.price(seconds));
        let upstream = quote.and_then(|quote| quote.upstream(line.upstream_id));
        let cost = quote.zip(upstream).and_then(|(quote, upstream)| quote.cost(upstream, seconds));
        let (started_at, Owner { trunk, upstream_id, country }) = (line.started_at.0, owner);
        let (calling, called) = match retention::is_over(self.app, started_at, self.now) {
            true => (ANONYMISED.to_owned(), ANONYMISED.to_owned()),
            false => (normalize_caller(line.calling.as_deref()), called.to_string()),
        };
        let parties = Parties {
            account_id: trunk.account_id,
            trunk_id: trunk.id,
            call_id: line.call_id.to_string(),
            leg: line.leg,
            zone: trunk.zone,
            calling,
            called,
            started_at,
        };
        let result = CallResult {
            answered_at: line.answered_at.map(|at| at.0),
            ended_at: Some(line.ended_at.0),
            duration_seconds: seconds.into(),
            billed_seconds: billed_rate.map_or(0, |rate| rate.billed_seconds(seconds)).into(),
            status: line.status,
            upstream_id: upstream.or(upstream_id),
            charge: charge.map_err(|_| "the charge is too large")?,
            cost: cost.filter(|_| is_answered).unwrap_or(0),
            ledger_id: None,
            imported: true,
            // The upstream had no rate, so the cost is unknown.
            review: is_answered && quote.is_some() && cost.is_none(),
            recorded_at: self.now,
        };
        let price = sale.map_or_else(|| Price::free(country), Price::from);
        let id = CallId::new(Entropy.uuid(started_at));
        Ok(CdrRow { id, terms: CallTerms::new(parties, price), result })
    }

    /// Finds the owner of a line: by its trunk, by the trunk that the call came from, or by the number that an upstream
    /// called.
    async fn owner(&mut self, line: &ImportLine, called: &E164) -> Result<Result<Owner, &'static str>, DbError> {
        let address = match line.source_ip.as_ref().map(|text| text.parse::<IpAddr>()).transpose() {
            Ok(address) => address,
            Err(_) if line.trunk_id.is_some() => None,
            Err(_) => return Ok(Err("source_ip must be an IP address")),
        };
        let is_inbound = line.leg == Leg::Origination;
        let rental = if is_inbound { self.rental(called, line.started_at.0).await? } else { None };
        let upstream = address.filter(|_| is_inbound).and_then(|address| self.gateways.find_by_source(address));
        let upstream_id = line.upstream_id.or(upstream.map(|upstream| upstream.id));
        let trunk_id = match (line.trunk_id, address) {
            (Some(id), _) => Ok(id),
            (None, None) => Err("trunk_id or source_ip is missing"),
            (None, Some(_)) if is_inbound && upstream.is_none() => Err("no upstream has this source_ip"),
            (None, Some(_)) if is_inbound => {
                rental.as_ref().map(|rental| rental.trunk_id).ok_or("no customer had the number when the call began")
            }
            (None, Some(address)) => {
                let network = self.addresses.find(address).ok_or("no trunk has this source_ip");
                network.map(|network| network.trunk_id)
            }
        };
        let country = rental.map(|rental| rental.country);
        Ok(match trunk_id {
            Err(reason) => Err(reason),
            Ok(id) => match self.trunk(id).await? {
                Some(trunk) => Ok(Owner { trunk, upstream_id, country }),
                None => Err("there is no such trunk"),
            },
        })
    }

    async fn trunk(&mut self, id: TrunkId) -> Result<Option<TrunkRow>, DbError> {
        if let Some(known) = self.trunks.get(&id) {
            return Ok(known.clone());
        }
        let found = store::find_trunk(&mut *self.app.db.read().await?, id).await?;
        self.trunks.insert(id, found.clone());
        Ok(found)
    }

    /// The rental of a number at a time.
    async fn rental(&mut self, number: &E164, at: Time) -> Result<Option<NumberRental>, DbError> {
        if !self.rentals.contains_key(number) {
            let all = store::list_rentals(&mut *self.app.db.read().await?, number).await?;
            self.rentals.insert(number.clone(), all);
        }
        let is_then = |one: &&NumberRental| one.since <= at && one.released_at.is_none_or(|released| at < released);
        Ok(self.rentals.get(number).and_then(|all| all.iter().find(is_then)).cloned())
    }

    /// The tariff at a time; none if the import needs too many.
    async fn tariff_at(&mut self, at: Time) -> Result<Option<Arc<Tariff>>, DbError> {
        let before = self.changes.partition_point(|change| *change <= at);
        if before == self.changes.len() {
            return Ok((!self.is_truncated).then(|| Arc::clone(&self.tariff)));
        }
        let began = before.checked_sub(1).and_then(|index| self.changes.get(index)).copied();
        if let Some((_, known)) = self.past.iter().find(|(since, _)| *since == began) {
            return Ok(Some(Arc::clone(known)));
        }
        if self.past.len() == MAX_PAST_TARIFFS {
            return Ok(None);
        }
        let mut known: Vec<Arc<Tariff>> = self.past.iter().map(|(_, tariff)| Arc::clone(tariff)).collect();
        known.push(Arc::clone(&self.tariff));
        let tariff = Arc::new(Tariff::at(&self.app.db, PastTime::new(at, self.now), &known).await?);
        self.past.push((began, Arc::clone(&tariff)));
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
        _ if started_at < EARLIEST_START => Err("started_at is before the year 2000"),
        _ if ended_at.millis() > now.millis() + MAX_CLOCK_SKEW_MILLIS => Err("ended_at is in the future"),
        _ if ended_at < started_at => Err("ended_at is before started_at"),
        Some(at) if at < started_at => Err("answered_at is before started_at"),
        Some(at) if ended_at < at => Err("ended_at is before answered_at"),
        Some(_) if status != CallStatus::Answered => Err("status must be answered if answered_at is sent"),
        None if status == CallStatus::Answered => Err("answered_at is missing"),
        _ => Ok(()),
    }
}
