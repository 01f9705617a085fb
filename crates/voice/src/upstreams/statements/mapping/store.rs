//! The `statement_mappings` table.

use super::StatementMapping;
use db::{Conn, DbError, params, sql};
use values::UpstreamId;

/// The saved mapping of an upstream.
pub async fn find(conn: &mut Conn, upstream: UpstreamId) -> Result<Option<StatementMapping>, DbError> {
    let sql = sql!("SELECT mapping FROM statement_mappings WHERE upstream_id = $1");
    let found: Option<(String,)> = conn.opt(sql, params![upstream]).await?;
    found.map(|(text,)| serde_json::from_str(&text).map_err(DbError::other)).transpose()
}

pub async fn save(conn: &mut Conn, upstream: UpstreamId, mapping: &StatementMapping) -> Result<(), DbError> {
    let text = serde_json::to_string(mapping).map_err(DbError::other)?;
    let sql = sql!(
        "INSERT INTO statement_mappings (upstream_id, mapping, updated_at) VALUES ($1, $2, $3)
         ON CONFLICT (upstream_id) DO UPDATE SET mapping = excluded.mapping, updated_at = excluded.updated_at"
    );
    conn.exec(sql, params![upstream, text, conn.now()]).await?;
    Ok(())
}
