//! Table `ip_allow_entries`.

use db::{Conn, DbError, params, row, sql};
use values::{AccountId, Cidr, IpAllowEntryId, Text, Time, TrunkId};

row! {
    #[derive(Clone)]
    pub struct EntryRow {
        pub id: IpAllowEntryId,
        pub trunk_id: TrunkId,
        pub account_id: AccountId,
        pub cidr: Cidr,
        pub note: Option<Text<0, 200>>,
        pub created_at: Time,
    }
}

/// Entries of the trunk before this cursor, newest first.
pub async fn list(
    conn: &mut Conn,
    trunk: TrunkId,
    (at, id): (Time, IpAllowEntryId),
    limit: i64,
) -> Result<Vec<EntryRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            EntryRow::COLS,
            " FROM ip_allow_entries WHERE trunk_id = $1 AND (created_at, id) < ($2, $3)
             ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![trunk, at, id, limit],
    )
    .await
}

pub async fn count(conn: &mut Conn, trunk: TrunkId) -> Result<i64, DbError> {
    let (count,) = conn.one(sql!("SELECT COUNT(*) FROM ip_allow_entries WHERE trunk_id = $1"), params![trunk]).await?;
    Ok(count)
}

pub async fn insert(conn: &mut Conn, entry: &EntryRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO ip_allow_entries (id, trunk_id, account_id, cidr, note, first_address, last_address, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
        ),
        params![
            entry.id,
            entry.trunk_id,
            entry.account_id,
            entry.cidr,
            entry.note,
            entry.cidr.first().octets().to_vec(),
            entry.cidr.last().octets().to_vec(),
            entry.created_at
        ],
    )
    .await?;
    Ok(())
}

/// Deletes an entry and returns its network, if the trunk has it.
pub async fn delete(conn: &mut Conn, trunk: TrunkId, id: IpAllowEntryId) -> Result<Option<Cidr>, DbError> {
    let deleted: Option<(Cidr,)> = conn
        .opt(sql!("DELETE FROM ip_allow_entries WHERE id = $1 AND trunk_id = $2 RETURNING cidr"), params![id, trunk])
        .await?;
    Ok(deleted.map(|(cidr,)| cidr))
}

/// Deletes all entries of a trunk.
pub async fn delete_of_trunk(conn: &mut Conn, trunk: TrunkId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM ip_allow_entries WHERE trunk_id = $1"), params![trunk]).await?;
    Ok(())
}
