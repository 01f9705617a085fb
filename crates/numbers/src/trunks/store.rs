//! The trunks table.

use db::{Conn, DbError, params, row, sql};
use values::{AccountId, SipUri, Text, Time, TrunkId};

row! {
    #[derive(Clone)]
    pub struct TrunkRow {
        pub id: TrunkId,
        pub account_id: AccountId,
        pub name: Text<1, 200>,
        pub zone: Text<1, 64>,
        pub channel_cap: i64,
        pub cps_limit: Option<i64>,
        pub inbound_uri: Option<SipUri>,
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

/// The account's trunks before this place, newest first.
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

pub async fn count(conn: &mut Conn, account: AccountId) -> Result<i64, DbError> {
    let (count,) = conn.one(sql!("SELECT COUNT(*) FROM trunks WHERE account_id = $1"), params![account]).await?;
    Ok(count)
}

/// Leaves the account without a default, for the one that is about to be it: an index allows one at any moment.
pub async fn unset_default(conn: &mut Conn, account: AccountId, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE trunks SET is_default = FALSE, updated_at = $2 WHERE account_id = $1 AND is_default"),
        params![account, now],
    )
    .await?;
    Ok(())
}

pub async fn insert(conn: &mut Conn, trunk: &TrunkRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO trunks (id, account_id, name, zone, channel_cap, cps_limit, inbound_uri, is_default,
                                 created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
        ),
        params![
            trunk.id,
            trunk.account_id,
            trunk.name,
            trunk.zone,
            trunk.channel_cap,
            trunk.cps_limit,
            trunk.inbound_uri,
            trunk.is_default,
            trunk.created_at,
            trunk.updated_at
        ],
    )
    .await?;
    Ok(())
}

/// Writes what may change of a trunk.
pub async fn update(conn: &mut Conn, trunk: &TrunkRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE trunks SET name = $2, zone = $3, channel_cap = $4, cps_limit = $5, inbound_uri = $6,
                               is_default = $7, updated_at = $8
             WHERE id = $1"
        ),
        params![
            trunk.id,
            trunk.name,
            trunk.zone,
            trunk.channel_cap,
            trunk.cps_limit,
            trunk.inbound_uri,
            trunk.is_default,
            trunk.updated_at
        ],
    )
    .await?;
    Ok(())
}

pub async fn remove(conn: &mut Conn, id: TrunkId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM trunks WHERE id = $1"), params![id]).await?;
    Ok(())
}
