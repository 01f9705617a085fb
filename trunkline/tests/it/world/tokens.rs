//! Callers with a minted access token: a user in an account of its own, without a sign-in.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::DbError;
use db::params;
use platform::crypto::tokens::{ACCESS_LIFETIME, AccessAudience, AccessClaims, Scope};
use uuid::Uuid;
use values::{AccountRole, Role, Time, UserId};

use super::World;
use super::accounts;
use super::client::Client;
use super::engines::uuid;

impl World {
    /// A user with this role, signed in without a password.
    pub async fn minted(&self, role: Role) -> Client {
        self.mint((role, AccountRole::Owner), None).await
    }

    /// A customer's user with this role in its account.
    pub async fn minted_member(&self, role: AccountRole) -> Client {
        self.mint((Role::Customer, role), None).await
    }

    /// A caller whose token may only read, as an impersonating admin's.
    pub async fn minted_to_read(&self, role: Role) -> Client {
        self.mint((role, AccountRole::Owner), Some(Scope::ReadOnly)).await
    }

    async fn mint(&self, role: (Role, AccountRole), scope: Option<Scope>) -> Client {
        let now = self.node.app.clock.now();
        let jti = uuid();
        let email = format!("{}@minted.example", jti.simple());
        let is_read_only = scope.is_some();
        let insert =
            self.node.app.db.tx((email, role, jti, now, is_read_only), |conn, (email, role, jti, now, only)| {
                Box::pin(async move {
                    let account = accounts::live_account(conn, email, *now).await?;
                    let user = accounts::member_of(conn, account, email, *role, None, *now).await?;
                    insert_token(conn, *jti, user, *only, *now).await?;
                    Ok::<_, DbError>((account, user))
                })
            });
        let (account_id, user_id) = insert.await.unwrap();
        let claims = AccessClaims {
            sub: user_id,
            acc: account_id,
            roles: vec![role.0].into(),
            iat: now.seconds(),
            exp: now.plus(ACCESS_LIFETIME).seconds(),
            jti,
            aud: AccessAudience::Access,
            scope,
            act: None,
        };
        self.bearing(&self.node.app.tokens.sign(&claims).unwrap())
    }
}

async fn insert_token(
    conn: &mut db::Conn,
    jti: Uuid,
    user: UserId,
    is_read_only: bool,
    now: Time,
) -> Result<(), DbError> {
    conn.exec(
        "INSERT INTO access_tokens (jti, user_id, is_read_only, expires_at, authenticated_at) VALUES ($1, $2, $3, $4, $5)",
        params![jti, user, is_read_only, now.plus(ACCESS_LIFETIME), now],
    )
    .await?;
    Ok(())
}
