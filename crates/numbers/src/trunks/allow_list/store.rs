//! Table `ip_allow_entries`.

use db::{Conn, DbError, insert, params, row, sql};
use values::{AccountId, Cidr, IpAllowEntryId, Text, Time, TrunkId};

row! {
    #[derive(Clone)]
    pub struct EntryRow {
        pub id: IpAllowEntryId,
        pub trunk_id: TrunkId,
        pub account_id: AccountId,
        pub cidr: Cidr,
        pub note: Option<Text<0, 200>>,
        pub code: String,
        pub verified_at: Option<Time>,
        pub created_at: Time,
    }
}

pub async fn find(conn: &mut Conn, id: IpAllowEntryId) -> Result<Option<EntryRow>, DbError> {
    conn.opt(sql!("SELECT ", EntryRow::COLS, " FROM ip_allow_entries WHERE id = $1"), params![id]).await
}

/// Marks an entry that is not verified yet.
pub async fn set_verified(conn: &mut Conn, id: IpAllowEntryId) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE ip_allow_entries SET verified_at = $2 WHERE id = $1 AND verified_at IS NULL"),
        params![id, conn.now()],
    )
    .await?;
    Ok(())
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
    insert!(
        conn,
        ip_allow_entries {
            id: entry.id,
            trunk_id: entry.trunk_id,
            account_id: entry.account_id,
            cidr: entry.cidr,
            note: entry.note,
            code: entry.code,
            verified_at: entry.verified_at,
            first_address: entry.cidr.first().octets().to_vec(),
            last_address: entry.cidr.last().octets().to_vec(),
            created_at: entry.created_at
        }
    )
    .await?;
    Ok(())
}

/// Deletes an entry and returns its network, if the trunk has it. Remembers whose it was if it counted, for calls that
/// are imported later.
pub async fn delete(
    conn: &mut Conn,
    trunk: TrunkId,
    id: IpAllowEntryId,
    is_proof_required: bool,
) -> Result<Option<Cidr>, DbError> {
    let remember = sql!(
        "INSERT INTO deleted_allow_entries (id, trunk_id, account_id, first_address, last_address, created_at, deleted_at)
         SELECT id, trunk_id, account_id, first_address, last_address, COALESCE(verified_at, created_at), $3
         FROM ip_allow_entries WHERE id = $1 AND trunk_id = $2 AND (verified_at IS NOT NULL OR NOT $4)"
    );
    conn.exec(remember, params![id, trunk, conn.now(), is_proof_required]).await?;
    let deleted: Option<(Cidr,)> = conn
        .opt(sql!("DELETE FROM ip_allow_entries WHERE id = $1 AND trunk_id = $2 RETURNING cidr"), params![id, trunk])
        .await?;
    Ok(deleted.map(|(cidr,)| cidr))
}

/// The same for all entries of a trunk.
pub async fn delete_of_trunk(conn: &mut Conn, trunk: TrunkId, is_proof_required: bool) -> Result<(), DbError> {
    let remember = sql!(
        "INSERT INTO deleted_allow_entries (id, trunk_id, account_id, first_address, last_address, created_at, deleted_at)
         SELECT id, trunk_id, account_id, first_address, last_address, COALESCE(verified_at, created_at), $2
         FROM ip_allow_entries WHERE trunk_id = $1 AND (verified_at IS NOT NULL OR NOT $3)"
    );
    conn.exec(remember, params![trunk, conn.now(), is_proof_required]).await?;
    conn.exec(sql!("DELETE FROM ip_allow_entries WHERE trunk_id = $1"), params![trunk]).await?;
    Ok(())
}
