//! Revocations wait for concurrent uncommitted transactions, and revoke what those open.
//!
//! Only PostgreSQL runs write transactions concurrently. The test itself runs the other one and decides when it
//! commits.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;
use uuid::Uuid;

use crate::world::World;
use crate::world::engines::{TestDb, postgres_client, uuid};
use crate::world::fixtures::links::{magic_token, reset_token};

const CORA: &str = "cora@customer.example";

async fn is_revoked(db: &TestDb, token: Uuid) -> bool {
    let sql = "SELECT revoked_at IS NOT NULL FROM access_tokens WHERE jti = $1";
    db.read().await.unwrap().one::<(bool,)>(sql, db::params![token]).await.unwrap().0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_that_commits_late_leaves_a_thief_no_valid_token() {
    let test = async |db: &TestDb| {
        let world = World::unlimited(db).await;
        let stolen = world.customer(CORA).await;
        world.refresh(&stolen.refresh_token).await.ok();
        world.advance(11).await;

        let (thief, token) = (postgres_client(&db.url).await, uuid());
        let refresh = format!(
            "BEGIN; UPDATE sessions SET last_used_at = last_used_at;
             INSERT INTO access_tokens (jti, user_id, session_id, expires_at)
             SELECT '{token}', user_id, id, expires_at FROM sessions"
        );
        thief.batch_execute(&refresh).await.unwrap();
        let noticed = {
            let (owner, reused) = (world.anyone(), json!({"refresh_token": stolen.refresh_token}));
            tokio::spawn(async move { owner.post("/auth/refresh", reused).await })
        };
        db.until_one_waits().await;
        thief.batch_execute("COMMIT").await.unwrap();
        noticed.await.unwrap().problem(401, "auth.token_invalid");
        assert!(is_revoked(db, token).await);
        world.end().await;
    };
    TestDb::postgres().await.run(test).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_magic_link_used_during_a_password_reset_opens_no_lasting_session() {
    let test = async |db: &TestDb| {
        let world = World::unlimited(db).await;
        let user = world.customer(CORA).await.user_id.parse().unwrap();
        let reset = reset_token(&world).await;
        magic_token(&world, user).await;

        let (other, token, session) = (postgres_client(&db.url).await, uuid(), uuid());
        let redeem = format!(
            "BEGIN; UPDATE link_tokens SET used_at = 1 WHERE purpose = 'magic';
             INSERT INTO sessions (id, user_id, created_at, last_used_at, expires_at, ip)
             SELECT '{session}', user_id, created_at, last_used_at, expires_at, ip FROM sessions;
             INSERT INTO access_tokens (jti, user_id, session_id, expires_at)
             SELECT '{token}', user_id, id, expires_at FROM sessions WHERE id = '{session}'"
        );
        other.batch_execute(&redeem).await.unwrap();
        let changed = {
            let (owner, body) = (world.anyone(), json!({"token": reset, "new_password": "an entirely new secret"}));
            tokio::spawn(async move { owner.post("/auth/reset-password", body).await })
        };
        db.until_one_waits().await;
        other.batch_execute("COMMIT").await.unwrap();
        changed.await.unwrap().expect(204);
        assert!(is_revoked(db, token).await);
        let live = "SELECT COUNT(*) FROM sessions WHERE ended_at IS NULL";
        assert_eq!(db.read().await.unwrap().one::<(i64,)>(live, &[]).await.unwrap(), (0,));
        world.end().await;
    };
    TestDb::postgres().await.run(test).await;
}
