//! What switches send and receive.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::live::LiveCall;
use crate::cdrs::{CallStatus, Leg, Route, SwitchTime};
use api::checks::{Checks, Given, must};
use values::{AccountId, CallId, SipUri, Text, TrunkId, UpstreamId, text_enum};

text_enum! {
    /// Direction of a call that the switch claims.
    pub enum Direction {
        /// From an upstream to a customer's number.
        Inbound = "inbound",
        /// From a customer to an upstream.
        Outbound = "outbound",
    }
}

/// Asks whether a call may begin.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthorizeRequest {
    /// Switch that asks.
    pub edge_id: Text<1, 64>,
    /// Run of the switch. A decision is repeated within one run only, since the next does not know whether it was used.
    #[serde(default)]
    pub edge_instance: Option<Text<1, 64>>,
    /// SIP Call-ID of the call.
    pub call_id: Text<1, 255>,
    /// Tag of the From header.
    #[serde(default)]
    pub from_tag: Option<Text<1, 255>>,
    /// IP address that the call comes from.
    #[serde(deserialize_with = "deserialize_ip")]
    #[schemars(with = "Text<1, 64>")]
    pub source_ip: IpAddr,
    /// Port that the call comes from.
    #[serde(default)]
    #[schemars(range(min = 0, max = 65535))]
    pub source_port: Option<i64>,
    /// Caller as sent; need not be a number.
    #[serde(default)]
    pub calling: Option<Text<0, 128>>,
    /// Called number, with a plus, with 00, or with neither.
    pub called: Text<1, 128>,
    /// Zone of the switch; the trunk's zone if left out.
    #[serde(default)]
    pub zone: Option<Text<1, 64>>,
    /// Direction of the call; must match the address if sent.
    #[serde(default)]
    pub direction: Option<Direction>,
}

fn deserialize_ip<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IpAddr, D::Error> {
    let text = Text::<1, 64>::deserialize(deserializer)?;
    text.parse().map_err(|_| D::Error::custom("must be an IP address"))
}

impl Checks for AuthorizeRequest {
    fn check(given: &Given<'_>) {
        given.check("zone", |zone: Text<1, 64>| {
            must(given.settings.zone(&zone).is_some(), format!("{zone} is not a zone"))
        });
    }
}

/// Authorization decision.
#[derive(Debug, Serialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
pub enum Decision {
    Allow(Allowed),
    Deny(Denied),
}

/// The call may begin.
#[derive(Debug, Serialize)]
pub struct Allowed {
    /// Names the call in its events; becomes the id of the CDR.
    pub call_token: CallId,
    pub account_id: AccountId,
    pub trunk_id: TrunkId,
    pub leg: Leg,
    /// Maximum duration from the answer, unless an `extend` raises it.
    pub max_seconds: i64,
    /// Dispatcher groups to try, in this order.
    pub groups: Vec<i64>,
    pub routes: Vec<RouteOut>,
    /// The request URI of an inbound call; its user is the called number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_uri: Option<SipUri>,
    /// The address to send an inbound call to. It was checked: the switch must not resolve the host itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<SipUri>,
}

impl From<&LiveCall> for Allowed {
    fn from(call: &LiveCall) -> Self {
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
            next_hop: call.state.sent_to.clone(),
        }
    }
}

/// An upstream that may take the call.
#[derive(Debug, Serialize)]
pub struct RouteOut {
    pub upstream_id: UpstreamId,
    pub dispatcher_group_id: i64,
}

impl From<&Route> for RouteOut {
    fn from(route: &Route) -> Self {
        RouteOut { upstream_id: route.upstream_id, dispatcher_group_id: route.dispatcher_group_id }
    }
}

/// The call may not begin.
#[derive(Debug, Serialize)]
pub struct Denied {
    pub reason: &'static str,
    pub sip_code: u16,
    pub sip_reason: &'static str,
}

/// Why a call may not begin. The order of the checks is in `docs/calls.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenyReason {
    SourceNotAllowed,
    DirectionMismatch,
    AccountNotActive,
    NumberNotDialable,
    /// An upstream calls a number that no customer has.
    NumberUnknown,
    /// The trunk of the number has no `inbound_uri`.
    NoInboundUri,
    /// The `inbound_uri` points to a private address, an edge or an upstream.
    InboundTargetRefused,
    /// The host of the `inbound_uri` has no address, or it did not come in time.
    InboundTargetUnresolved,
    /// The `inbound_uri` points outside the allow-list and the team has not allowed its host.
    InboundTargetNotAllowed,
    /// The caps of inbound calls to a target outside the allow-list.
    ForeignChannelCap,
    ForeignCpsLimit,
    DestinationNotPriced,
    RateCap,
    FraudCap,
    /// Every upstream is down or above the sell rate.
    NoRoute,
    ChannelCap,
    CpsLimit,
    ZoneQuota,
    BalanceInsufficient,
    /// Another live call on this trunk has this Call-ID and tag.
    CallIdInUse,
}

impl From<DenyReason> for Denied {
    fn from(reason: DenyReason) -> Self {
        let (reason, sip_code, sip_reason) = match reason {
            DenyReason::SourceNotAllowed => ("source_not_allowed", 403, "Source Not Allowed"),
            DenyReason::DirectionMismatch => ("direction_mismatch", 403, "Wrong Direction"),
            DenyReason::AccountNotActive => ("account_not_active", 403, "Account Not Active"),
            DenyReason::NumberNotDialable => ("number_not_dialable", 404, "Number Not Dialable"),
            DenyReason::NumberUnknown => ("number_unknown", 404, "Not Found"),
            DenyReason::NoInboundUri => ("no_inbound_uri", 480, "Temporarily Unavailable"),
            DenyReason::InboundTargetRefused => ("inbound_target_refused", 480, "Target Refused"),
            DenyReason::InboundTargetUnresolved => ("inbound_target_unresolved", 480, "Target Unresolved"),
            DenyReason::InboundTargetNotAllowed => ("inbound_target_not_allowed", 480, "Target Not Allowed"),
            DenyReason::ForeignChannelCap => ("foreign_channel_cap", 503, "Target Full"),
            DenyReason::ForeignCpsLimit => ("foreign_cps_limit", 503, "Too Many Calls Per Second"),
            DenyReason::DestinationNotPriced => ("destination_not_priced", 404, "Destination Not Served"),
            DenyReason::RateCap => ("rate_cap", 403, "Rate Over Cap"),
            DenyReason::FraudCap => ("fraud_cap", 403, "Daily Spend Reached"),
            DenyReason::NoRoute => ("no_route", 503, "No Route"),
            DenyReason::ChannelCap => ("channel_cap", 503, "Trunk Full"),
            DenyReason::CpsLimit => ("cps_limit", 503, "Too Many Calls Per Second"),
            DenyReason::ZoneQuota => ("zone_quota", 503, "Zone Quota Reached"),
            DenyReason::BalanceInsufficient => ("balance.insufficient", 402, "Insufficient Balance"),
            DenyReason::CallIdInUse => ("call_id_in_use", 482, "Merged Request"),
        };
        Denied { reason, sip_code, sip_reason }
    }
}

/// A batch of events of a switch. Each is accepted or rejected by itself.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// Switch that asks for its calls to hang up; needed only if no event names it.
    #[serde(default)]
    pub edge_id: Option<Text<1, 64>>,
    /// Events of calls and upstreams, in any order.
    #[schemars(length(max = 500))]
    pub events: Vec<Value>,
}

text_enum! {
    /// What happened.
    pub enum EventType {
        Answered = "answered",
        Keepalive = "keepalive",
        Ended = "ended",
        Failed = "failed",
        /// An upstream did not take the call; the next one is tried.
        AttemptFailed = "attempt_failed",
        UpstreamUp = "upstream_up",
        UpstreamDown = "upstream_down",
    }
}

/// An event of a call or an upstream. Other fields are ignored.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Event {
    /// Id of the event, returned if it is rejected.
    pub event_id: Text<1, 128>,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// When it happened (RFC 3339 or Unix milliseconds).
    pub at: SwitchTime,
    /// Switch that sends the event.
    #[serde(default)]
    pub edge_id: Option<Text<1, 64>>,
    /// Call token of the authorization; required for events of calls.
    #[serde(default)]
    pub call_token: Option<CallId>,
    /// When the callee answered, if that is known.
    #[serde(default)]
    pub answered_at: Option<SwitchTime>,
    /// When the call was sent to this upstream, if that is known.
    #[serde(default)]
    pub sent_at: Option<SwitchTime>,
    /// When the callee was first heard to ring, if that is known.
    #[serde(default)]
    pub ringing_at: Option<SwitchTime>,
    /// Upstream that took the call or failed to, or that went up or down.
    #[serde(default)]
    pub upstream_id: Option<UpstreamId>,
    /// Dispatcher group that went up or down, instead of `upstream_id`.
    #[serde(default)]
    pub dispatcher_group_id: Option<i64>,
    /// Outcome of a call that ended.
    #[serde(default)]
    pub status: Option<CallStatus>,
    /// Final SIP response, used if `status` is not sent.
    #[serde(default)]
    #[schemars(range(min = 100, max = 699))]
    pub sip_code: Option<i64>,
}

/// Answer to a batch of events.
#[derive(Debug, Default, Serialize)]
pub struct EventsAnswer {
    pub accepted: usize,
    pub rejected: Vec<RejectedEvent>,
    /// Calls whose reservation was renewed.
    pub extend: Vec<Extension>,
    /// Calls that the switch must hang up.
    pub hang_up: Vec<CallId>,
}

/// An event that was not accepted.
#[derive(Debug, Serialize)]
pub struct RejectedEvent {
    /// As sent; null if none was sent.
    pub event_id: Option<String>,
    pub reason: String,
}

/// A new limit of a call.
#[derive(Debug, Serialize)]
pub struct Extension {
    pub call_token: CallId,
    /// Maximum duration from the answer.
    pub max_seconds: i64,
}
