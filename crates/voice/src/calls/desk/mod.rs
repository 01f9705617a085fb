//! What the team sees of calls that go on, and how it ends one.
//!
//! Nobody here can reach into a switch: a call that is to end is marked, and the answer to the next events of its switch
//! names it, until the switch says that it is over.

mod store;

pub use store::to_end;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::SECOND_MILLIS;
use super::live;
use super::types::Leg;
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::Path;
use api::page::{Listing, Page};
use api::problem::Problem;
use store::{Shown, Wanted};
use values::{AccountId, CallId, ExactMoney, Money, Rfc3339, Time, TrunkId, UpstreamId};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LiveFilters {
    /// Return calls of this account only.
    #[serde(default)]
    account_id: Option<AccountId>,
    /// Return calls of this trunk only.
    #[serde(default)]
    trunk_id: Option<TrunkId>,
    /// Return outbound (`termination`) or inbound (`origination`) calls only.
    #[serde(default)]
    leg: Option<Leg>,
}

/// A call that goes on.
#[derive(Serialize, JsonSchema)]
pub struct AdminCall {
    /// The call's token, and the id that its record will have.
    pub id: CallId,
    /// The switch it goes over, and what that calls it.
    pub edge_id: String,
    pub call_id: String,
    pub account_id: Uuid,
    pub trunk_id: TrunkId,
    pub leg: Leg,
    pub zone: String,
    pub calling: String,
    pub called: String,
    pub country: Option<String>,
    pub destination_name: Option<String>,
    /// Who carries it, once that is known.
    pub upstream_id: Option<UpstreamId>,
    pub started_at: Rfc3339,
    pub answered_at: Option<Rfc3339>,
    /// From its answer until now.
    pub seconds: i64,
    /// What is set aside for it, and for how many seconds that is enough.
    pub reserved: ExactMoney,
    pub reserved_seconds: i64,
    /// Whether its switch is asked to end it.
    pub hang_up: bool,
}

impl AdminCall {
    fn new(call: Shown, now: Time) -> AdminCall {
        let talked = call.answered_at.map_or(0, |at| now.millis().saturating_sub(at.millis()).max(0));
        AdminCall {
            id: call.token,
            edge_id: call.edge_id,
            call_id: call.call_id,
            account_id: call.account_id.uuid(),
            trunk_id: call.trunk_id,
            leg: call.leg,
            zone: call.zone,
            calling: call.calling,
            called: call.called,
            country: call.country,
            destination_name: call.destination_name,
            upstream_id: call.upstream_id,
            started_at: call.started_at.into(),
            answered_at: call.answered_at.map(Rfc3339),
            seconds: talked / SECOND_MILLIS,
            reserved: Money::from_nanos(call.reserved, call.currency).into(),
            reserved_seconds: call.reserved_seconds,
            hang_up: call.hang_up,
        }
    }
}

/// Those that began last come first.
pub async fn list_live(
    mut ctx: ReadCtx,
    listing: Listing<LiveFilters, (i64, CallId)>,
) -> Result<Page<AdminCall>, Problem> {
    let now = ctx.request.now;
    let (at, id) = listing.after.unwrap_or((i64::MAX, CallId::new(Uuid::max())));
    let LiveFilters { account_id, trunk_id, leg } = listing.filters;
    let wanted = Wanted { account: account_id, trunk: trunk_id, leg };
    let rows = store::list(&mut ctx, wanted, (Time::from_millis(at), id), listing.fetch()).await?;
    listing.page(rows, |request| (request.started_at.millis(), request.token), |request| AdminCall::new(request, now))
}

/// Has the call's switch end it.
pub async fn hang_up(ctx: RequestCtx, Path(id): Path<CallId>) -> Result<Committed<Json<AdminCall>>, Problem> {
    ctx.audit_note("call", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let now = tx.ctx.now;
            if !store::ask_to_end(tx, *id).await? {
                return Err(match live::was_kept(tx, *id).await? {
                    true => Problem::state_conflict("The call is over already."),
                    false => Problem::not_found(),
                });
            }
            let shown = store::show(tx, *id).await?.ok_or_else(Problem::not_found)?;
            tx.ctx.audit_account(shown.account_id);
            Ok(Json(AdminCall::new(shown, now)))
        })
    })
    .await
}
