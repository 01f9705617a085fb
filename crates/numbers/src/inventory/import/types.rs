//! Imports of numbers over the wire.

use schemars::JsonSchema;
use serde::Serialize;

use super::store::ImportRow;
use identity::imports::{ImportFault, ImportStatus};
use values::{Rfc3339, UpstreamId, id};

id! {
    /// Id of a DID inventory import.
    pub struct InventoryImportId;
}

/// How far an import is and what it changes.
#[derive(Serialize, JsonSchema)]
pub struct InventoryImport {
    pub id: InventoryImportId,
    pub upstream_id: UpstreamId,
    pub status: ImportStatus,
    /// Numbers that are in the stock already.
    pub rows_done: i64,
    /// Counted exactly once the file was read.
    pub rows_total: i64,
    /// Numbers that were not in the stock.
    pub added: i64,
    /// Numbers that were, and are let on other terms now.
    pub changed: i64,
    /// Numbers that a customer has, and so stay as they are.
    pub kept: i64,
    /// All that is wrong with the file.
    pub error_count: i64,
    /// The first thousand.
    pub errors: Vec<ImportFault>,
    /// Why it failed, if not for what the file says.
    pub reason: Option<String>,
    pub created_at: Rfc3339,
    pub started_at: Option<Rfc3339>,
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
