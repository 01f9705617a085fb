//! What switches say and hear.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::prices::Route;
use values::{AccountId, CallId, Rfc3339, SipUri, Text, Time, TrunkId, UnixMillis, UpstreamId, text_enum};

text_enum! {
    /// Which way a call goes, seen from the network.
    pub enum Leg {
        /// Someone calls a number of ours.
        Origination = "origination",
        /// A customer calls out.
        Termination = "termination",
    }
}

text_enum! {
    /// What became of a call.
    pub enum CallStatus {
        Answered = "answered",
        NoAnswer = "no_answer",
        Busy = "busy",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

text_enum! {
    pub enum Direction {
        Inbound = "inbound",
        Outbound = "outbound",
    }
}

/// A moment as switches write it: RFC 3339, or milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Time);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "must be a date and time such as 2026-01-31T12:00:00Z, or Unix milliseconds")]
        enum Either {
            Text(Rfc3339),
            Number(UnixMillis),
        }
        Ok(Moment(match Either::deserialize(deserializer)? {
            Either::Text(Rfc3339(time)) | Either::Number(UnixMillis(time)) => time,
        }))
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<Rfc3339>(), generator.subschema_for::<UnixMillis>()] })
    }
}

/// May this call begin?
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthorizeRequest {
    pub edge_id: Text<1, 64>,
    pub call_id: Text<1, 255>,
    #[serde(default)]
    pub from_tag: Option<Text<1, 255>>,
    pub source_ip: Text<1, 64>,
    #[serde(default)]
    #[schemars(range(min = 0, max = 65535))]
    pub source_port: Option<i64>,
    /// As the caller sent it; it need not be a number.
    #[serde(default)]
    pub calling: Option<Text<0, 128>>,
    pub called: Text<1, 128>,
    /// Where the switch is; the trunk's zone unless it is sent.
    #[serde(default)]
    pub zone: Option<Text<1, 64>>,
    #[serde(default)]
    pub direction: Option<Direction>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
pub enum Decision {
    Allow(Allowed),
    Deny(Denied),
}

#[derive(Debug, Serialize)]
pub struct Allowed {
    pub call_token: CallId,
    pub account_id: AccountId,
    pub trunk_id: TrunkId,
    pub leg: Leg,
    /// How long it may last from its answer on, unless an `extend` says otherwise.
    pub max_seconds: i64,
    /// Where to send it, the cheapest first.
    pub groups: Vec<i64>,
    pub routes: Vec<RouteOut>,
    /// Where a call to one of our numbers goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_uri: Option<SipUri>,
}

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

#[derive(Debug, Serialize)]
pub struct Denied {
    pub reason: &'static str,
    pub sip_code: u16,
    pub sip_reason: &'static str,
}

/// Why a call may not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    SourceNotAllowed,
    DirectionMismatch,
    AccountNotActive,
    NumberNotDialable,
    /// No customer has the number that an upstream wants to reach.
    NumberUnknown,
    /// The customer has not said where calls to its numbers go.
    NoInboundUri,
    DestinationNotPriced,
    RateCap,
    FraudCap,
    /// Every upstream is down or asks more than the customer pays.
    NoRoute,
    ChannelCap,
    CpsLimit,
    ZoneQuota,
    BalanceInsufficient,
    /// The same Call-ID and tag are those of another call that goes on.
    CallIdInUse,
}

impl From<Denial> for Denied {
    fn from(denial: Denial) -> Self {
        let (reason, sip_code, sip_reason) = match denial {
            Denial::SourceNotAllowed => ("source_not_allowed", 403, "Source Not Allowed"),
            Denial::DirectionMismatch => ("direction_mismatch", 403, "Wrong Direction"),
            Denial::AccountNotActive => ("account_not_active", 403, "Account Not Active"),
            Denial::NumberNotDialable => ("number_not_dialable", 404, "Number Not Dialable"),
            Denial::NumberUnknown => ("number_unknown", 404, "Not Found"),
            Denial::NoInboundUri => ("no_inbound_uri", 480, "Temporarily Unavailable"),
            Denial::DestinationNotPriced => ("destination_not_priced", 404, "Destination Not Served"),
            Denial::RateCap => ("rate_cap", 403, "Rate Over Cap"),
            Denial::FraudCap => ("fraud_cap", 403, "Daily Spend Reached"),
            Denial::NoRoute => ("no_route", 503, "No Route"),
            Denial::ChannelCap => ("channel_cap", 503, "Trunk Full"),
            Denial::CpsLimit => ("cps_limit", 503, "Too Many Calls Per Second"),
            Denial::ZoneQuota => ("zone_quota", 503, "Zone Quota Reached"),
            Denial::BalanceInsufficient => ("balance.insufficient", 402, "Insufficient Balance"),
            Denial::CallIdInUse => ("call_id_in_use", 482, "Merged Request"),
        };
        Denied { reason, sip_code, sip_reason }
    }
}

/// What happened at a switch. Each is read for itself, so that one that is wrong harms no other.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// The switch that asks which of its calls are to end, where the events do not say so.
    #[serde(default)]
    pub edge_id: Option<Text<1, 64>>,
    #[schemars(length(max = 500))]
    pub events: Vec<Value>,
}

text_enum! {
    pub enum EventType {
        Answered = "answered",
        Keepalive = "keepalive",
        Ended = "ended",
        Failed = "failed",
        UpstreamUp = "upstream_up",
        UpstreamDown = "upstream_down",
    }
}

/// One of them; fields beyond these are no concern of ours.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Event {
    pub event_id: Text<1, 128>,
    #[serde(rename = "type")]
    pub kind: EventType,
    pub at: Moment,
    /// The switch that tells it.
    #[serde(default)]
    pub edge_id: Option<Text<1, 64>>,
    #[serde(default)]
    pub call_token: Option<CallId>,
    #[serde(default)]
    pub answered_at: Option<Moment>,
    /// Who carried the call, or who went up or down.
    #[serde(default)]
    pub upstream_id: Option<UpstreamId>,
    #[serde(default)]
    pub dispatcher_group_id: Option<i64>,
    #[serde(default)]
    pub status: Option<CallStatus>,
    /// What the callee's side answered, where `status` is not sent.
    #[serde(default)]
    #[schemars(range(min = 100, max = 699))]
    pub sip_code: Option<i64>,
}

#[derive(Debug, Default, Serialize)]
pub struct EventsAnswer {
    pub accepted: usize,
    pub rejected: Vec<RejectedEvent>,
    /// Calls that may go on for longer.
    pub extend: Vec<Extension>,
    /// Calls that may not go on.
    pub hang_up: Vec<CallId>,
}

#[derive(Debug, Serialize)]
pub struct RejectedEvent {
    /// As it was sent, if anything was.
    pub event_id: Option<String>,
    pub reason: String,
}

#[derive(Debug, Serialize)]
pub struct Extension {
    pub call_token: CallId,
    pub max_seconds: i64,
}

/// A finished call of another switch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Line {
    pub call_id: Text<1, 255>,
    pub leg: Leg,
    #[serde(default)]
    pub trunk_id: Option<TrunkId>,
    #[serde(default)]
    pub source_ip: Option<Text<1, 64>>,
    #[serde(default)]
    pub upstream_id: Option<UpstreamId>,
    #[serde(default)]
    pub calling: Option<Text<0, 128>>,
    pub called: Text<1, 128>,
    pub started_at: Moment,
    #[serde(default)]
    pub answered_at: Option<Moment>,
    pub ended_at: Moment,
    pub status: CallStatus,
}

#[derive(Debug, Default, Serialize)]
pub struct ImportAnswer {
    pub accepted: usize,
    pub duplicates: usize,
    pub rejected: Vec<RejectedLine>,
}

#[derive(Debug, Serialize)]
pub struct RejectedLine {
    /// Counted from 1.
    pub line: usize,
    pub reason: String,
}
