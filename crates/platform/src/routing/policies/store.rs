//! The `routing_policies` table: one row, with the policies as JSON.

use super::{NAME, RoutingPolicies};
use crate::routing::cache;
use db::{Conn, DbError, params, sql};

/// The policies; the defaults if none were saved.
pub async fn load(conn: &mut Conn) -> Result<RoutingPolicies, DbError> {
    let found: Option<(String,)> =
        conn.opt(sql!("SELECT policies FROM routing_policies WHERE id = 1"), params![]).await?;
    let policies = found.map(|(text,)| serde_json::from_str(&text).map_err(DbError::other)).transpose()?;
    Ok(policies.unwrap_or_default())
}

/// Saves the policies and has all nodes reload them.
pub async fn save(conn: &mut Conn, policies: &RoutingPolicies) -> Result<(), DbError> {
    let text = serde_json::to_string(policies).map_err(DbError::other)?;
    let sql = sql!(
        "INSERT INTO routing_policies (id, policies, updated_at) VALUES (1, $1, $2)
         ON CONFLICT (id) DO UPDATE SET policies = excluded.policies, updated_at = excluded.updated_at"
    );
    conn.exec(sql, params![text, conn.now()]).await?;
    cache::bump_version(conn, NAME).await?;
    Ok(())
}

/// Locks the policies until the commit.
pub async fn lock(conn: &mut Conn) -> Result<(), DbError> {
    cache::lock(conn, NAME).await
}
