//! May this call begin? The checks in their order, and what is taken for it.
//!
//! Who calls and what it costs is known in memory; everything else is asked and taken in one transaction. Its first
//! statement also tells whether memory is behind, in which case all is decided again from what it has missed. A refusal
//! undoes whatever was taken before it. Where statements travel, or calls of one trunk wait for each other, all is asked
//! for at once, since mostly nothing is short; if something is, it is asked for again piece by piece, which tells what.

mod queue;
mod store;
mod take;
mod terms;

use std::net::IpAddr;
use std::sync::Arc;

use super::SECOND_MILLIS;
use super::live::{self, Identity, LiveCall};
use super::load::Day;
use super::prices::{Quote, caller, dialled, quote};
use super::slice::Slice;
use super::types::{Allowed, AuthorizeRequest, Decision, Denial, Direction, RouteOut};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use identity::notifications::{self, FraudCapReached};
use platform::app::App;
use platform::ledger::LedgerError;
use platform::routing::allow_lists::Addresses;
use platform::routing::cache::Versioned;
use platform::routing::tariff::Tariff;
use platform::routing::upstreams::Gateways;
use queue::Queue;
use store::{Facts, Versions};
use take::{take, take_at_once};
use terms::Terms;
use values::{CallId, E164, List, Money, Time, TrunkId, UpstreamId};

/// What is paid for ahead, in seconds, as long as there is money.
pub(super) const SLICE_SECONDS: u32 = 300;
/// How long a call may ring before its slice begins.
pub(super) const RING_SECONDS: i64 = 180;
/// How long money is held after its slice.
pub(super) const HOLD_GRACE_SECONDS: i64 = 30;
/// How often a decision is made again because memory was behind.
const ATTEMPTS: usize = 4;

/// What this node has in memory.
struct Known {
    addresses: Arc<Addresses>,
    gateways: Arc<Gateways>,
    tariff: Arc<Tariff>,
}

impl Known {
    async fn at_least(app: &App, wanted: &Versions) -> Result<Known, DbError> {
        Ok(Known {
            addresses: app.addresses.at_least(&app.db, wanted.addresses).await?,
            gateways: app.gateways.at_least(&app.db, wanted.gateways).await?,
            tariff: app.tariff.at_least(&app.db, wanted.tariff).await?,
        })
    }

    fn versions(&self) -> Versions {
        Versions {
            addresses: self.addresses.version(),
            gateways: self.gateways.version(),
            tariff: self.tariff.version(),
        }
    }
}

/// Whose call it is: a customer's, or an upstream's to a number of a customer.
#[derive(Clone, Copy)]
enum Source {
    Trunk(TrunkId),
    Upstream(UpstreamId),
}

/// A call that asks to begin, with all that memory knows of it.
struct Asked {
    app: App,
    identity: Identity,
    source: Source,
    zone: Option<String>,
    calling: String,
    /// As it was dialled, where it is no number.
    called: Result<E164, String>,
    /// Nothing if the number is not sold, or is a customer's.
    quote: Option<Quote>,
    known: Versions,
    now: Time,
}

impl Asked {
    /// A name for the call, should it begin.
    fn token(&self) -> CallId {
        CallId::new(self.app.entropy.uuid(self.now))
    }
}

/// How a call takes what it needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taking {
    AtOnce,
    PieceByPiece,
}

/// Why a transaction came to nothing.
enum Refusal {
    Denied(Denial),
    /// Denied for what the calls of this day may cost.
    DaySpent(Day),
    Behind(Versions),
    /// Not all of it could be taken at once.
    Short,
    Problem(Problem),
}

impl From<DbError> for Refusal {
    fn from(error: DbError) -> Self {
        Refusal::Problem(error.into())
    }
}

impl From<LedgerError> for Refusal {
    fn from(error: LedgerError) -> Self {
        Refusal::Problem(error.into())
    }
}

/// Where switches ask.
pub struct Decisions {
    app: App,
    queue: Arc<Queue>,
}

impl Decisions {
    pub fn new(app: App) -> Decisions {
        Decisions { app, queue: Arc::default() }
    }

    pub async fn authorize(&self, request: AuthorizeRequest) -> Result<Decision, Problem> {
        let decision = self.decide(request).await?;
        match &decision {
            Decision::Allow(_) => self.app.metrics.calls.allowed.inc(),
            Decision::Deny(denied) => self.app.metrics.calls.denied.of(denied.reason).inc(),
        }
        Ok(decision)
    }

    async fn decide(&self, request: AuthorizeRequest) -> Result<Decision, Problem> {
        let app = &self.app;
        let address: IpAddr =
            request.source_ip.parse().map_err(|_| Problem::invalid("source_ip", "must be an IP address"))?;
        if let Some(zone) = request.zone.as_ref().filter(|zone| app.settings.zone(zone).is_none()) {
            return Err(Problem::invalid("zone", format!("{zone} is no zone of ours")));
        }
        let now = app.clock.now();
        let mut wanted = Versions::default();
        for _ in 0..ATTEMPTS {
            let known = Known::at_least(app, &wanted).await?;
            let source = match source(&known, address, request.direction) {
                Ok(source) => source,
                Err(denial) => {
                    wanted = store::versions(&mut *app.db.read().await?).await?;
                    if known.versions().covers(&wanted) {
                        return Ok(deny(denial));
                    }
                    continue;
                }
            };
            match self.queue.begin(asked(app, &request, &known, source, now)).await {
                Ok(allowed) => return Ok(Decision::Allow(allowed)),
                Err(Refusal::Behind(versions)) => wanted = versions,
                Err(Refusal::Denied(denial)) => return Ok(deny(denial)),
                Err(Refusal::DaySpent(day)) => {
                    tell_once(app, day, now).await?;
                    return Ok(deny(Denial::FraudCap));
                }
                Err(Refusal::Short) => {}
                Err(Refusal::Problem(problem)) => return Err(problem),
            }
        }
        Err(Problem::unavailable("The tariff changes too fast to price a call by it."))
    }
}

/// Decides on one call.
async fn begin(asked: Arc<Asked>) -> Result<Allowed, Refusal> {
    let db = asked.app.db.clone();
    if db.is_shared() {
        match db.tx(Arc::clone(&asked), |conn, asked| Box::pin(allow(conn, asked, Taking::AtOnce))).await {
            Err(Refusal::Short) => {}
            outcome => return outcome,
        }
    }
    db.tx(asked, |conn, asked| Box::pin(allow(conn, asked, Taking::PieceByPiece))).await
}

/// Decides on calls of one trunk and zone that may all begin; where one may not, on none.
async fn begin_together(asked: Vec<Arc<Asked>>) -> Result<Vec<Allowed>, Refusal> {
    let Some(db) = asked.first().map(|first| first.app.db.clone()) else { return Ok(Vec::new()) };
    db.tx(asked, |conn, asked| Box::pin(allow_together(conn, asked))).await
}

fn deny(denial: Denial) -> Decision {
    Decision::Deny(denial.into())
}

fn source(known: &Known, address: IpAddr, direction: Option<Direction>) -> Result<Source, Denial> {
    let trunk = known.addresses.find(address).map(|network| network.trunk_id);
    let upstream = known.gateways.find_by_source(address).map(|carrier| carrier.id);
    match (direction, trunk, upstream) {
        (_, None, None) => Err(Denial::SourceNotAllowed),
        (None | Some(Direction::Outbound), Some(trunk), _) => Ok(Source::Trunk(trunk)),
        (None | Some(Direction::Inbound), _, Some(upstream)) => Ok(Source::Upstream(upstream)),
        (Some(Direction::Inbound), _, None) | (Some(Direction::Outbound), None, _) => Err(Denial::DirectionMismatch),
    }
}

fn asked(app: &App, request: &AuthorizeRequest, known: &Known, source: Source, now: Time) -> Asked {
    let called = dialled(&request.called);
    let sold = called.as_ref().filter(|_| matches!(source, Source::Trunk(_)));
    let quote = sold.and_then(|number| {
        let quote = quote(&known.tariff, &known.gateways, |id| known.gateways.is_down(id), number, now);
        app.metrics.decks.lookups.of(if quote.is_some() { "found" } else { "missed" }).inc();
        quote
    });
    Asked {
        app: app.clone(),
        identity: Identity {
            edge_id: request.edge_id.to_string(),
            call_id: request.call_id.to_string(),
            from_tag: request.from_tag.as_ref().map(ToString::to_string).unwrap_or_default(),
        },
        source,
        zone: request.zone.as_ref().map(ToString::to_string),
        calling: caller(request.calling.as_deref()),
        called: called.ok_or_else(|| request.called.to_string()),
        quote,
        known: known.versions(),
        now,
    }
}

async fn allow(conn: &mut Conn, asked: &Asked, taking: Taking) -> Result<Allowed, Refusal> {
    let Some(facts) = facts(conn, asked).await? else { return Err(nobody(conn, asked).await?) };
    if !asked.known.covers(&facts.versions()) {
        return Err(Refusal::Behind(facts.versions()));
    }
    if let Some(token) = facts.token {
        return again(conn, asked, token).await;
    }
    let terms = terms(asked, &facts).map_err(Refusal::Denied)?;
    if taking == Taking::AtOnce {
        let allowed = take_at_once(conn, &facts, vec![(asked, terms)]).await?;
        return allowed.into_iter().next().ok_or(Refusal::Short);
    }
    let token = asked.token();
    let slice = take(conn, asked, &facts, &terms, token).await?;
    let call = begun(asked, &facts, terms, token, slice);
    if !live::insert(conn, &asked.identity, &call).await? {
        // The same question was asked twice at once; the next attempt finds the other's answer.
        return Err(conn.retry_conflict().into());
    }
    Ok(answer(&call))
}

async fn allow_together(conn: &mut Conn, asked: &[Arc<Asked>]) -> Result<Vec<Allowed>, Refusal> {
    let Some(first) = asked.first() else { return Ok(Vec::new()) };
    let Some(facts) = facts(conn, first).await? else { return Err(Refusal::Short) };
    if !asked.iter().all(|asked| asked.known.covers(&facts.versions())) {
        return Err(Refusal::Behind(facts.versions()));
    }
    let mut asking = Vec::with_capacity(asked.len());
    for asked in asked {
        // Whoever asks again is answered as before, even if such a call would be refused by now.
        asking.push((&**asked, terms(asked, &facts).map_err(|_| Refusal::Short)?));
    }
    take_at_once(conn, &facts, asking).await
}

fn terms(asked: &Asked, facts: &Facts) -> Result<Terms, Denial> {
    match (asked.source, &asked.called) {
        (Source::Trunk(_), called) => Terms::outbound(facts, called.as_ref().ok(), asked.quote.as_ref()),
        (Source::Upstream(upstream), Ok(called)) => Terms::inbound(facts, called, upstream),
        (Source::Upstream(_), Err(_)) => Err(Denial::NumberUnknown),
    }
}

async fn facts(conn: &mut Conn, asked: &Asked) -> Result<Option<Facts>, DbError> {
    let (zone, identity) = (asked.zone.as_deref(), &asked.identity);
    match (asked.source, &asked.called) {
        (Source::Trunk(trunk), _) => store::facts(conn, trunk, zone, identity).await,
        (Source::Upstream(_), Ok(number)) => store::facts_of_number(conn, number, zone, identity).await,
        (Source::Upstream(_), Err(_)) => Ok(None),
    }
}

/// Why a call is refused that is nobody's, unless memory is behind.
async fn nobody(conn: &mut Conn, asked: &Asked) -> Result<Refusal, DbError> {
    let versions = store::versions(conn).await?;
    Ok(match asked.source {
        _ if !asked.known.covers(&versions) => Refusal::Behind(versions),
        Source::Trunk(_) => Refusal::Denied(Denial::SourceNotAllowed),
        Source::Upstream(_) => Refusal::Denied(Denial::NumberUnknown),
    })
}

fn begun(asked: &Asked, facts: &Facts, terms: Terms, token: CallId, slice: Slice) -> LiveCall {
    LiveCall {
        token,
        call_id: asked.identity.call_id.clone(),
        account_id: facts.account_id,
        trunk_id: facts.trunk_id,
        leg: terms.leg,
        zone: facts.zone.clone(),
        calling: asked.calling.clone(),
        called: terms.called.to_string(),
        country: terms.country,
        destination_name: terms.destination_name,
        prefix: terms.prefix,
        currency: CURRENCY,
        rate_per_minute: terms.rate.nanos_per_minute(),
        connect_fee: terms.rate.connect_fee_nanos(),
        increment_seconds: terms.rate.increment_seconds().into(),
        minimum_seconds: terms.rate.minimum_seconds().into(),
        rate_upstream_id: terms.rate_upstream_id,
        routes: List(terms.routes),
        target_uri: terms.target_uri,
        upstream_id: terms.upstream_id,
        started_at: asked.now,
        answered_at: None,
        seen_at: asked.now,
        reserved: slice.amount,
        reserved_seconds: slice.seconds.into(),
        expires_at: unanswered_until(asked.now, slice.seconds.into()),
        hang_up: false,
    }
}

/// How long money for so many seconds is held while a call rings.
pub(super) fn unanswered_until(now: Time, seconds: i64) -> Time {
    Time::from_millis(now.millis() + (RING_SECONDS + seconds + HOLD_GRACE_SECONDS) * SECOND_MILLIS)
}

/// The same question again: the same answer, as long as it can be the same call.
async fn again(conn: &mut Conn, asked: &Asked, token: CallId) -> Result<Allowed, Refusal> {
    let Some(call) = live::find(conn, token).await? else { return Err(conn.retry_conflict().into()) };
    let called = asked.called.as_ref().map(|number| number.as_str());
    let is_same = called == Ok(call.called.as_str()) && asked.calling == call.calling && call.answered_at.is_none();
    if is_same { Ok(answer(&call)) } else { Err(Refusal::Denied(Denial::CallIdInUse)) }
}

fn answer(call: &LiveCall) -> Allowed {
    let routes = &call.routes.0;
    Allowed {
        call_token: call.token,
        account_id: call.account_id,
        trunk_id: call.trunk_id,
        leg: call.leg,
        max_seconds: call.reserved_seconds,
        groups: routes.iter().map(|route| route.dispatcher_group_id).collect(),
        routes: routes.iter().map(RouteOut::from).collect(),
        target_uri: call.target_uri.clone(),
    }
}

/// Tells the account that its calls are refused for what they may cost in a day, once a day.
async fn tell_once(app: &App, day: Day, now: Time) -> Result<(), DbError> {
    app.db
        .tx((app.entropy, day, now), |conn, (entropy, day, now)| {
            Box::pin(async move {
                if day.tell_once(conn).await? {
                    let news = FraudCapReached { max_spend_per_day: Money::from_nanos(day.most, CURRENCY) };
                    notifications::notify(conn, *entropy, day.account, &news, *now).await?;
                }
                Ok::<_, DbError>(())
            })
        })
        .await
}
