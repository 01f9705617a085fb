//! Statements as the API shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mapping::StatementMapping;
use super::pair::{Sums, Totals};
use super::store::StatementRow;
use api::checks::{Checks, Given, must};
use api::problem::Problem;
use identity::imports::{ImportFault, ImportStatus};
use values::{Currency, ExactMoney, Money, Rfc3339, UpstreamId, id, text_enum};

/// Seconds that a tolerance may have.
pub const MAX_TOLERANCE_SECONDS: i64 = 3600;

id! {
    /// Id of a statement.
    pub struct StatementId;
}

text_enum! {
    /// What became of a line: only we have the call, only the statement has it, its duration differs beyond the tolerance,
    /// its cost or rate differs, or it matches.
    pub enum StatementLineKind {
        OnlyOurs = "only_ours",
        OnlyTheirs = "only_theirs",
        DurationDiffers = "duration_differs",
        RateDiffers = "rate_differs",
        Matched = "matched",
    }
}

impl StatementLineKind {
    /// Its place in the order of kinds, from 1, as it is stored.
    pub fn rank(self) -> i64 {
        match self {
            StatementLineKind::OnlyOurs => 1,
            StatementLineKind::OnlyTheirs => 2,
            StatementLineKind::DurationDiffers => 3,
            StatementLineKind::RateDiffers => 4,
            StatementLineKind::Matched => 5,
        }
    }

    pub fn of_rank(rank: i64) -> Option<StatementLineKind> {
        StatementLineKind::ALL.iter().copied().find(|kind| kind.rank() == rank)
    }
}

impl From<rating::LineKind> for StatementLineKind {
    fn from(kind: rating::LineKind) -> StatementLineKind {
        match kind {
            rating::LineKind::OnlyOurs => StatementLineKind::OnlyOurs,
            rating::LineKind::OnlyTheirs => StatementLineKind::OnlyTheirs,
            rating::LineKind::DurationDiffers => StatementLineKind::DurationDiffers,
            rating::LineKind::RateDiffers => StatementLineKind::RateDiffers,
            rating::LineKind::Matched => StatementLineKind::Matched,
        }
    }
}

/// Options of a reconciliation.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatementQuery {
    /// Compare calls that began at this time or later (RFC 3339); the first start in the file if left out.
    #[serde(default)]
    pub period_from: Option<Rfc3339>,
    /// Compare calls that began before this time (RFC 3339); a second after the last start in the file if left out.
    #[serde(default)]
    pub period_to: Option<Rfc3339>,
    /// How many seconds the starts of a call may be apart; that of the mapping, or 30, if left out.
    #[serde(default)]
    #[schemars(range(min = 0, max = MAX_TOLERANCE_SECONDS))]
    pub start_tolerance_seconds: Option<i64>,
    /// How many seconds the durations of a call may be apart; that of the mapping, or 2, if left out.
    #[serde(default)]
    #[schemars(range(min = 0, max = MAX_TOLERANCE_SECONDS))]
    pub duration_tolerance_seconds: Option<i64>,
}

impl Checks for StatementQuery {
    fn check(given: &Given<'_>) {
        given.check_with("period_to", "period_from", |to: Rfc3339, from: Rfc3339| {
            must(to.0 > from.0, "must be after period_from")
        });
    }
}

/// Statement of an upstream, and how it compares with our CDRs.
#[derive(Serialize, JsonSchema)]
pub struct Statement {
    /// Id of the statement.
    pub id: StatementId,
    /// Upstream that the statement is of.
    pub upstream_id: UpstreamId,
    /// Name of the upstream; in lists only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_name: Option<String>,
    /// Status of the reconciliation.
    pub status: ImportStatus,
    /// Begin of the compared period (RFC 3339, UTC); null until the file has been read, unless it was given.
    pub period_from: Option<Rfc3339>,
    /// End of the compared period, which is not part of it (RFC 3339, UTC); null until the file has been read, unless it
    /// was given.
    pub period_to: Option<Rfc3339>,
    /// How many seconds the starts of a call may be apart.
    pub start_tolerance_seconds: i64,
    /// How many seconds the durations of a call may be apart.
    pub duration_tolerance_seconds: i64,
    /// Mapping that the file is read by; null for our own header, and until the header has been read if no mapping was
    /// given or saved.
    pub mapping: Option<StatementMapping>,
    /// Number of rows read so far.
    pub rows_done: i64,
    /// Number of rows in the file; an estimate until the file has been read, null until a workbook has been read.
    pub rows_total: Option<i64>,
    /// Number of lines compared so far.
    pub lines_done: i64,
    /// Number of rows without duration and cost: calls that were not answered, which are left out.
    pub unanswered_rows: i64,
    /// Number of rows whose calls began outside the period.
    pub outside_rows: i64,
    /// Counts and sums of each kind; null until the reconciliation is completed.
    pub totals: Option<StatementTotals>,
    /// Number of errors in the file; with any error nothing is compared.
    pub error_count: i64,
    /// The first 1000 errors in the file; left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<ImportFault>>,
    /// Why the reconciliation failed, when the cause is not an error in the file; otherwise null.
    pub reason: Option<String>,
    /// When the statement was uploaded (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// When the reconciliation started (RFC 3339, UTC); null while it is queued.
    pub started_at: Option<Rfc3339>,
    /// When the reconciliation completed or failed (RFC 3339, UTC); null until then.
    pub completed_at: Option<Rfc3339>,
    /// When the lines were deleted, since the numbers of their calls may not be kept longer (RFC 3339, UTC); null while
    /// they are there.
    pub lines_purged_at: Option<Rfc3339>,
}

/// Counts and sums of the lines of a statement, by kind.
#[derive(Serialize, JsonSchema)]
pub struct StatementTotals {
    /// Calls that the statement does not have.
    pub only_ours: StatementSums,
    /// Calls that we do not have.
    pub only_theirs: StatementSums,
    /// Calls whose durations differ beyond the tolerance.
    pub duration_differs: StatementSums,
    /// Calls whose cost or rate differs.
    pub rate_differs: StatementSums,
    /// Calls that match.
    pub matched: StatementSums,
    /// All of them.
    pub all: StatementSums,
}

/// Count and sums of lines. Amounts are in the upstream's currency.
#[derive(Serialize, JsonSchema)]
pub struct StatementSums {
    /// Number of lines.
    pub count: i64,
    /// Seconds of the calls by our CDRs.
    pub our_seconds: i64,
    /// Seconds of the calls by the statement.
    pub their_seconds: i64,
    /// Cost of the calls by our CDRs.
    pub our_cost: ExactMoney,
    /// Cost of the calls by the statement.
    pub their_cost: ExactMoney,
    /// What the statement charges beyond our cost; negative if it charges less.
    pub difference: ExactMoney,
}

impl StatementSums {
    fn new(sums: Sums, currency: Currency) -> StatementSums {
        let money = |nanos: i64| ExactMoney(Money::from_nanos(nanos, currency));
        StatementSums {
            count: sums.count,
            our_seconds: sums.our_seconds,
            their_seconds: sums.their_seconds,
            our_cost: money(sums.our_cost),
            their_cost: money(sums.their_cost),
            difference: money(sums.their_cost.saturating_sub(sums.our_cost)),
        }
    }
}

impl StatementTotals {
    fn new(totals: &Totals, currency: Currency) -> StatementTotals {
        let sums = |kind: StatementLineKind| StatementSums::new(totals.of(kind), currency);
        StatementTotals {
            only_ours: sums(StatementLineKind::OnlyOurs),
            only_theirs: sums(StatementLineKind::OnlyTheirs),
            duration_differs: sums(StatementLineKind::DurationDiffers),
            rate_differs: sums(StatementLineKind::RateDiffers),
            matched: sums(StatementLineKind::Matched),
            all: StatementSums::new(totals.all(), currency),
        }
    }
}

impl Statement {
    pub fn of(row: StatementRow, errors: Option<Vec<ImportFault>>) -> Result<Statement, Problem> {
        let given = row.mapping.filter(|_| row.status != ImportStatus::Completed);
        let mapping = row.used_mapping.or(given);
        let mapping = mapping.as_deref().map(serde_json::from_str).transpose().map_err(Problem::internal)?;
        let totals: Option<Totals> =
            row.totals.as_deref().map(serde_json::from_str).transpose().map_err(Problem::internal)?;
        Ok(Statement {
            id: row.id,
            upstream_id: row.upstream_id,
            upstream_name: None,
            status: row.status,
            period_from: row.period_from.map(Rfc3339),
            period_to: row.period_to.map(Rfc3339),
            start_tolerance_seconds: row.start_tolerance_seconds,
            duration_tolerance_seconds: row.duration_tolerance_seconds,
            mapping,
            rows_done: row.rows_done,
            rows_total: row.rows_total,
            lines_done: row.lines_done,
            unanswered_rows: row.unanswered_rows,
            outside_rows: row.outside_rows,
            totals: totals.map(|totals| StatementTotals::new(&totals, row.currency)),
            error_count: row.error_count,
            errors,
            reason: row.reason,
            created_at: Rfc3339(row.created_at),
            started_at: row.started_at.map(Rfc3339),
            completed_at: row.completed_at.map(Rfc3339),
            lines_purged_at: row.lines_purged_at.map(Rfc3339),
        })
    }
}
