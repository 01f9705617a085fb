//! The `hold_policies` table.

use super::HoldPolicy;
use db::{Conn, DbError, params, row, sql};
use values::UpstreamId;

row! {
    struct PolicyRow {
        changed_percent: Option<i64>,
        increase_percent: Option<i64>,
        below_cost: bool,
    }
}

pub async fn find(conn: &mut Conn, upstream: UpstreamId) -> Result<Option<HoldPolicy>, DbError> {
    let sql = sql!("SELECT ", PolicyRow::COLS, " FROM hold_policies WHERE upstream_id = $1");
    let found: Option<PolicyRow> = conn.opt(sql, params![upstream]).await?;
    Ok(found.map(|PolicyRow { changed_percent, increase_percent, below_cost }| HoldPolicy {
        changed_percent,
        increase_percent,
        below_cost,
    }))
}

pub async fn save(conn: &mut Conn, upstream: UpstreamId, policy: &HoldPolicy) -> Result<(), DbError> {
    let sql = sql!(
        "INSERT INTO hold_policies (upstream_id, changed_percent, increase_percent, below_cost, updated_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (upstream_id) DO UPDATE SET changed_percent = excluded.changed_percent,
             increase_percent = excluded.increase_percent, below_cost = excluded.below_cost,
             updated_at = excluded.updated_at"
    );
    let HoldPolicy { changed_percent, increase_percent, below_cost } = *policy;
    conn.exec(sql, params![upstream, changed_percent, increase_percent, below_cost, conn.now()]).await?;
    Ok(())
}
