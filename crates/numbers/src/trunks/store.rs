//! The trunks table.

use db::{Conn, DbError, params, sql, table_row};
use values::{AccountId, SipUri, Text, Time, TrunkId};

table_row! {
    #[derive(Clone)]
    pub struct TrunkRow in trunks {
        pub id: TrunkId,
        pub account_id: AccountId,
        pub name: Text<1, 200>,
        pub zone: Text<1, 64>,
        pub channel_cap: i64,
        pub cps_limit: Option<i64>,
        pub inbound_uri: Option<SipUri>,
        pub allowed_inbound_host: Option<String>,
        pub is_default: bool,
        pub created_at: Time,
        pub updated_at: Time,
    }
}

/// A trunk of this account.
pub async fn find(conn: &mut Conn, account: AccountId, id: TrunkId) -> Result<Option<TrunkRow>, DbError> {
    conn.opt(sql!("SELECT ", TrunkRow::COLS, " FROM trunks WHERE id = $1 AND account_id = $2"), params![id, account])
        .await
}

/// Trunks of the account before this cursor, newest first.
pub async fn list(
    conn: &mut Conn,
    account: AccountId,
    (at, id): (Time, TrunkId),
    limit: i64,
) -> Result<Vec<TrunkRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            TrunkRow::COLS,
            " FROM trunks WHERE account_id = $1 AND (created_at, id) < ($2, $3)
             ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![account, at, id, limit],
    )
    .await
}

/// A trunk of any account.
pub async fn find_any(conn: &mut Conn, id: TrunkId) -> Result<Option<TrunkRow>, DbError> {
    conn.opt(sql!("SELECT ", TrunkRow::COLS, " FROM trunks WHERE id = $1"), params![id]).await
}

/// The same, locked until the commit.
pub async fn lock(conn: &mut Conn, id: TrunkId) -> Result<Option<TrunkRow>, DbError> {
    conn.opt(sql!("SELECT ", TrunkRow::COLS, " FROM trunks WHERE id = $1 /*pg FOR UPDATE */"), params![id]).await
}

/// Trunks of all accounts, or of one, before this cursor, newest first.
pub async fn list_all(
    conn: &mut Conn,
    account: Option<AccountId>,
    (at, id): (Time, TrunkId),
    limit: i64,
) -> Result<Vec<TrunkRow>, DbError> {
    if let Some(account) = account {
        return list(conn, account, (at, id), limit).await;
    }
    conn.all(
        sql!(
            "SELECT ",
            TrunkRow::COLS,
            " FROM trunks WHERE (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3"
        ),
        params![at, id, limit],
    )
    .await
}

pub async fn count(conn: &mut Conn, account: AccountId) -> Result<i64, DbError> {
    let (count,) = conn.one(sql!("SELECT COUNT(*) FROM trunks WHERE account_id = $1"), params![account]).await?;
    Ok(count)
}

/// Leaves the account without a default, for the one that is about to be it: an index allows one at any moment.
pub async fn unset_default(conn: &mut Conn, account: AccountId) -> Result<Option<TrunkRow>, DbError> {
    let now = conn.now();
    conn.opt(
        sql!(
            "UPDATE trunks SET is_default = FALSE, updated_at = $2 WHERE account_id = $1 AND is_default RETURNING ",
            TrunkRow::COLS
        ),
        params![account, now],
    )
    .await
}

/// Deletes a trunk and remembers whose it was, for calls that are imported later.
pub async fn delete(conn: &mut Conn, id: TrunkId) -> Result<(), DbError> {
    let remember = sql!(
        "INSERT INTO deleted_trunks (id, account_id, zone, created_at, deleted_at)
         SELECT id, account_id, zone, created_at, $2 FROM trunks WHERE id = $1"
    );
    conn.exec(remember, params![id, conn.now()]).await?;
    conn.exec(sql!("DELETE FROM trunks WHERE id = $1"), params![id]).await?;
    Ok(())
}
