//! The CDR of a line: whose call it was, and what it cost when it began.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::store::{self, AddressHolder, NumberRental, TrunkRow};
use super::suspense::SuspenseReason;
use super::types::ImportLine;
use crate::cdrs::archive;
use crate::cdrs::quotes::{Quote, normalize_caller, parse_dialled, quote};
use crate::cdrs::retention::{self, ANONYMISED};
use crate::cdrs::row::{CallResult, CdrRow};
use crate::cdrs::terms::{CallStatus, CallTerms, Leg, Parties, Price};
use crate::cdrs::write::{MAX_CLOCK_SKEW_MILLIS, seconds_between};
use db::{DbError, Entropy};
use platform::app::App;
use platform::routing::cache::Versioned;
use platform::routing::plans::{CustomerPlan, PlanTimeline, Plans};
use platform::routing::tariff::{self, PastTime, Tariff};
use platform::routing::upstreams::Gateways;
use values::{AccountId, CallId, E164, RatePlanVersionId, Time, TrunkId, UpstreamId};

/// Past tariffs that one import may need; lines beyond are suspended.
const MAX_PAST_TARIFFS: usize = 64;
/// Changes of the tariff that are considered.
const MAX_TARIFF_CHANGES: i64 = 100_000;
/// 2000-01-01: earlier calls are rejected.
const EARLIEST_START: Time = Time::from_millis(946_684_800_000);

/// What lines are checked and priced by.
pub struct Importer<'a> {
    app: &'a App,
    gateways: Arc<Gateways>,
    tariff: Arc<Tariff>,
    plans: Arc<Plans>,
    /// Past plans of customers, and their compiled versions.
    timelines: HashMap<AccountId, PlanTimeline>,
    compiled: HashMap<RatePlanVersionId, Arc<rating::Plan>>,
    /// Changes of the tariff since the earliest line, in order.
    changes: Vec<Time>,
    /// There were more changes than are considered.
    is_truncated: bool,
    /// Past tariffs by the change that began them.
    past: Vec<(Option<Time>, Arc<Tariff>)>,
    trunks: HashMap<TrunkId, Option<TrunkRow>>,
    holders: HashMap<IpAddr, Vec<AddressHolder>>,
    rentals: HashMap<E164, Vec<NumberRental>>,
    /// When the hot window begins; none while nothing is archived.
    hot_from: Option<Time>,
    pub now: Time,
}

impl Importer<'_> {
    /// The version of the tariff that says which lines cannot be rated.
    pub fn tariff_version(&self) -> i64 {
        self.tariff.version()
    }
}

/// Whose call a line is.
struct Owner {
    trunk: TrunkRow,
    /// The upstream of the call, if it is known.
    upstream_id: Option<UpstreamId>,
    /// Country of the customer's number that was called.
    country: Option<String>,
}

/// Why a line has no CDR.
pub enum LineError {
    /// The line is wrong and stays so.
    Rejected(&'static str),
    /// The line can be rated once we know more.
    Suspended(SuspenseReason),
    Db(DbError),
}

impl From<&'static str> for LineError {
    fn from(reason: &'static str) -> Self {
        LineError::Rejected(reason)
    }
}

impl From<SuspenseReason> for LineError {
    fn from(reason: SuspenseReason) -> Self {
        LineError::Suspended(reason)
    }
}

impl From<DbError> for LineError {
    fn from(error: DbError) -> Self {
        LineError::Db(error)
    }
}

impl<'a> Importer<'a> {
    pub async fn new(app: &'a App, earliest: Time) -> Result<Importer<'a>, DbError> {
        // The changes are read last, so that every change that the tariff lacks is among them.
        let (tariff, gateways) = (app.tariff.current(&app.db).await?, app.gateways.current(&app.db).await?);
        let changes = tariff::changes_after(&mut *app.db.read().await?, earliest, MAX_TARIFF_CHANGES).await?;
        let changes: Vec<Time> = changes.into_iter().map(|(change,)| change).collect();
        let hot_from = archive::hot_from(&mut *app.db.read().await?).await?;
        let is_truncated = changes.len() as i64 == MAX_TARIFF_CHANGES;
        Ok(Importer {
            app,
            gateways,
            tariff,
            plans: app.plans.current(&app.db).await?,
            timelines: HashMap::new(),
            compiled: HashMap::new(),
            changes,
            is_truncated,
            past: Vec::new(),
            trunks: HashMap::new(),
            holders: HashMap::new(),
            rentals: HashMap::new(),
            hot_from,
            now: app.clock.now(),
        })
    }

    /// The CDR of a line, or why it has none.
    pub async fn cdr(&mut self, line: &ImportLine) -> Result<CdrRow, LineError> {
        let (started_at, ended_at) = (line.started_at.0, line.ended_at.0);
        let answered_at = line.answered_at.map(|at| at.0);
        check_times(started_at, answered_at, ended_at, line.status, self.now)?;
        if self.hot_from.is_some_and(|hot_from| started_at < hot_from) {
            return Err("started_at is before the hot window: the calls of its day are archived".into());
        }
        let called = parse_dialled(&line.called).ok_or("called is not a dialable number")?;
        let seconds = answered_at.map_or(Ok(0), |at| seconds_between(at, ended_at))?;
        if line.upstream_id.is_some_and(|id| self.gateways.find(id).is_none()) {
            return Err(SuspenseReason::UnknownUpstream.into());
        }
        let owner = self.owner(line, &called).await?;
        let quote = match line.leg {
            Leg::Origination => None,
            Leg::Termination => {
                let tariff = self.tariff_at(started_at).await?.ok_or(SuspenseReason::TooManyTariffs)?;
                let plan = self.plan_at(owner.trunk.account_id, started_at).await?;
                let pricing = self.plans.pricing_by(owner.trunk.account_id, plan);
                // An upstream that is down now may have been up then.
                quote(&tariff, &pricing, &self.gateways, |_| false, &called, started_at)
            }
        };
        if quote.is_none() && line.leg == Leg::Termination && answered_at.is_some() {
            return Err(SuspenseReason::NotSold.into());
        }
        Ok(self.rate(line, owner, &called, seconds, quote.as_ref())?)
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
    /// called; each as it was when the call began.
    async fn owner(&mut self, line: &ImportLine, called: &E164) -> Result<Owner, LineError> {
        let address = match line.source_ip.as_ref().map(|text| text.parse::<IpAddr>()).transpose() {
            Ok(address) => address,
            Err(_) if line.trunk_id.is_some() => None,
            Err(_) => return Err("source_ip must be an IP address".into()),
        };
        let (is_inbound, started_at) = (line.leg == Leg::Origination, line.started_at.0);
        let rental = if is_inbound { self.rental(called, started_at).await? } else { None };
        let upstream = address.filter(|_| is_inbound).and_then(|address| self.gateways.find_by_source(address));
        let (upstream_id, has_upstream) = (line.upstream_id.or(upstream.map(|found| found.id)), upstream.is_some());
        let trunk_id = match (line.trunk_id, address) {
            (Some(id), _) => Some(id),
            (None, None) => return Err("trunk_id or source_ip is missing".into()),
            (None, Some(_)) if is_inbound && !has_upstream => return Err(SuspenseReason::UnknownUpstream.into()),
            (None, Some(_)) if is_inbound => {
                Some(rental.as_ref().map(|rental| rental.trunk_id).ok_or(SuspenseReason::UnknownNumber)?)
            }
            (None, Some(address)) => self.trunk_of_address(address, started_at).await?,
        };
        let trunk = match trunk_id {
            Some(id) => self.trunk(id).await?.filter(|trunk| trunk.deleted_at.is_none_or(|at| started_at < at)),
            None => None,
        };
        let country = rental.map(|rental| rental.country);
        Ok(Owner { trunk: trunk.ok_or(SuspenseReason::UnknownTrunk)?, upstream_id, country })
    }

    async fn trunk(&mut self, id: TrunkId) -> Result<Option<TrunkRow>, DbError> {
        if let Some(known) = self.trunks.get(&id) {
            return Ok(known.clone());
        }
        let found = store::find_trunk(&mut *self.app.db.read().await?, id).await?;
        self.trunks.insert(id, found.clone());
        Ok(found)
    }

    /// The trunk that had an address at a time. An address that nobody had yet counts for the first trunk that got it,
    /// so that calls from before a customer was set up can be imported.
    async fn trunk_of_address(&mut self, address: IpAddr, at: Time) -> Result<Option<TrunkId>, DbError> {
        if !self.holders.contains_key(&address) {
            let is_proof_required = self.app.settings.allow_list_proof;
            let mut conn = self.app.db.read().await?;
            let all = store::list_address_holders(&mut conn, address, is_proof_required).await?;
            drop(conn);
            self.holders.insert(address, all);
        }
        let holders = self.holders.get(&address).map(Vec::as_slice).unwrap_or_default();
        let is_then = |one: &&AddressHolder| one.created_at <= at && one.deleted_at.is_none_or(|deleted| at < deleted);
        // They are in order: if the first got it later, nobody had it before.
        let first_ever = holders.first().filter(|one| one.created_at > at);
        Ok(holders.iter().find(is_then).or(first_ever).map(|one| one.trunk_id))
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

    /// The plan of a customer at a time; none for the list price.
    async fn plan_at(&mut self, account: AccountId, at: Time) -> Result<Option<CustomerPlan>, DbError> {
        if self.plans.knows(at) {
            return Ok(self.plans.of(account, at));
        }
        if !self.timelines.contains_key(&account) {
            let timeline = PlanTimeline::of_account(&mut *self.app.db.read().await?, account).await?;
            self.timelines.insert(account, timeline);
        }
        let timeline = self.timelines.get(&account);
        let found = timeline.and_then(|timeline| timeline.at(account, PastTime::new(at, self.now)));
        let Some(in_force) = found else { return Ok(None) };
        if let Some(known) = self.compiled.get(&in_force.version_id) {
            return Ok(Some(CustomerPlan { in_force, plan: Arc::clone(known) }));
        }
        let plan = self.plans.compiled(&mut *self.app.db.read().await?, in_force.version_id).await?;
        self.compiled.insert(in_force.version_id, Arc::clone(&plan));
        Ok(Some(CustomerPlan { in_force, plan }))
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
