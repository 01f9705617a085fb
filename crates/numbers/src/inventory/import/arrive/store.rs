//! The table that numbers pass through, and what they do to the stock on their way.
//!
//! It is small and the stock is large, which a planner cannot know. `a.e164 || ''` keeps it from walking through the
//! stock to look into the small table: what is computed from a column is found by no index.

use crate::inventory::types::{InventoryId, Regulatory, StockId, StockState};
use db::{Conn, DbError, params, row, row_values, sql};
use values::{Country, Time, UpstreamId};

/// A number that arrives, as it is written.
pub struct New {
    pub id: StockId,
    pub upstream_id: UpstreamId,
    pub e164: String,
    pub group_id: InventoryId,
    pub country: Country,
    pub regulatory: Regulatory,
    pub now: Time,
}

row! {
    /// A number that arrives and was there before.
    pub struct Known {
        pub id: StockId,
        pub e164: String,
        pub group_id: InventoryId,
        pub regulatory_override: Option<Regulatory>,
        pub state: StockState,
        /// The group that the file puts it in.
        pub said: InventoryId,
        pub is_same: bool,
    }
}

/// Whoever was here before has left it empty.
pub async fn fill(conn: &mut Conn, arriving: &[New]) -> Result<(), DbError> {
    let columns = ["e164", "group_id", "country", "regulatory"];
    conn.insert_many("number_arrivals", columns, arriving, |new| {
        row_values![new.e164, new.group_id, new.country, new.regulatory]
    })
    .await?;
    Ok(())
}

pub async fn empty(conn: &mut Conn) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM number_arrivals"), params![]).await?;
    Ok(())
}

/// Those that are in the stock already, which nobody else can change before we commit.
pub async fn known(conn: &mut Conn, upstream: UpstreamId) -> Result<Vec<Known>, DbError> {
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

/// Changes those that nobody has to what the file says.
pub async fn change_known(conn: &mut Conn, upstream: UpstreamId, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE number_stock SET upstream_id = $1, group_id = a.group_id, country = a.country,
                 regulatory = a.regulatory, updated_at = $2
             FROM number_arrivals a WHERE number_stock.e164 = a.e164 || '' AND number_stock.state <> 'taken'"
        ),
        params![upstream, now],
    )
    .await?;
    Ok(())
}

pub async fn regroup(conn: &mut Conn, id: StockId, group: InventoryId) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE number_stock SET group_id = $2 WHERE id = $1"), params![id, group]).await?;
    Ok(())
}

/// Adds numbers that are not in the stock yet; they are free.
pub async fn add(conn: &mut Conn, fresh: &[New]) -> Result<(), DbError> {
    let columns =
        ["id", "upstream_id", "e164", "group_id", "country", "regulatory", "is_active", "state", "updated_at"];
    conn.insert_many("number_stock", columns, fresh, |new| {
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
