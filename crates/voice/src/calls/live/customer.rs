//! `/calls`: the live calls of the caller's account.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::search::{self, LiveFilter};
use super::store::LiveListRow;
use crate::cdrs::Leg;
use crate::concurrency::SECOND_MILLIS;
use api::context::ReadCtx;
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use identity::names::Names;
use values::{CallId, Digits, ExactMoney, Money, Rfc3339, Time, TrunkId};

/// Filters of the list of the account's live calls.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnLiveFilters {
    /// Return calls of this trunk only.
    #[serde(default)]
    trunk_id: Option<TrunkId>,
    /// Return outbound (`termination`) or inbound (`origination`) calls only.
    #[serde(default)]
    leg: Option<Leg>,
    /// Return calls whose called number begins with these digits.
    #[serde(default)]
    called: Option<Digits>,
}

/// A live call of the account.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveCall")]
pub struct OwnLiveCall {
    /// Id of the call; becomes the id of the CDR.
    pub id: CallId,
    /// SIP Call-ID of the call.
    pub call_id: String,
    /// Trunk of the call.
    pub trunk_id: TrunkId,
    /// Name of the trunk; null once the trunk is deleted.
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
    /// Whether the call is being hung up.
    pub hang_up: bool,
}

impl OwnLiveCall {
    fn new(call: LiveListRow, names: &Names, now: Time) -> OwnLiveCall {
        OwnLiveCall {
            id: call.token,
            trunk_id: call.trunk_id,
            trunk_name: names.get(call.trunk_id.uuid()),
            leg: call.leg,
            seconds: seconds_since(call.answered_at, now),
            call_id: call.call_id,
            zone: call.zone,
            calling: call.calling,
            called: call.called,
            country: call.country,
            destination_name: call.destination_name,
            started_at: call.started_at.into(),
            answered_at: call.answered_at.map(Rfc3339),
            reserved: Money::from_nanos(call.reserved, call.currency).into(),
            reserved_seconds: call.reserved_seconds,
            hang_up: call.hang_up,
        }
    }
}

/// Whole seconds since the answer; 0 without one.
pub fn seconds_since(answered_at: Option<Time>, now: Time) -> i64 {
    answered_at.map_or(0, |at| now.millis().saturating_sub(at.millis()).max(0)) / SECOND_MILLIS
}

/// Lists the account's live calls, newest first.
pub async fn list_own(
    mut ctx: ReadCtx,
    listing: Listing<OwnLiveFilters, NewestFirst<CallId>>,
) -> Result<Page<OwnLiveCall>, Problem> {
    let (account, now) = (ctx.principal()?.account_id, ctx.request.now);
    let OwnLiveFilters { trunk_id, leg, called } = &listing.filters;
    let filter = LiveFilter {
        account: Some(account),
        trunk: *trunk_id,
        upstream: None,
        leg: *leg,
        called: called.as_ref().map(|digits| format!("+{digits}")),
    };
    let (rows, next) = search::page(&mut ctx, &filter, listing.before(), listing.limit as usize).await?;
    let names = Names::of_trunks(&mut ctx, rows.iter().map(|row| row.trunk_id)).await?;
    listing.page_with_next(rows, next.map(NewestFirst::from), |call| OwnLiveCall::new(call, &names, now))
}
