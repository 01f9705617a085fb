//! Tables `passkeys` and `passkey_challenges`.

use db::{Conn, DbError, insert, params, row, sql};
use values::{PasskeyId, Time, UserId};

row! {
    #[derive(Clone)]
    pub struct Passkey {
        pub id: PasskeyId,
        pub user_id: UserId,
        pub credential_id: Vec<u8>,
        /// COSE.
        pub public_key: Vec<u8>,
        pub name: String,
        pub created_at: Time,
        pub last_used_at: Option<Time>,
    }
}

/// Inserts a passkey; false when the credential is registered already.
pub async fn insert(conn: &mut Conn, passkey: &Passkey, sign_count: i64) -> Result<bool, DbError> {
    conn.forget_callers();
    let inserted = insert!(
        conn,
        passkeys {
            id: passkey.id,
            user_id: passkey.user_id,
            credential_id: passkey.credential_id,
            public_key: passkey.public_key,
            sign_count,
            name: passkey.name,
            created_at: passkey.created_at
        },
        "ON CONFLICT (credential_id) DO NOTHING"
    )
    .await?;
    Ok(inserted == 1)
}

pub async fn find_by_credential(conn: &mut Conn, credential: &[u8]) -> Result<Option<Passkey>, DbError> {
    conn.opt(sql!("SELECT ", Passkey::COLS, " FROM passkeys WHERE credential_id = $1"), params![credential]).await
}

/// The passkeys of a user, newest first.
pub async fn list(
    conn: &mut Conn,
    user: UserId,
    (at, id): (Time, PasskeyId),
    limit: i64,
) -> Result<Vec<Passkey>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            Passkey::COLS,
            " FROM passkeys WHERE user_id = $1 AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![user, at, id, limit],
    )
    .await
}

pub async fn credentials(conn: &mut Conn, user: UserId) -> Result<Vec<Vec<u8>>, DbError> {
    let found: Vec<(Vec<u8>,)> =
        conn.all(sql!("SELECT credential_id FROM passkeys WHERE user_id = $1 ORDER BY id"), params![user]).await?;
    Ok(found.into_iter().map(|(credential,)| credential).collect())
}

/// Deletes a passkey of a user and returns its name.
pub async fn delete(conn: &mut Conn, user: UserId, id: PasskeyId) -> Result<Option<String>, DbError> {
    conn.forget_callers();
    let found: Option<(String,)> =
        conn.opt(sql!("DELETE FROM passkeys WHERE id = $1 AND user_id = $2 RETURNING name"), params![id, user]).await?;
    Ok(found.map(|(name,)| name))
}

pub async fn delete_all(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    conn.forget_callers();
    conn.exec(sql!("DELETE FROM passkeys WHERE user_id = $1"), params![user]).await?;
    Ok(())
}

/// Stores the signature counter of a use; false when it did not rise, so that the key was copied. Authenticators
/// without a counter always send zero.
pub async fn count_use(conn: &mut Conn, id: PasskeyId, sign_count: i64) -> Result<bool, DbError> {
    let now = conn.now();
    let counted = conn
        .exec(
            sql!(
                "UPDATE passkeys SET sign_count = $2, last_used_at = $3
                 WHERE id = $1 AND (sign_count < $2 OR (sign_count = 0 AND $2 = 0))"
            ),
            params![id, sign_count, now],
        )
        .await?;
    Ok(counted == 1)
}

/// Spends a challenge; false when it was spent before.
pub async fn use_challenge(conn: &mut Conn, hash: &[u8], expires_at: Time) -> Result<bool, DbError> {
    let spent = insert!(
        conn,
        passkey_challenges { challenge_hash: hash, expires_at },
        "ON CONFLICT (challenge_hash) DO NOTHING"
    )
    .await?;
    Ok(spent == 1)
}

/// Deletes spent challenges that expired before `cutoff`, oldest first.
pub async fn purge_challenges(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM passkey_challenges WHERE challenge_hash IN
                 (SELECT challenge_hash FROM passkey_challenges WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}
