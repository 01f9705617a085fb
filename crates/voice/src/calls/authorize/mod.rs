//! Authorizes calls: the checks in their order, and what an allowed call occupies.
//!
//! Trunk, upstream and price come from the caches; everything else is read and counted in one transaction. Its first
//! statement also returns the versions of the caches; if they are behind, the decision is made again with newer ones. A
//! denial rolls back what was counted before it. On PostgreSQL, and for calls of one trunk that wait for each other,
//! all counters are changed in one round trip, since mostly nothing is short; if something is, they are changed one by
//! one, which tells the deny reason.
//!
//! - `simulate`: a decision that is rolled back
//! - `offer`: checks without counters, price and routes · `order`: which route is tried first · `target`: where an inbound call is sent · `acquire`: counters
//!   and the hold · `queue`: joint decisions

mod acquire;
mod offer;
mod order;
mod queue;
mod simulate;
mod store;
mod target;

pub use simulate::simulate;

use std::net::IpAddr;
use std::sync::Arc;

use super::live::{self, CallIdentity, LiveCall, LiveState};
use super::reservation::{Reservation, expiry_while_ringing};
use super::types::{Allowed, AuthorizeRequest, Decision, DenyReason, Direction, RouteOut};
use crate::cdrs::{CallTerms, Parties, Quote, normalize_caller, parse_dialled, quote};
use crate::concurrency::DailySpend;
use acquire::{acquire, acquire_together};
use api::problem::Problem;
use db::{Conn, DbError, Entropy};
use identity::balance::CURRENCY;
use identity::notifications::{self, FraudCapReached, NotificationPayload};
use offer::Offer;
use platform::app::App;
use platform::mail;
use platform::routing::allow_lists::Addresses;
use platform::routing::cache::Versioned;
use platform::routing::plans::Plans;
use platform::routing::tariff::Tariff;
use platform::routing::upstreams::Gateways;
use queue::Queue;
use store::{CallContext, Versions};
use target::Target;
use values::{AccountId, CallId, E164, List, Money, Time, TrunkId, UpstreamId};

/// How often a decision is made because the caches were behind.
const MAX_DECISIONS: usize = 4;

/// The caches that a decision uses.
struct Caches {
    addresses: Arc<Addresses>,
    gateways: Arc<Gateways>,
    tariff: Arc<Tariff>,
    plans: Arc<Plans>,
}

impl Caches {
    async fn at_least(app: &App, versions: &Versions) -> Result<Caches, DbError> {
        Ok(Caches {
            addresses: app.addresses.at_least(&app.db, versions.addresses).await?,
            gateways: app.gateways.at_least(&app.db, versions.gateways).await?,
            tariff: app.tariff.at_least(&app.db, versions.tariff).await?,
            plans: app.plans.at_least(&app.db, versions.plans).await?,
        })
    }

    fn versions(&self) -> Versions {
        Versions {
            addresses: self.addresses.version(),
            gateways: self.gateways.version(),
            tariff: self.tariff.version(),
            plans: self.plans.version(),
        }
    }
}

/// Where a call comes from: a customer, or an upstream that calls a customer's number.
#[derive(Clone, Copy)]
enum Source {
    Trunk(TrunkId, AccountId),
    Upstream(UpstreamId),
}

/// A call to be authorized, with what the caches say about it.
struct Attempt {
    app: App,
    identity: CallIdentity,
    source: Source,
    zone: Option<String>,
    calling: String,
    /// As dialled if it is not a number.
    called: Result<E164, String>,
    /// None for inbound calls and for numbers without a sell rate.
    quote: Option<Quote>,
    /// Where a call to a customer's number goes.
    target: Option<Target>,
    versions: Versions,
    now: Time,
}

impl Attempt {
    fn new_token(&self) -> CallId {
        CallId::new(Entropy.uuid(self.now))
    }
}

/// How a call acquires what it needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// In one round trip, or not at all.
    Together,
    StepByStep,
}

/// Why a transaction was rolled back.
enum Refusal {
    Denied(DenyReason),
    /// Denied by the daily fraud cap.
    FraudCap(DailySpend),
    /// The caches are behind these versions.
    Behind(Versions),
    /// The target of the called number has changed since it was checked.
    Moved,
    /// Not everything could be acquired in one round trip.
    Short,
    Problem(Problem),
}

impl From<DbError> for Refusal {
    fn from(error: DbError) -> Self {
        Refusal::Problem(error.into())
    }
}

/// Makes authorization decisions for switches.
pub struct Authorizer {
    app: App,
    queue: Arc<Queue>,
}

impl Authorizer {
    pub fn new(app: App) -> Authorizer {
        Authorizer { app, queue: Arc::default() }
    }

    pub async fn authorize(&self, request: AuthorizeRequest) -> Result<Decision, Problem> {
        self.app.presence.saw_edge(&request.edge_id, self.app.clock.now());
        let decision = self.decide(request).await?;
        match &decision {
            Decision::Allow(_) => self.app.metrics.calls.allowed.inc(),
            Decision::Deny(denied) => self.app.metrics.calls.denied.of(denied.reason).inc(),
        }
        Ok(decision)
    }

    async fn decide(&self, request: AuthorizeRequest) -> Result<Decision, Problem> {
        let app = &self.app;
        let now = app.clock.now();
        let mut versions = Versions::default();
        for _ in 0..MAX_DECISIONS {
            let caches = Caches::at_least(app, &versions).await?;
            let source = match source(&caches, app.settings.allow_list_proof, request.source_ip, request.direction) {
                Ok(source) => source,
                Err(reason) => {
                    versions = store::versions(&mut *app.db.read().await?).await?;
                    if caches.versions().covers(&versions) {
                        return Ok(deny(reason));
                    }
                    continue;
                }
            };
            let called = parse_dialled(&request.called);
            let target = match (source, &called) {
                (Source::Upstream(_), Some(number)) => target::find(app, &caches, number, now).await?,
                _ => None,
            };
            let mut attempt = attempt(app, &request, &caches, source, target, (now, now));
            order::order_routes(&mut attempt);
            match self.queue.authorize(attempt).await {
                Ok(allowed) => return Ok(Decision::Allow(allowed)),
                Err(Refusal::Behind(newer)) => versions = newer,
                Err(Refusal::Denied(reason)) => return Ok(deny(reason)),
                Err(Refusal::FraudCap(day)) => {
                    notify_fraud_cap(app, day).await?;
                    return Ok(deny(DenyReason::FraudCap));
                }
                Err(Refusal::Moved | Refusal::Short) => {}
                Err(Refusal::Problem(problem)) => return Err(problem),
            }
        }
        Err(Problem::unavailable("The tariff is changing; try again."))
    }
}

/// Decides on one call.
async fn authorize_one(attempt: Arc<Attempt>) -> Result<Allowed, Refusal> {
    let db = attempt.app.db.clone();
    // On PostgreSQL every statement is a round trip, and mostly nothing is short.
    if db.is_shared() {
        match db.tx(Arc::clone(&attempt), |conn, attempt| Box::pin(allow(conn, attempt, Mode::Together))).await {
            Err(Refusal::Short) => {}
            outcome => return outcome,
        }
    }
    db.tx(attempt, |conn, attempt| Box::pin(allow(conn, attempt, Mode::StepByStep))).await
}

/// Allows calls of one trunk and zone if all of them may begin; otherwise none.
async fn authorize_together(attempts: Vec<Arc<Attempt>>) -> Result<Vec<Allowed>, Refusal> {
    let Some(db) = attempts.first().map(|first| first.app.db.clone()) else { return Ok(Vec::new()) };
    db.tx(attempts, |conn, attempts| Box::pin(allow_together(conn, attempts))).await
}

fn deny(reason: DenyReason) -> Decision {
    Decision::Deny(reason.into())
}

/// Whose call it is. An address of an upstream is never a customer's, whatever is on its allow-list: otherwise a customer
/// could capture the upstream's calls.
fn source(
    caches: &Caches,
    is_proof_required: bool,
    address: IpAddr,
    direction: Option<Direction>,
) -> Result<Source, DenyReason> {
    let trunk = caches.addresses.find(address, is_proof_required).filter(|_| !caches.gateways.is_upstream(address));
    let source = match (caches.gateways.find_by_source(address), trunk) {
        (Some(upstream), _) => Source::Upstream(upstream.id),
        (None, Some(network)) => Source::Trunk(network.trunk_id, network.account_id),
        (None, None) => return Err(DenyReason::SourceNotAllowed),
    };
    match (direction, source) {
        (Some(Direction::Inbound), Source::Trunk(..)) | (Some(Direction::Outbound), Source::Upstream(_)) => {
            Err(DenyReason::DirectionMismatch)
        }
        _ => Ok(source),
    }
}

fn attempt(
    app: &App,
    request: &AuthorizeRequest,
    caches: &Caches,
    source: Source,
    target: Option<Target>,
    (now, priced_at): (Time, Time),
) -> Attempt {
    let called = parse_dialled(&request.called);
    let outbound = match source {
        Source::Trunk(_, account) => called.as_ref().map(|number| (number, account)),
        Source::Upstream(_) => None,
    };
    let quote = outbound.and_then(|(number, account)| {
        let (plan, gateways) = (caches.plans.of(account, priced_at), &caches.gateways);
        let quote = quote(&caches.tariff, plan.as_ref(), gateways, |id| gateways.is_down(id), number, priced_at);
        app.metrics.decks.lookups.of(if quote.is_some() { "found" } else { "missed" }).inc();
        quote
    });
    Attempt {
        app: app.clone(),
        identity: CallIdentity {
            edge_id: request.edge_id.to_string(),
            call_id: request.call_id.to_string(),
            from_tag: identity_tag(request),
        },
        source,
        zone: request.zone.as_ref().map(ToString::to_string),
        calling: normalize_caller(request.calling.as_deref()),
        called: called.ok_or_else(|| request.called.to_string()),
        quote,
        target,
        versions: caches.versions(),
        now,
    }
}

/// The tag, with the run of the switch if it sent that; a tag has no space.
fn identity_tag(request: &AuthorizeRequest) -> String {
    let tag = request.from_tag.as_ref().map(ToString::to_string).unwrap_or_default();
    request.edge_instance.as_ref().map_or(tag.clone(), |run| format!("{tag} {run}"))
}

async fn allow(conn: &mut Conn, attempt: &Attempt, mode: Mode) -> Result<Allowed, Refusal> {
    let context = current_context(conn, attempt).await?;
    if let Some(token) = context.token {
        return replay_decision(conn, attempt, token).await;
    }
    if attempt.target.as_ref().is_some_and(|target| !target.is_of(&context)) {
        return Err(Refusal::Moved);
    }
    let offer = offer(attempt, &context).map_err(Refusal::Denied)?;
    if mode == Mode::Together {
        let allowed = acquire_together(conn, &context, vec![(attempt, offer)]).await?;
        return allowed.into_iter().next().ok_or(Refusal::Short);
    }
    let token = attempt.new_token();
    let reservation = acquire(conn, attempt, &context, &offer, token).await?;
    let call = live_call(attempt, &context, offer, token, reservation);
    if !live::insert(conn, &attempt.identity, &call).await? {
        // The same request was sent twice at the same time; the retry finds the other's live call.
        return Err(conn.retry_conflict().into());
    }
    Ok(allowed(&call))
}

/// The context of a call; a refusal if it belongs to no account, or the caches are behind.
async fn current_context(conn: &mut Conn, attempt: &Attempt) -> Result<CallContext, Refusal> {
    conn.set_now(attempt.now);
    let Some(context) = context(conn, attempt).await? else { return Err(deny_unknown_source(conn, attempt).await?) };
    if !attempt.versions.covers(&context.versions()) {
        return Err(Refusal::Behind(context.versions()));
    }
    Ok(context)
}

async fn allow_together(conn: &mut Conn, attempts: &[Arc<Attempt>]) -> Result<Vec<Allowed>, Refusal> {
    let Some(first) = attempts.first() else { return Ok(Vec::new()) };
    let Some(context) = context(conn, first).await? else { return Err(Refusal::Short) };
    if !attempts.iter().all(|attempt| attempt.versions.covers(&context.versions())) {
        return Err(Refusal::Behind(context.versions()));
    }
    let mut offers = Vec::with_capacity(attempts.len());
    for attempt in attempts {
        // Not denied here: a replay gets its decision again, even if the call would be denied now.
        offers.push((&**attempt, offer(attempt, &context).map_err(|_| Refusal::Short)?));
    }
    acquire_together(conn, &context, offers).await
}

fn offer(attempt: &Attempt, context: &CallContext) -> Result<Offer, DenyReason> {
    match (attempt.source, &attempt.called) {
        (Source::Trunk(..), called) => Offer::outbound(context, called.as_ref().ok(), attempt.quote.as_ref()),
        (Source::Upstream(upstream), Ok(called)) => Offer::inbound(context, called, upstream, attempt.target.as_ref()),
        (Source::Upstream(_), Err(_)) => Err(DenyReason::NumberUnknown),
    }
}

async fn context(conn: &mut Conn, attempt: &Attempt) -> Result<Option<CallContext>, DbError> {
    let (zone, identity) = (attempt.zone.as_deref(), &attempt.identity);
    match (attempt.source, &attempt.called) {
        (Source::Trunk(trunk, _), _) => store::context_of_trunk(conn, trunk, zone, identity).await,
        (Source::Upstream(_), Ok(number)) => store::context_of_number(conn, number, zone, identity).await,
        (Source::Upstream(_), Err(_)) => Ok(None),
    }
}

/// Denies a call that belongs to no account, unless the caches are behind.
async fn deny_unknown_source(conn: &mut Conn, attempt: &Attempt) -> Result<Refusal, DbError> {
    let versions = store::versions(conn).await?;
    Ok(match attempt.source {
        _ if !attempt.versions.covers(&versions) => Refusal::Behind(versions),
        Source::Trunk(..) => Refusal::Denied(DenyReason::SourceNotAllowed),
        Source::Upstream(_) => Refusal::Denied(DenyReason::NumberUnknown),
    })
}

fn live_call(
    attempt: &Attempt,
    context: &CallContext,
    offer: Offer,
    token: CallId,
    reservation: Reservation,
) -> LiveCall {
    let parties = Parties {
        account_id: context.account_id,
        trunk_id: context.trunk_id,
        call_id: attempt.identity.call_id.clone(),
        leg: offer.leg,
        zone: context.zone.clone(),
        calling: attempt.calling.clone(),
        called: offer.called.to_string(),
        started_at: attempt.now,
    };
    let state = LiveState {
        routes: List(offer.routes),
        target_uri: offer.target_uri,
        next_hop: offer.next_hop.map(|next_hop| next_hop.uri),
        upstream_id: offer.upstream_id,
        answered_at: None,
        seen_at: attempt.now,
        reserved: reservation.amount,
        reserved_seconds: reservation.seconds.into(),
        held: reservation.amount,
        expires_at: expiry_while_ringing(attempt.now, reservation.seconds.into()),
        hang_up: false,
    };
    LiveCall { token, terms: CallTerms::new(parties, offer.price), state }
}

/// Answers a repeated request as before, as long as it can be the same call.
async fn replay_decision(conn: &mut Conn, attempt: &Attempt, token: CallId) -> Result<Allowed, Refusal> {
    let Some(call) = live::find(conn, token).await? else { return Err(conn.retry_conflict().into()) };
    let called = attempt.called.as_ref().map(|number| number.as_str());
    let is_same = called == Ok(call.terms.called.as_str())
        && attempt.calling == call.terms.calling
        && call.state.answered_at.is_none();
    if is_same { Ok(allowed(&call)) } else { Err(Refusal::Denied(DenyReason::CallIdInUse)) }
}

fn allowed(call: &LiveCall) -> Allowed {
    let routes = &call.state.routes.0;
    Allowed {
        call_token: call.token,
        account_id: call.terms.account_id,
        trunk_id: call.terms.trunk_id,
        leg: call.terms.leg,
        max_seconds: call.state.reserved_seconds,
        groups: routes.iter().map(|route| route.dispatcher_group_id).collect(),
        routes: routes.iter().map(RouteOut::from).collect(),
        target_uri: call.state.target_uri.clone(),
        next_hop: call.state.next_hop.clone(),
    }
}

/// Notifies the account, once a day, that its calls are denied by the daily fraud cap.
async fn notify_fraud_cap(app: &App, day: DailySpend) -> Result<(), DbError> {
    app.db
        .tx((app.clone(), day), |conn, (app, day)| {
            Box::pin(async move {
                if day.claim_notification(conn).await? {
                    let limit = Money::from_nanos(day.limit, CURRENCY);
                    notifications::notify(conn, day.account, &FraudCapReached { max_spend_per_day: limit }).await?;
                    let mail = mail::FraudCapReached { limit };
                    notifications::send_mail(conn, app, day.account, FraudCapReached::CODE, &mail).await?;
                }
                Ok::<_, DbError>(())
            })
        })
        .await
}
