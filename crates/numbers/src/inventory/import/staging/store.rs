//! The staging table (`number_arrivals`) and its merge into `number_stock`.
//!
//! The staging table is small and `number_stock` is large, which the query planner does not know. `a.e164 || ''` makes
//! an index lookup into the staging table impossible, so the planner does not scan all of `number_stock`.

use crate::inventory::types::{InventoryId, Regulatory, StockId, StockState};
use db::{Conn, DbError, params, row, row_values, sql};
use values::{Country, Time, UpstreamId};

/// A DID of the file, as it is stored.
pub struct StagedNumber {
    pub id: StockId,
    pub upstream_id: UpstreamId,
    pub e164: String,
    pub group_id: InventoryId,
    pub country: Country,
    pub regulatory: Regulatory,
    pub now: Time,
}

row! {
    /// A DID of the file that is in the inventory already.
    pub struct ExistingNumber {
        pub id: StockId,
        pub e164: String,
        pub group_id: InventoryId,
        pub regulatory_override: Option<Regulatory>,
        pub state: StockState,
        /// The group that the file puts it in.
        pub file_group_id: InventoryId,
        pub is_same: bool,
    }
}

/// Stages the rows; the batch before left the table empty.
pub async fn stage(conn: &mut Conn, staged: &[StagedNumber]) -> Result<(), DbError> {
    let columns = ["e164", "group_id", "country", "regulatory"];
    conn.insert_many("number_arrivals", columns, staged, |new| {
        row_values![new.e164, new.group_id, new.country, new.regulatory]
    })
    .await?;
    Ok(())
}

pub async fn clear(conn: &mut Conn) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM number_arrivals"), params![]).await?;
    Ok(())
}

/// The staged DIDs that are in the inventory already, locked until the commit.
pub async fn lock_existing(conn: &mut Conn, upstream: UpstreamId) -> Result<Vec<ExistingNumber>, DbError> {
    conn.all(
        sql!(
            "SELECT s.id, s.e164, s.group_id, s.regulatory_override, s.state, a.group_id,
                    s.upstream_id = $1 AND s.regulatory = a.regulatory
             FROM number_arrivals a JOIN number_stock s ON s.e164 = a.e164 || ''
             /*pg FOR UPDATE OF s */"
        ),
        params![upstream],
    )
    .await
}

/// Updates existing DIDs that are not taken to the terms of the file.
pub async fn update_existing(conn: &mut Conn, upstream: UpstreamId) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE number_stock SET upstream_id = $1, group_id = a.group_id, country = a.country,
                 regulatory = a.regulatory, updated_at = $2
             FROM number_arrivals a WHERE number_stock.e164 = a.e164 || '' AND number_stock.state <> 'taken'"
        ),
        params![upstream, conn.now()],
    )
    .await?;
    Ok(())
}

pub async fn regroup(conn: &mut Conn, id: StockId, group: InventoryId) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE number_stock SET group_id = $2 WHERE id = $1"), params![id, group]).await?;
    Ok(())
}

/// Inserts DIDs that are not in the inventory yet, as free.
pub async fn insert(conn: &mut Conn, numbers: &[StagedNumber]) -> Result<(), DbError> {
    let columns =
        ["id", "upstream_id", "e164", "group_id", "country", "regulatory", "is_active", "state", "updated_at"];
    conn.insert_many("number_stock", columns, numbers, |new| {
        row_values![
            new.id,
            new.upstream_id,
            new.e164,
            new.group_id,
            new.country,
            new.regulatory,
            true,
            StockState::Free,
            new.now
        ]
    })
    .await?;
    Ok(())
}
