//! Imports over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::ImportRow;
use identity::imports::{ImportFault, ImportStatus};
use values::{Rfc3339, UpstreamId, id, text_enum};

id! {
    /// Id of a rate deck import.
    pub struct DeckImportId;
}

text_enum! {
    /// What becomes of prefixes that the file does not name: they end, or they stay.
    pub enum ImportMode {
        Replace = "replace",
        Merge = "merge",
    }
}

/// How far an import is and what it changes.
#[derive(Serialize, JsonSchema)]
pub struct DeckImport {
    pub id: DeckImportId,
    pub upstream_id: UpstreamId,
    pub status: ImportStatus,
    pub mode: ImportMode,
    /// Whether it only tells what it would change.
    pub dry_run: bool,
    pub rows_done: i64,
    /// Null while no file is there; counted exactly once it was read.
    pub rows_total: Option<i64>,
    /// Prefixes that get a rate.
    pub added: i64,
    /// Prefixes that lose theirs.
    pub removed: i64,
    pub increased: i64,
    pub decreased: i64,
    /// Whether the address still had what is in force already.
    pub unchanged: bool,
    /// All that is wrong with the file.
    pub error_count: i64,
    /// The first thousand; only when a single import is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<ImportFault>>,
    /// Why it failed, if not for what the file says.
    pub reason: Option<String>,
    pub created_at: Rfc3339,
    pub started_at: Option<Rfc3339>,
    pub completed_at: Option<Rfc3339>,
}

impl DeckImport {
    pub fn of(row: ImportRow, errors: Option<Vec<ImportFault>>) -> DeckImport {
        DeckImport {
            id: row.id,
            upstream_id: row.upstream_id,
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
            reason: row.reason,
            created_at: Rfc3339(row.created_at),
            started_at: row.started_at.map(Rfc3339),
            completed_at: row.completed_at.map(Rfc3339),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportQuery {
    /// Report what would change, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether prefixes that the file does not name end (`replace`, the default) or stay (`merge`).
    #[serde(default)]
    pub mode: Option<ImportMode>,
}
