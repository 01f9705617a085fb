//! Tables `two_factor_seeds`, `recovery_codes` and `two_factor_challenges`.

use uuid::Uuid;

use db::{Conn, DbError, insert, params, row, sql};
use values::{Time, UserId};

/// Attempts for one challenge.
const MAX_ATTEMPTS: i64 = 5;

row! {
    pub struct Seed {
        pub user_id: UserId,
        /// Encrypted.
        pub seed: Vec<u8>,
        pub confirmed_at: Option<Time>,
    }
}

pub async fn find(conn: &mut Conn, user: UserId) -> Result<Option<Seed>, DbError> {
    conn.opt(sql!("SELECT ", Seed::COLS, " FROM two_factor_seeds WHERE user_id = $1"), params![user]).await
}

/// Stores an unconfirmed seed; false when there is a confirmed one.
pub async fn save_seed(conn: &mut Conn, user: UserId, sealed: &[u8]) -> Result<bool, DbError> {
    let now = conn.now();
    let saved = insert!(conn, two_factor_seeds { user_id: user, seed: sealed, last_step: 0i64, created_at: now }, "ON CONFLICT (user_id) DO UPDATE SET seed = excluded.seed, last_step = 0, created_at = excluded.created_at WHERE two_factor_seeds.confirmed_at IS NULL")
        .await?;
    Ok(saved == 1)
}

pub async fn confirm(conn: &mut Conn, user: UserId) -> Result<bool, DbError> {
    let now = conn.now();
    let confirmed = conn
        .exec(
            sql!("UPDATE two_factor_seeds SET confirmed_at = $2 WHERE user_id = $1 AND confirmed_at IS NULL"),
            params![user, now],
        )
        .await?;
    Ok(confirmed == 1)
}

/// Accepts a time step if it is later than the last accepted one.
pub async fn accept_step(conn: &mut Conn, user: UserId, step: i64) -> Result<bool, DbError> {
    let now = conn.now();
    let accepted = conn
        .exec(
            sql!(
                "UPDATE two_factor_seeds SET last_step = $2, last_used_at = $3
                 WHERE user_id = $1 AND last_step < $2"
            ),
            params![user, step, now],
        )
        .await?;
    Ok(accepted == 1)
}

pub async fn delete(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM recovery_codes WHERE user_id = $1"), params![user]).await?;
    conn.exec(sql!("DELETE FROM two_factor_seeds WHERE user_id = $1"), params![user]).await?;
    Ok(())
}

pub async fn replace_recovery_codes(conn: &mut Conn, user: UserId, hashes: &[Vec<u8>]) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM recovery_codes WHERE user_id = $1"), params![user]).await?;
    for hash in hashes {
        insert!(conn, recovery_codes { code_hash: *hash, user_id: user }).await?;
    }
    Ok(())
}

pub async fn use_recovery_code(conn: &mut Conn, user: UserId, hash: &[u8]) -> Result<bool, DbError> {
    let now = conn.now();
    let spent = conn
        .exec(
            sql!("UPDATE recovery_codes SET used_at = $3 WHERE code_hash = $1 AND user_id = $2 AND used_at IS NULL"),
            params![hash, user, now],
        )
        .await?;
    if spent == 1 {
        conn.exec(sql!("UPDATE two_factor_seeds SET last_used_at = $2 WHERE user_id = $1"), params![user, now]).await?;
    }
    Ok(spent == 1)
}

/// A sign-in with a correct password that waits for the second factor.
pub struct Challenge {
    pub jti: Uuid,
    pub user_id: UserId,
    pub expires_at: Time,
}

pub async fn open_challenge(conn: &mut Conn, challenge: &Challenge) -> Result<(), DbError> {
    insert!(
        conn,
        two_factor_challenges {
            jti: challenge.jti,
            user_id: challenge.user_id,
            tries: 0i64,
            expires_at: challenge.expires_at
        }
    )
    .await?;
    Ok(())
}

/// Counts an attempt; false when the challenge is unknown, used or has no attempts left.
pub async fn count_attempt(conn: &mut Conn, jti: Uuid, user: UserId) -> Result<bool, DbError> {
    let tried = conn
        .exec(
            sql!(
                "UPDATE two_factor_challenges SET tries = tries + 1
                 WHERE jti = $1 AND user_id = $2 AND used_at IS NULL AND tries < $3"
            ),
            params![jti, user, MAX_ATTEMPTS],
        )
        .await?;
    Ok(tried == 1)
}

/// Completes a challenge; false when it was completed before.
pub async fn use_challenge(conn: &mut Conn, jti: Uuid) -> Result<bool, DbError> {
    let now = conn.now();
    let used = conn
        .exec(
            sql!("UPDATE two_factor_challenges SET used_at = $2 WHERE jti = $1 AND used_at IS NULL"),
            params![jti, now],
        )
        .await?;
    Ok(used == 1)
}

/// Invalidates all open challenges of a user.
pub async fn void_challenges(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE two_factor_challenges SET used_at = $2 WHERE user_id = $1 AND used_at IS NULL"),
        params![user, conn.now()],
    )
    .await?;
    Ok(())
}

/// Deletes challenges that expired before `cutoff`, oldest first.
pub async fn purge_challenges(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM two_factor_challenges WHERE jti IN
                 (SELECT jti FROM two_factor_challenges WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}

/// Up to `limit` seeds after this user, encrypted.
pub async fn list_seeds(conn: &mut Conn, after: UserId, limit: i64) -> Result<Vec<Seed>, DbError> {
    let sql = sql!("SELECT ", Seed::COLS, " FROM two_factor_seeds WHERE user_id > $1 ORDER BY user_id LIMIT $2");
    conn.all(sql, params![after, limit]).await
}

/// Replaces the encrypted seed, unless the user enrolled again.
pub async fn replace_seed(conn: &mut Conn, seed: &Seed, new: &[u8]) -> Result<u64, DbError> {
    let sql = sql!("UPDATE two_factor_seeds SET seed = $3 WHERE user_id = $1 AND seed = $2");
    conn.exec(sql, params![seed.user_id, seed.seed, new]).await
}
