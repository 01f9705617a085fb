//! CDRs of another switch, as imported.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cdrs::terms::{CallStatus, Leg};
use crate::cdrs::time::SwitchTime;
use crate::cdrs::write::DifferingLine;
use values::{Text, TrunkId, UpstreamId};

/// A finished call of another switch: one line of an import.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ImportLine {
    /// SIP Call-ID of the call.
    pub call_id: Text<1, 255>,
    /// Direction of the call.
    pub leg: Leg,
    /// Trunk of the call; required unless `source_ip` tells it.
    #[serde(default)]
    pub trunk_id: Option<TrunkId>,
    /// IP address that the call came from: of the trunk, or of an upstream if the leg is `origination`.
    #[serde(default)]
    pub source_ip: Option<Text<1, 64>>,
    /// Upstream that took the call, or that an inbound call came from.
    #[serde(default)]
    pub upstream_id: Option<UpstreamId>,
    /// Caller as sent; need not be a number.
    #[serde(default)]
    pub calling: Option<Text<0, 128>>,
    /// Called number, with a plus, with 00, or with neither.
    pub called: Text<1, 128>,
    /// When the call began (RFC 3339 or Unix milliseconds).
    pub started_at: SwitchTime,
    /// When the callee answered; required if the status is `answered`, else not allowed.
    #[serde(default)]
    pub answered_at: Option<SwitchTime>,
    /// When the call ended (RFC 3339 or Unix milliseconds).
    pub ended_at: SwitchTime,
    /// Outcome of the call.
    pub status: CallStatus,
}

/// Result of an import.
#[derive(Debug, Default, Serialize)]
pub struct ImportAnswer {
    /// Number of lines that were imported.
    pub accepted: usize,
    /// Number of lines whose calls have a CDR, are live, or are suspended already.
    pub duplicates: usize,
    /// Number of lines that cannot be rated yet.
    pub suspended: usize,
    /// Lines that were not imported.
    pub rejected: Vec<RejectedLine>,
    /// Duplicates whose duration differs from that of the CDR, which is not changed.
    pub differs: Vec<DifferingLine>,
}

/// A line that was not imported.
#[derive(Debug, Serialize)]
pub struct RejectedLine {
    /// Line number, from 1.
    pub line: usize,
    pub reason: String,
}
