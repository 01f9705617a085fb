//! Rate deck imports as the API shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hold::HoldReason;
use super::store::ImportRow;
use crate::price_notices::check_waiver;
use api::checks::{Checks, Given};
use identity::imports::ImportFault;
use values::{Rfc3339, Text, UpstreamId, id, text_enum};

id! {
    /// Id of a rate deck import.
    pub struct DeckImportId;
}

text_enum! {
    /// What happens to prefixes that the file does not name: their rates end (`replace`) or stay (`merge`).
    pub enum ImportMode {
        Replace = "replace",
        Merge = "merge",
    }
}

text_enum! {
    /// Status of a rate deck import: `queued`, `running`, `completed`, `failed` (nothing was imported), `held` (waits for
    /// a decision), or `rejected` (by a decision, or because a newer deck came into force).
    pub enum DeckImportStatus {
        Queued = "queued",
        Running = "running",
        Completed = "completed",
        Failed = "failed",
        Held = "held",
        Rejected = "rejected",
    }
}

impl DeckImportStatus {
    /// Whether the import stays as it is, unless somebody decides.
    pub fn is_ended(self) -> bool {
        !matches!(self, DeckImportStatus::Queued | DeckImportStatus::Running)
    }
}

/// Status and results of a rate deck import.
#[derive(Serialize, JsonSchema)]
pub struct DeckImport {
    /// Id of the import.
    pub id: DeckImportId,
    /// Upstream whose deck is imported.
    pub upstream_id: UpstreamId,
    /// Name of the upstream; in lists only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_name: Option<String>,
    /// Status of the import.
    pub status: DeckImportStatus,
    /// What happens to prefixes that the file does not name.
    pub mode: ImportMode,
    /// Whether the import only reports what it would change.
    pub dry_run: bool,
    /// Number of rows read so far.
    pub rows_done: i64,
    /// Number of rows in the file; an estimate until the file has been read, null until there is a file and until a
    /// workbook has been read.
    pub rows_total: Option<i64>,
    /// Number of prefixes that get a rate.
    pub added: i64,
    /// Number of prefixes that lose their rate.
    pub removed: i64,
    /// Number of prefixes that become more expensive.
    pub increased: i64,
    /// Number of prefixes that become cheaper.
    pub decreased: i64,
    /// Whether the file at the rate import URL is the one already in force, so that nothing was imported.
    pub unchanged: bool,
    /// Number of errors in the file; with any error the import changes nothing.
    pub error_count: i64,
    /// The first 1000 errors in the file; left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<ImportFault>>,
    /// Why the import was held; empty if it was not.
    pub held_for: Vec<HoldReason>,
    /// Why the import failed or was rejected, when the cause is not an error in the file; otherwise null.
    pub reason: Option<String>,
    /// Why its increases reach customers without notice; null if they have notice.
    pub waive_reason: Option<String>,
    /// When the import was requested (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// When the import started (RFC 3339, UTC); null while it is queued.
    pub started_at: Option<Rfc3339>,
    /// When the import completed, failed, was held or was rejected (RFC 3339, UTC); null until then.
    pub completed_at: Option<Rfc3339>,
}

impl DeckImport {
    pub fn of(row: ImportRow, errors: Option<Vec<ImportFault>>) -> DeckImport {
        DeckImport {
            id: row.id,
            upstream_id: row.upstream_id,
            upstream_name: None,
            status: row.status,
            mode: row.mode,
            dry_run: row.dry_run,
            rows_done: row.rows_done,
            rows_total: row.rows_total,
            added: row.added,
            removed: row.removed,
            increased: row.increased,
            decreased: row.decreased,
            unchanged: row.unchanged,
            error_count: row.error_count,
            errors,
            held_for: row.held_for.map(|reasons| reasons.0).unwrap_or_default(),
            reason: row.reason,
            waive_reason: row.waive_reason,
            created_at: Rfc3339(row.created_at),
            started_at: row.started_at.map(Rfc3339),
            completed_at: row.completed_at.map(Rfc3339),
        }
    }
}

/// Options of a rate deck import.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportQuery {
    /// Report what would change, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether prefixes that the file does not name end (`replace`, the default) or stay (`merge`).
    #[serde(default)]
    pub mode: Option<ImportMode>,
    /// Let increases reach customers before their notice ends; needs a `reason`.
    #[serde(default)]
    pub waive_notice: bool,
    /// Why the notice is waived; for the audit log.
    #[serde(default)]
    pub reason: Option<Text<1, 500>>,
}

impl Checks for ImportQuery {
    fn check(given: &Given<'_>) {
        check_waiver(given);
    }
}
