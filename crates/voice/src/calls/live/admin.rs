//! `/admin/calls`: the team lists live calls and hangs them up.
//!
//! The service cannot reach a switch. A call to be hung up is marked, and every answer to events of its switch names it
//! until the switch reports its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::customer::seconds_since;
use super::search::{self, LiveFilter};
use super::store::{self, LiveListRow};
use crate::cdrs::{self, Leg};
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::Path;
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use identity::names::Names;
use values::{AccountId, CallId, Digits, ExactMoney, Money, Rfc3339, Time, TrunkId, UpstreamId};

/// Filters of the list of live calls.
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
    /// Return calls of this upstream only.
    #[serde(default)]
    upstream_id: Option<UpstreamId>,
    /// Return calls whose called number begins with these digits.
    #[serde(default)]
    called: Option<Digits>,
}

/// A live call.
#[derive(Serialize, JsonSchema)]
pub struct AdminCall {
    /// Call token; becomes the id of the CDR.
    pub id: CallId,
    /// Switch that has the call.
    pub edge_id: String,
    /// SIP Call-ID of the call.
    pub call_id: String,
    /// Account of the call.
    pub account_id: Uuid,
    /// Id of the customer's account as a plain UUID, as in all lists of the team.
    pub customer_id: Uuid,
    /// Name of the customer; in lists only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_name: Option<String>,
    /// Trunk of the call.
    pub trunk_id: TrunkId,
    /// Name of the trunk; in lists only, and absent once the trunk is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trunk_name: Option<String>,
    /// Direction of the call: `termination` is outbound, `origination` is inbound.
    pub leg: Leg,
    /// Zone of the switch.
    pub zone: String,
    /// Caller as sent, in E.164 form if it is a number.
    pub calling: String,
    /// Called number in E.164 form.
    pub called: String,
    /// Country of the destination (ISO 3166-1 alpha-2); null if it is unknown.
    pub country: Option<String>,
    /// Name of the destination; null for inbound calls.
    pub destination_name: Option<String>,
    /// Upstream of the call; null until it is known.
    pub upstream_id: Option<UpstreamId>,
    /// Name of the upstream; in lists only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_name: Option<String>,
    /// When the call was authorized (RFC 3339, UTC).
    pub started_at: Rfc3339,
    /// When the callee answered (RFC 3339, UTC); null while the call rings.
    pub answered_at: Option<Rfc3339>,
    /// Whole seconds from the answer until now; 0 while the call rings.
    pub seconds: i64,
    /// Money that is reserved for the call.
    pub reserved: ExactMoney,
    /// Seconds from the answer that the reservation pays for.
    pub reserved_seconds: i64,
    /// Whether the switch is instructed to hang up the call.
    pub hang_up: bool,
}

impl AdminCall {
    fn new(call: LiveListRow, now: Time) -> AdminCall {
        AdminCall {
            id: call.token,
            edge_id: call.edge_id,
            call_id: call.call_id,
            account_id: call.account_id.uuid(),
            customer_id: call.account_id.uuid(),
            customer_name: None,
            trunk_id: call.trunk_id,
            trunk_name: None,
            leg: call.leg,
            zone: call.zone,
            calling: call.calling,
            called: call.called,
            country: call.country,
            destination_name: call.destination_name,
            upstream_id: call.upstream_id,
            upstream_name: None,
            started_at: call.started_at.into(),
            answered_at: call.answered_at.map(Rfc3339),
            seconds: seconds_since(call.answered_at, now),
            reserved: Money::from_nanos(call.reserved, call.currency).into(),
            reserved_seconds: call.reserved_seconds,
            hang_up: call.hang_up,
        }
    }
}

/// Lists live calls, newest first.
pub async fn list_live(
    mut ctx: ReadCtx,
    listing: Listing<LiveFilters, NewestFirst<CallId>>,
) -> Result<Page<AdminCall>, Problem> {
    let now = ctx.request.now;
    let LiveFilters { account_id, trunk_id, leg, upstream_id, called } = &listing.filters;
    // The calls of a trunk are among those of its account.
    let account = match (account_id, trunk_id) {
        (None, Some(trunk)) => store::owner_of_trunk(&mut ctx, *trunk).await?,
        _ => *account_id,
    };
    let filter = LiveFilter {
        account,
        trunk: *trunk_id,
        upstream: *upstream_id,
        leg: *leg,
        called: called.as_ref().map(|digits| format!("+{digits}")),
    };
    let (rows, next) = search::page(&mut ctx, &filter, listing.before(), listing.limit as usize).await?;
    let mut names = Names::of_customers(&mut ctx, rows.iter().map(|row| row.account_id)).await?;
    names.add_trunks(&mut ctx, rows.iter().map(|row| row.trunk_id)).await?;
    names.add_upstreams(&mut ctx, rows.iter().filter_map(|row| row.upstream_id)).await?;
    listing.page_with_next(rows, next.map(NewestFirst::from), |call| AdminCall {
        customer_name: names.get(call.account_id.uuid()),
        trunk_name: names.get(call.trunk_id.uuid()),
        upstream_name: call.upstream_id.and_then(|id| names.get(id.uuid())),
        ..AdminCall::new(call, now)
    })
}

/// Marks a live call to be hung up by its switch.
pub async fn hang_up(ctx: RequestCtx, Path(id): Path<CallId>) -> Result<Committed<Json<AdminCall>>, Problem> {
    ctx.audit_note("call", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let now = tx.ctx.now;
            if !store::mark_hang_up(tx, *id).await? {
                return Err(match cdrs::exists(tx, *id).await? {
                    true => Problem::state_conflict("The call is already over."),
                    false => Problem::not_found(),
                });
            }
            let call = store::show(tx, *id).await?.ok_or_else(Problem::not_found)?;
            tx.ctx.audit_account(call.account_id);
            Ok(Json(AdminCall::new(call, now)))
        })
    })
    .await
}
