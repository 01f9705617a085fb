//! Tables `nodes` and `edges`.

use std::collections::BTreeMap;

use uuid::Uuid;

use db::{Conn, DbError, insert, params, row, sql};
use platform::presence::Presence;
use values::Time;

/// More than an installation has.
const MAX_LISTED: i64 = 1000;

row! {
    pub struct NodeRow {
        pub id: Uuid,
        pub version: String,
        pub started_at: Time,
        pub seen_at: Time,
    }
}

row! {
    pub struct EdgeRow {
        pub edge_id: String,
        pub seen_at: Time,
    }
}

/// Writes that a node runs, and deletes those that were not seen since the cutoff.
pub async fn report_node(conn: &mut Conn, node: &Presence, version: &str, cutoff: Time) -> Result<(), DbError> {
    let seen_at = conn.now();
    insert!(
        conn,
        nodes { id: node.node_id, version, started_at: node.started_at, seen_at },
        "ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at"
    )
    .await?;
    conn.exec(sql!("DELETE FROM nodes WHERE seen_at < $1"), params![cutoff]).await?;
    Ok(())
}

pub async fn delete_node(conn: &mut Conn, id: Uuid) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM nodes WHERE id = $1"), params![id]).await?;
    Ok(())
}

/// Writes when edges called, and deletes those that did not since the cutoff.
pub async fn report_edges(conn: &mut Conn, edges: &BTreeMap<String, Time>, cutoff: Time) -> Result<(), DbError> {
    for (edge_id, seen_at) in edges {
        insert!(
            conn,
            edges { edge_id: *edge_id, seen_at: *seen_at },
            "ON CONFLICT (edge_id) DO UPDATE SET seen_at = excluded.seen_at WHERE edges.seen_at < excluded.seen_at"
        )
        .await?;
    }
    conn.exec(sql!("DELETE FROM edges WHERE seen_at < $1"), params![cutoff]).await?;
    Ok(())
}

/// Nodes that were seen since then, the oldest first.
pub async fn nodes(conn: &mut Conn, since: Time) -> Result<Vec<NodeRow>, DbError> {
    let sql = sql!("SELECT ", NodeRow::COLS, " FROM nodes WHERE seen_at >= $1 ORDER BY started_at, id LIMIT $2");
    conn.all(sql, params![since, MAX_LISTED]).await
}

/// Edges that called since then, by name.
pub async fn edges(conn: &mut Conn, since: Time) -> Result<Vec<EdgeRow>, DbError> {
    let sql = sql!("SELECT ", EdgeRow::COLS, " FROM edges WHERE seen_at >= $1 ORDER BY edge_id LIMIT $2");
    conn.all(sql, params![since, MAX_LISTED]).await
}
