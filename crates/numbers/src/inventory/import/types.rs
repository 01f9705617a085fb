//! DID inventory imports as the API shows them.

use schemars::JsonSchema;
use serde::Serialize;

use super::store::ImportRow;
use identity::imports::{ImportFault, ImportStatus};
use values::{Rfc3339, UpstreamId, id};

id! {
    /// Id of a DID inventory import.
    pub struct InventoryImportId;
}

/// Status and results of a DID inventory import.
#[derive(Serialize, JsonSchema)]
pub struct InventoryImport {
    /// Id of the import.
    pub id: InventoryImportId,
    /// Upstream that the DIDs come from.
    pub upstream_id: UpstreamId,
    /// Status of the import.
    pub status: ImportStatus,
    /// Number of rows stored so far.
    pub rows_done: i64,
    /// Number of rows in the file; an estimate until the file has been read.
    pub rows_total: i64,
    /// Number of DIDs that were not in the inventory before.
    pub added: i64,
    /// Number of DIDs that were in the inventory and got other terms.
    pub changed: i64,
    /// Number of DIDs left as they are because a customer has them.
    pub kept: i64,
    /// Number of errors in the file; with any error the import changes nothing.
    pub error_count: i64,
    /// The first 1000 errors in the file.
    pub errors: Vec<ImportFault>,
    /// Why the import failed, when the cause is not an error in the file; otherwise null.
    pub reason: Option<String>,
    /// When the file was uploaded (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// When the import started (RFC 3339, UTC); null while it is queued.
    pub started_at: Option<Rfc3339>,
    /// When the import completed or failed (RFC 3339, UTC); null until then.
    pub completed_at: Option<Rfc3339>,
}

impl InventoryImport {
    pub fn of(row: ImportRow, errors: Vec<ImportFault>) -> InventoryImport {
        InventoryImport {
            id: row.id,
            upstream_id: row.upstream_id,
            status: row.status,
            rows_done: row.rows_done,
            rows_total: row.rows_total,
            added: row.added,
            changed: row.changed,
            kept: row.kept,
            error_count: row.error_count,
            errors,
            reason: row.reason,
            created_at: Rfc3339(row.created_at),
            started_at: row.started_at.map(Rfc3339),
            completed_at: row.completed_at.map(Rfc3339),
        }
    }
}
