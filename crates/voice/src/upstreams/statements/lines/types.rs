//! Lines of statements in the API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::LineRow;
use crate::upstreams::statements::types::StatementLineKind;
use values::{CallId, Currency, ExactMoney, Money, Rfc3339, text_enum};

text_enum! {
    /// Format of the lines of a statement.
    pub enum LinesFormat {
        /// One page.
        Json = "json",
        /// All lines, with a header line.
        Csv = "csv",
    }
}

/// Which lines to return, and how.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinesQuery {
    /// Return lines of this kind only.
    #[serde(default)]
    pub kind: Option<StatementLineKind>,
    /// `json`, the default, returns one page; `csv` streams all lines as a file.
    #[serde(default)]
    pub format: Option<LinesFormat>,
}

/// Line of a statement: a call as the upstream and our CDRs have it.
#[derive(Serialize, JsonSchema)]
pub struct StatementLine {
    /// What became of the line.
    pub kind: StatementLineKind,
    /// Called number in E.164 form; `anonymised` if only we have the call and its number was deleted.
    pub called: String,
    /// The call by the statement; null if only we have it.
    pub theirs: Option<TheirCall>,
    /// The call by our CDR; null if only the statement has it.
    pub ours: Option<OurCdr>,
    /// What the statement charges beyond our cost; negative if it charges less.
    pub difference: ExactMoney,
}

/// A call by the statement of the upstream.
#[derive(Serialize, JsonSchema)]
pub struct TheirCall {
    /// Line in the file; in a workbook the row.
    pub line: i64,
    /// When the call began (RFC 3339, UTC).
    pub started_at: Rfc3339,
    /// Duration in seconds.
    pub duration_seconds: i64,
    /// Cost of the call. If the statement has rates, it follows from its rate, billed by the increments of ours.
    pub cost: ExactMoney,
    /// Rate per minute; null if the statement has costs.
    pub rate_per_minute: Option<ExactMoney>,
    /// Call id; null if the statement has none.
    pub call_id: Option<String>,
}

/// A call by our CDR.
#[derive(Serialize, JsonSchema)]
pub struct OurCdr {
    /// Id of the CDR.
    pub cdr_id: CallId,
    /// When the call began (RFC 3339, UTC).
    pub started_at: Rfc3339,
    /// Seconds from answer to end.
    pub duration_seconds: i64,
    /// Cost of the call in the upstream's currency.
    pub cost: ExactMoney,
    /// Rate per minute of the upstream's deck; null if it had no rate for the call.
    pub rate_per_minute: Option<ExactMoney>,
}

impl StatementLine {
    pub fn new(row: LineRow, currency: Currency) -> StatementLine {
        let money = |nanos: i64| ExactMoney(Money::from_nanos(nanos, currency));
        let cost = |cost: Option<i64>| cost.unwrap_or_default();
        let difference = cost(row.their_cost).saturating_sub(cost(row.our_cost));
        let theirs = row.line.map(|line| TheirCall {
            line,
            started_at: Rfc3339(row.started_at),
            duration_seconds: row.their_seconds.unwrap_or_default(),
            cost: money(cost(row.their_cost)),
            rate_per_minute: row.their_rate.map(money),
            call_id: row.their_call_id,
        });
        let ours = row.cdr_id.map(|cdr_id| OurCdr {
            cdr_id,
            started_at: Rfc3339(row.our_started_at.unwrap_or(row.started_at)),
            duration_seconds: row.our_seconds.unwrap_or_default(),
            cost: money(cost(row.our_cost)),
            rate_per_minute: row.our_rate.map(money),
        });
        // A stored kind is always one of them.
        let kind = StatementLineKind::of_rank(row.kind).unwrap_or(StatementLineKind::Matched);
        StatementLine { kind, called: row.called, theirs, ours, difference: money(difference) }
    }
}
