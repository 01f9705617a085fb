//! Authorizes calls: the checks in their order, and what an allowed call occupies.
//!
//! Trunk, upstream and price come from the caches; everything else is read and counted in one transaction, for all calls
//! that wait together. Its first statement also returns the versions of the caches; if they are behind, the decision is
//! made again with newer ones.
//!
//! - `queue`: which calls are decided together · `group`: their transaction · `room`: what is left of their limits
//! - `offer`: checks without counters, price and routes · `order`: which route is tried first · `target`: where an
//!   inbound call is sent
//! - `simulate`: a decision that is rolled back

mod group;
mod offer;
mod order;
mod queue;
mod room;
mod simulate;
mod store;
mod target;

pub use simulate::simulate;

use std::net::IpAddr;
use std::sync::Arc;

use uuid::Uuid;

use super::live::CallIdentity;
use super::types::{AuthorizeRequest, Decision, DenyReason, Direction};
use crate::cdrs::{Leg, Quote, normalize_caller, parse_dialled, quote};
use crate::concurrency::{DailySpend, day_of};
use crate::fraud_caps;
use api::problem::Problem;
use db::DbError;
use platform::app::App;
use platform::routing::allow_lists::Addresses;
use platform::routing::cache::Versioned;
use platform::routing::plans::Plans;
use platform::routing::tariff::Tariff;
use platform::routing::upstreams::Gateways;
use queue::Queue;
use store::{ContextKey, Versions};
use target::Target;
use values::{AccountId, E164, Time, TrunkId, UpstreamId};

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
    /// What a repetition of the request has in common with it.
    fn request(&self) -> (&CallIdentity, TrunkId, Leg) {
        let leg = if matches!(self.source, Source::Trunk(..)) { Leg::Termination } else { Leg::Origination };
        (&self.identity, self.context_key().trunk, leg)
    }

    /// What its context is found by. A number that no customer has is on no trunk.
    fn context_key(&self) -> ContextKey<'_> {
        let (trunk, number) = match self.source {
            Source::Trunk(trunk, _) => (trunk, None),
            Source::Upstream(_) => {
                let trunk = self.target.as_ref().map_or(TrunkId::new(Uuid::nil()), Target::trunk_id);
                (trunk, self.called.as_ref().ok().map(E164::as_str))
            }
        };
        ContextKey { trunk, zone: self.zone.as_deref(), number, day: day_of(self.now) }
    }

    /// Whether it goes to a host outside the trunk's allow-list.
    fn is_foreign(&self) -> bool {
        self.target.as_ref().is_some_and(Target::is_foreign)
    }
}

/// Why a call is not allowed.
enum Refusal {
    Denied(DenyReason),
    /// Denied by the daily fraud cap.
    FraudCap(DailySpend),
    /// The caches are behind these versions.
    Behind(Versions),
    /// The target of the called number has changed since it was checked.
    Moved,
    /// One of the calls that were decided together is live.
    Repeated,
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
    queue: Queue,
}

impl Authorizer {
    pub fn new(app: App) -> Authorizer {
        Authorizer { app, queue: Queue::start() }
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
                    fraud_caps::notify_reached(app, day).await?;
                    return Ok(deny(DenyReason::FraudCap));
                }
                Err(Refusal::Moved | Refusal::Repeated) => {}
                Err(Refusal::Problem(problem)) => return Err(problem),
            }
        }
        Err(Problem::unavailable("The tariff is changing; try again."))
    }
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
        let (pricing, gateways) = (caches.plans.pricing(account, priced_at), &caches.gateways);
        let quote = quote(&caches.tariff, &pricing, gateways, |id| gateways.is_down(id), number, priced_at);
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
