//! Suspended CDRs as the team sees them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::SuspendedRow;
use crate::cdrs::terms::{CallStatus, Leg};
use identity::names::Names;
use values::{Rfc3339, Text, TrunkId, UpstreamId, id, text_enum};

id! {
    /// Id of a suspended CDR.
    pub struct SuspendedCdrId;
}

text_enum! {
    /// Why a line could not be rated.
    pub enum SuspenseReason {
        /// The called number had no sell rate when the call began.
        NotSold = "not_sold",
        /// No customer had the trunk, or the address that the call came from.
        UnknownTrunk = "unknown_trunk",
        /// No upstream has this id, or the address that the call came from.
        UnknownUpstream = "unknown_upstream",
        /// No customer had the called number when the call began.
        UnknownNumber = "unknown_number",
        /// The call needs more past tariffs than one import may load.
        TooManyTariffs = "too_many_tariffs",
    }
}

/// An imported line that could not be rated. It is kept until it is rated or dropped.
#[derive(Serialize, JsonSchema)]
pub struct SuspendedCdr {
    /// Id of the suspended CDR.
    pub id: SuspendedCdrId,
    /// Why the line could not be rated.
    pub reason: SuspenseReason,
    /// SIP Call-ID of the call.
    pub call_id: Text<1, 255>,
    /// Direction of the call.
    pub leg: Leg,
    /// Trunk that the line names.
    pub trunk_id: Option<TrunkId>,
    /// Name of the trunk; null if there is no such trunk.
    pub trunk_name: Option<String>,
    /// Source address that the line names.
    pub source_ip: Option<Text<1, 64>>,
    /// Upstream that the line names.
    pub upstream_id: Option<UpstreamId>,
    /// Name of the upstream; null if there is no such upstream.
    pub upstream_name: Option<String>,
    /// Caller as sent.
    pub calling: Option<Text<0, 128>>,
    /// Called number as sent.
    pub called: Text<1, 128>,
    /// When the call began (RFC 3339, UTC).
    pub started_at: Rfc3339,
    /// When the callee answered (RFC 3339, UTC).
    pub answered_at: Option<Rfc3339>,
    /// When the call ended (RFC 3339, UTC).
    pub ended_at: Rfc3339,
    /// Outcome of the call.
    pub status: CallStatus,
    /// When the line was imported (RFC 3339, UTC).
    pub suspended_at: Rfc3339,
}

impl SuspendedCdr {
    pub fn new(row: SuspendedRow, names: &Names) -> SuspendedCdr {
        SuspendedCdr {
            id: row.id,
            reason: row.reason,
            call_id: row.call_id,
            leg: row.leg,
            trunk_id: row.trunk_id,
            trunk_name: row.trunk_id.and_then(|id| names.get(id.uuid())),
            source_ip: row.source_ip,
            upstream_id: row.upstream_id,
            upstream_name: row.upstream_id.and_then(|id| names.get(id.uuid())),
            calling: row.calling,
            called: row.called,
            started_at: Rfc3339(row.started_at),
            answered_at: row.answered_at.map(Rfc3339),
            ended_at: Rfc3339(row.ended_at),
            status: row.status,
            suspended_at: Rfc3339(row.suspended_at),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return lines that are suspended for this reason only.
    #[serde(default)]
    pub reason: Option<SuspenseReason>,
    /// Return lines with this SIP Call-ID only.
    #[serde(default)]
    pub call_id: Option<Text<1, 255>>,
}

/// Number of suspended CDRs.
#[derive(Serialize, JsonSchema)]
pub struct SuspenseSummary {
    /// All suspended CDRs.
    pub total: i64,
    /// Suspended CDRs by reason; reasons without any are left out.
    pub reasons: Vec<SuspenseCount>,
}

/// Number of CDRs that are suspended for one reason.
#[derive(Serialize, JsonSchema)]
pub struct SuspenseCount {
    /// Why they could not be rated.
    pub reason: SuspenseReason,
    /// How many there are.
    pub lines: i64,
}

/// Which suspended CDRs to rate again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspenseRerate {
    /// Ids of suspended CDRs, 1000 at most; all of them, oldest first, if left out.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1000))]
    pub ids: Option<Vec<SuspendedCdrId>>,
}

/// Result of rating suspended CDRs again.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct SuspenseRerated {
    /// Lines that are rated and charged now.
    pub rated: i64,
    /// Lines that describe a call which has a CDR already; they are no longer suspended.
    pub duplicates: i64,
    /// Lines that were tried and are still suspended, and those that were not tried because there are too many.
    pub still: i64,
}

/// Why a suspended CDR is dropped.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspenseDrop {
    /// Reason for the audit log.
    pub reason: Text<1, 500>,
}
