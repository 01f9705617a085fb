//! `/calls/simulate`: what a switch would be answered for a call, without the call.
//!
//! The decision is made by the same checks and counters in a transaction that is always rolled back, so nothing is
//! reserved, counted or notified. Only the allow-list is left out: the caller names its trunk.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::group::{self, Group, Outcome};
use super::{Attempt, Caches, MAX_DECISIONS, Refusal, Source, Versions, attempt};
use crate::calls::live;
use crate::calls::types::{AuthorizeRequest, Denied, DenyReason};
use api::answer::Json;
use api::context::{Committed, RequestCtx};
use api::faults::Faults;
use api::input::Body;
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use values::{ExactMoney, Money, Rfc3339, Text, TrunkId, text_enum};

/// A call to simulate.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallSimulate {
    /// Trunk of the account that the call would come from.
    pub trunk_id: TrunkId,
    /// Caller as it would be sent; need not be a number.
    #[serde(default)]
    pub calling: Option<Text<0, 128>>,
    /// Called number, with a plus, with 00, or with neither.
    pub called: Text<1, 128>,
    /// When the rate is looked up (RFC 3339), not in the past; now if left out. Balance and limits are those of now.
    #[serde(default)]
    pub at: Option<Rfc3339>,
}

text_enum! {
    /// Decision about a call.
    pub enum SimulatedDecision {
        Allow = "allow",
        Deny = "deny",
    }
}

/// The decision about a simulated call.
#[derive(Clone, Serialize, JsonSchema)]
pub struct SimulatedCall {
    /// Whether the call would be allowed.
    pub decision: SimulatedDecision,
    /// Why the call would be denied, in the words of the switch; null if it would be allowed.
    pub reason: Option<String>,
    /// SIP response of a denied call; null if it would be allowed.
    pub sip_code: Option<u16>,
    /// Sell rate per minute; null if the number is not sold.
    pub rate: Option<ExactMoney>,
    /// Fee for the call if it is answered; null if the number is not sold.
    pub connect_fee: Option<ExactMoney>,
    /// Step in which seconds beyond the minimum are billed; null if the number is not sold.
    pub billing_increment_seconds: Option<u16>,
    /// The fewest seconds that are billed for an answered call; null if the number is not sold.
    pub minimum_seconds: Option<u16>,
    /// Leading digits of the called number that the rate applies to; null if the number is not sold.
    pub prefix: Option<String>,
    /// Name of the destination; null if the number is not sold.
    pub destination_name: Option<String>,
    /// Seconds from the answer that would be reserved first, as far as balance and fraud cap allow; null if the call
    /// would be denied. A live call is renewed beyond them while there is money.
    pub max_seconds: Option<i64>,
}

/// A decision that was rolled back.
struct Rehearsed(Outcome);

impl From<DbError> for Rehearsed {
    fn from(error: DbError) -> Self {
        Rehearsed(Err(error.into()))
    }
}

pub async fn simulate(
    ctx: RequestCtx,
    Body(call): Body<CallSimulate>,
) -> Result<Committed<Json<SimulatedCall>>, Problem> {
    let account = ctx.principal()?.account_id;
    let owner = live::owner_of_trunk(&mut *ctx.app.db.read().await?, call.trunk_id).await?;
    let mut faults = Faults::default();
    faults.unless(owner == Some(account), "trunk_id", "does not name a trunk of this account");
    // Past rates are in the CDRs; the tariff in memory has those of now and of later.
    let is_past = call.at.is_some_and(|Rfc3339(at)| at < ctx.now);
    faults.unless(!is_past, "at", "must not be in the past");
    faults.into_result()?;
    ctx.audit_note("trunk_id", call.trunk_id.to_string());
    let answer = decide(&ctx, &call).await?;
    ctx.commit(answer, |_, answer| Box::pin(async move { Ok(Json(answer.clone())) })).await
}

async fn decide(ctx: &RequestCtx, call: &CallSimulate) -> Result<SimulatedCall, Problem> {
    let (app, now, account) = (&ctx.app, ctx.now, ctx.principal()?.account_id);
    let request = request(ctx, call)?;
    let priced_at = call.at.map_or(now, |Rfc3339(at)| at);
    let mut versions = Versions::default();
    for _ in 0..MAX_DECISIONS {
        let caches = Caches::at_least(app, &versions).await?;
        let attempt = attempt(app, &request, &caches, Source::Trunk(call.trunk_id, account), None, (now, priced_at));
        let attempt = Arc::new(attempt);
        let alone = Group::new(vec![Arc::clone(&attempt)]);
        let Err(Rehearsed(outcome)) = app.db.tx(alone, |conn, alone| Box::pin(rehearse(conn, alone))).await;
        match outcome {
            Ok(allowed) => return Ok(answer(&attempt, Ok(allowed.max_seconds))),
            Err(Refusal::Denied(reason)) => return Ok(answer(&attempt, Err(reason))),
            Err(Refusal::FraudCap(_)) => return Ok(answer(&attempt, Err(DenyReason::FraudCap))),
            Err(Refusal::Behind(newer)) => versions = newer,
            Err(Refusal::Moved | Refusal::Repeated) => {}
            Err(Refusal::Problem(problem)) => return Err(problem),
        }
    }
    Err(Problem::unavailable("The tariff is changing; try again."))
}

/// The request of a switch whose call it would be.
fn request(ctx: &RequestCtx, call: &CallSimulate) -> Result<AuthorizeRequest, Problem> {
    let call_id = ctx.new_id::<Uuid>().to_string();
    Ok(AuthorizeRequest {
        edge_id: "simulation".parse().map_err(Problem::internal)?,
        edge_instance: None,
        call_id: call_id.parse().map_err(Problem::internal)?,
        from_tag: None,
        source_ip: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        source_port: None,
        calling: call.calling.clone(),
        called: call.called.clone(),
        zone: None,
        direction: None,
    })
}

/// Begins the call, and undoes that by failing.
async fn rehearse(conn: &mut Conn, alone: &Group) -> Result<Infallible, Rehearsed> {
    let decided = group::decide(conn, alone).await;
    Err(Rehearsed(decided.and_then(|mut outcomes| outcomes.pop().unwrap_or(Err(Refusal::Moved)))))
}

fn answer(attempt: &Attempt, outcome: Result<i64, DenyReason>) -> SimulatedCall {
    let sale = attempt.quote.as_ref().map(|quote| &quote.sale);
    let denied = outcome.as_ref().err().map(|reason| Denied::from(*reason));
    let money = |nanos| ExactMoney(Money::from_nanos(nanos, CURRENCY));
    SimulatedCall {
        decision: if denied.is_some() { SimulatedDecision::Deny } else { SimulatedDecision::Allow },
        reason: denied.as_ref().map(|denied| denied.reason.to_owned()),
        sip_code: denied.as_ref().map(|denied| denied.sip_code),
        rate: sale.map(|sale| money(sale.rate.nanos_per_minute())),
        connect_fee: sale.map(|sale| money(sale.rate.connect_fee_nanos())),
        billing_increment_seconds: sale.map(|sale| sale.rate.increment_seconds()),
        minimum_seconds: sale.map(|sale| sale.rate.minimum_seconds()),
        prefix: sale.map(|sale| sale.prefix.clone()),
        destination_name: sale.map(|sale| sale.destination_name.clone()),
        max_seconds: outcome.ok(),
    }
}
