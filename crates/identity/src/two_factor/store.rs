//! Tables `two_factor_seeds`, `recovery_codes`, `two_factor_challenges` and `second_factor_guesses`.

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
    conn.forget_callers();
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

/// Whether the user has an authenticator app.
pub async fn has_app(conn: &mut Conn, user: UserId) -> Result<bool, DbError> {
    Ok(find(conn, user).await?.is_some_and(|seed| seed.confirmed_at.is_some()))
}

pub async fn has_passkey(conn: &mut Conn, user: UserId) -> Result<bool, DbError> {
    let found: Option<(UserId,)> =
        conn.opt(sql!("SELECT user_id FROM passkeys WHERE user_id = $1 LIMIT 1"), params![user]).await?;
    Ok(found.is_some())
}

/// Deletes the recovery codes of a user who has no second factor left.
pub async fn drop_useless_recovery_codes(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    if !has_app(conn, user).await? && !has_passkey(conn, user).await? {
        conn.exec(sql!("DELETE FROM recovery_codes WHERE user_id = $1"), params![user]).await?;
    }
    Ok(())
}

/// Removes the authenticator app.
pub async fn delete_seed(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    conn.forget_callers();
    conn.exec(sql!("DELETE FROM two_factor_seeds WHERE user_id = $1"), params![user]).await?;
    Ok(())
}

/// Removes the authenticator app with the recovery codes, and forgets wrong guesses.
pub async fn delete(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    forget_guesses(conn, user).await?;
    conn.exec(sql!("DELETE FROM recovery_codes WHERE user_id = $1"), params![user]).await?;
    delete_seed(conn, user).await
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

/// Recovery codes that were not used.
pub async fn unused_recovery_codes(conn: &mut Conn, user: UserId) -> Result<i64, DbError> {
    let (count,) = conn
        .one(sql!("SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL"), params![user])
        .await?;
    Ok(count)
}

/// Counts a guess and returns how many there were, those before `forgotten` left out; none while the user must wait.
pub async fn count_guess(conn: &mut Conn, user: UserId, forgotten: Time) -> Result<Option<i64>, DbError> {
    let counted: Option<(i64,)> = conn
        .opt(
            sql!(
                "INSERT INTO second_factor_guesses (user_id, guesses, wait_until, guessed_at) VALUES ($1, 1, 0, $2)
                 ON CONFLICT (user_id) DO UPDATE SET
                     guesses = CASE WHEN second_factor_guesses.guessed_at < $3 THEN 1
                                    ELSE second_factor_guesses.guesses + 1 END,
                     guessed_at = excluded.guessed_at
                 WHERE second_factor_guesses.wait_until <= $2
                 RETURNING guesses"
            ),
            params![user, conn.now(), forgotten],
        )
        .await?;
    Ok(counted.map(|(guesses,)| guesses))
}

pub async fn wait_until(conn: &mut Conn, user: UserId, until: Time) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE second_factor_guesses SET wait_until = $2 WHERE user_id = $1"), params![user, until])
        .await?;
    Ok(())
}

pub async fn must_wait_until(conn: &mut Conn, user: UserId) -> Result<Option<Time>, DbError> {
    let found: Option<(Time,)> =
        conn.opt(sql!("SELECT wait_until FROM second_factor_guesses WHERE user_id = $1"), params![user]).await?;
    Ok(found.map(|(until,)| until))
}

/// The last guess was right. Earlier ones still count, so that an attacker gains nothing from the owner's sign-ins.
pub async fn take_back_guess(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE second_factor_guesses SET guesses = guesses - 1, wait_until = 0
             WHERE user_id = $1 AND guesses > 0"
        ),
        params![user],
    )
    .await?;
    Ok(())
}

/// Forgets wrong guesses, because who made them has lost what let them guess.
pub async fn forget_guesses(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM second_factor_guesses WHERE user_id = $1"), params![user]).await?;
    Ok(())
}

/// Deletes guesses from before `cutoff`, oldest first.
pub async fn purge_guesses(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM second_factor_guesses WHERE user_id IN
                 (SELECT user_id FROM second_factor_guesses WHERE guessed_at < $1 ORDER BY guessed_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
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
