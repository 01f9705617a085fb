//! Table `api_keys`.

use std::net::IpAddr;

use super::super::scopes::Scope;
use db::{Conn, DbError, insert, params, row, sql};
use values::{AccountId, Cidr, Email, List, Time, UserId, Words, id};

id! {
    /// Id of an API key.
    pub struct ApiKeyId;
}

row! {
    #[derive(Clone)]
    pub struct ApiKeyRow {
        pub id: ApiKeyId,
        pub created_by: UserId,
        pub name: String,
        pub prefix: String,
        pub scopes: Words<Scope>,
        pub allowed_cidrs: List<Cidr>,
        pub expires_at: Option<Time>,
        pub created_at: Time,
        pub last_used_at: Option<Time>,
        pub last_used_ip: Option<String>,
    }
}

pub struct NewApiKey {
    pub id: ApiKeyId,
    pub account_id: AccountId,
    pub is_team: bool,
    pub created_by: UserId,
    pub name: String,
    pub prefix: String,
    pub secret_hash: [u8; 32],
    pub scopes: Words<Scope>,
    pub allowed_cidrs: List<Cidr>,
    pub expires_at: Option<Time>,
}

row! {
    /// What a request with a key needs to know.
    pub struct CallerRow {
        pub id: ApiKeyId,
        pub account_id: AccountId,
        pub is_team: bool,
        pub created_by: UserId,
        pub email: Email,
        pub name: String,
        pub scopes: Words<Scope>,
        pub allowed_cidrs: List<Cidr>,
        pub expires_at: Option<Time>,
        pub revoked_at: Option<Time>,
        pub last_used_at: Option<Time>,
    }
}

pub async fn find_caller(conn: &mut Conn, hash: &[u8]) -> Result<Option<CallerRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT k.id, k.account_id, k.is_team, k.created_by, u.email, k.name, k.scopes, k.allowed_cidrs,
                    k.expires_at, k.revoked_at, k.last_used_at
             FROM api_keys k JOIN users u ON u.id = k.created_by WHERE k.secret_hash = $1"
        ),
        params![hash],
    )
    .await
}

/// When a key expires, if it does; none if it was revoked.
pub async fn find_expiry(conn: &mut Conn, id: ApiKeyId) -> Result<Option<Option<Time>>, DbError> {
    let found: Option<(Option<Time>,)> =
        conn.opt(sql!("SELECT expires_at FROM api_keys WHERE id = $1 AND revoked_at IS NULL"), params![id]).await?;
    Ok(found.map(|(expires_at,)| expires_at))
}

pub async fn insert(conn: &mut Conn, key: &NewApiKey) -> Result<(), DbError> {
    insert!(
        conn,
        api_keys {
            id: key.id,
            account_id: key.account_id,
            is_team: key.is_team,
            created_by: key.created_by,
            name: key.name,
            prefix: key.prefix,
            secret_hash: &key.secret_hash[..],
            scopes: key.scopes,
            allowed_cidrs: key.allowed_cidrs,
            expires_at: key.expires_at,
            created_at: conn.now()
        }
    )
    .await?;
    Ok(())
}

/// The keys of a customer's account, newest first.
pub async fn list(
    conn: &mut Conn,
    account: AccountId,
    (at, id): (Time, ApiKeyId),
    limit: i64,
) -> Result<Vec<ApiKeyRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            ApiKeyRow::COLS,
            " FROM api_keys
              WHERE account_id = $1 AND NOT is_team AND revoked_at IS NULL AND (created_at, id) < ($2, $3)
              ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![account, at, id, limit],
    )
    .await
}

/// The keys of the team, newest first.
pub async fn list_of_team(conn: &mut Conn, (at, id): (Time, ApiKeyId), limit: i64) -> Result<Vec<ApiKeyRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            ApiKeyRow::COLS,
            " FROM api_keys WHERE is_team AND revoked_at IS NULL AND (created_at, id) < ($1, $2)
              ORDER BY created_at DESC, id DESC LIMIT $3"
        ),
        params![at, id, limit],
    )
    .await
}

/// A key of a customer's account.
pub async fn find(conn: &mut Conn, account: AccountId, id: ApiKeyId) -> Result<Option<ApiKeyRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            ApiKeyRow::COLS,
            " FROM api_keys WHERE id = $2 AND account_id = $1 AND NOT is_team AND revoked_at IS NULL"
        ),
        params![account, id],
    )
    .await
}

/// A key of the team.
pub async fn find_of_team(conn: &mut Conn, id: ApiKeyId) -> Result<Option<ApiKeyRow>, DbError> {
    conn.opt(
        sql!("SELECT ", ApiKeyRow::COLS, " FROM api_keys WHERE id = $1 AND is_team AND revoked_at IS NULL"),
        params![id],
    )
    .await
}

/// Locks a key until the commit.
pub async fn lock(conn: &mut Conn, id: ApiKeyId) -> Result<(), DbError> {
    let _: Option<(ApiKeyId,)> =
        conn.opt(sql!("SELECT id FROM api_keys WHERE id = $1 /*pg FOR NO KEY UPDATE */"), params![id]).await?;
    Ok(())
}

/// How many keys that are not revoked an account has.
pub async fn count(conn: &mut Conn, account: AccountId) -> Result<i64, DbError> {
    let (keys,) = conn
        .one(sql!("SELECT COUNT(*) FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL"), params![account])
        .await?;
    Ok(keys)
}

/// Sets what can be changed of a key; false when it was revoked meanwhile.
pub async fn update(
    conn: &mut Conn,
    id: ApiKeyId,
    name: &str,
    allowed_cidrs: &List<Cidr>,
    expires_at: Option<Time>,
) -> Result<bool, DbError> {
    conn.forget_callers();
    let updated = conn
        .exec(
            sql!(
                "UPDATE api_keys SET name = $2, allowed_cidrs = $3, expires_at = $4
                 WHERE id = $1 AND revoked_at IS NULL"
            ),
            params![id, name, *allowed_cidrs, expires_at],
        )
        .await?;
    Ok(updated == 1)
}

/// Revokes a key; false when it was revoked before.
pub async fn revoke(conn: &mut Conn, id: ApiKeyId) -> Result<bool, DbError> {
    let now = conn.now();
    conn.forget_callers();
    let revoked = conn
        .exec(sql!("UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL"), params![id, now])
        .await?;
    Ok(revoked == 1)
}

/// Revokes all keys that a user created, and returns how many.
pub async fn revoke_of_user(conn: &mut Conn, user: UserId) -> Result<u64, DbError> {
    let now = conn.now();
    conn.forget_callers();
    conn.exec(
        sql!("UPDATE api_keys SET revoked_at = $2 WHERE created_by = $1 AND revoked_at IS NULL"),
        params![user, now],
    )
    .await
}

/// Records a use, unless there was one after `since`.
pub async fn touch(conn: &mut Conn, id: ApiKeyId, ip: IpAddr, since: Time) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE api_keys SET last_used_at = $2, last_used_ip = $3
             WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $4)"
        ),
        params![id, conn.now(), ip.to_string(), since],
    )
    .await?;
    Ok(())
}

/// Deletes keys that were revoked before `cutoff`, oldest first.
pub async fn purge(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM api_keys WHERE id IN
                 (SELECT id FROM api_keys WHERE revoked_at < $1 ORDER BY revoked_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}
