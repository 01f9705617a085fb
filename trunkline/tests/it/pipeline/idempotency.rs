//! Idempotency keys: one effect, however often a request is repeated.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::json;
use values::Role;

use super::probes::{caller, marks, world, world_with};
use crate::world::client::{Answer, Client};
use crate::world::engines::both;
use crate::world::fixtures::key;

both! {
    async fn a_repeated_key_replays_the_stored_response(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        let key = key();
        let first = caller.with_key(key).post("/marks", json!({"text": "one"})).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (201, None));
        let quoted = caller.header("Idempotency-Key", &format!("\"{}\"", key.simple().to_string().to_uppercase()));
        for repeated in [caller.with_key(key), quoted] {
            let again = repeated.post("/marks", json!({"text": "one"})).await;
            assert_eq!((again.status, &again.bytes), (201, &first.bytes));
            assert_eq!(again.header("idempotent-replayed"), Some("true"));
            assert_eq!(again.header("content-type"), Some("application/json"));
        }
        assert_eq!(marks(db).await, 1);
        world.end().await;
    }

    async fn another_body_under_a_used_key_is_a_conflict(db) {
        let world = world(db).await;
        let caller = caller(&world).await.with_key(key());
        caller.post("/marks", json!({"text": "one"})).await.expect(201);
        caller.post("/marks", json!({"text": "two"})).await.problem(409, "idempotency.conflict");
        caller.post("/marks", json!({"text": "one"})).await.expect(201);
        assert_eq!(marks(db).await, 1);
        world.end().await;
    }

    async fn fifty_concurrent_requests_with_one_key_have_one_effect_and_response(db) {
        let world = world(db).await;
        let caller = caller(&world).await.with_key(key());
        let answers = join_all((0..50).map(|_| caller.post("/marks", json!({"text": "one"})))).await;
        let is_fresh = |it: &&Answer| it.status == 201 && it.header("idempotent-replayed").is_none();
        assert_eq!(answers.iter().filter(is_fresh).count(), 1);
        for answer in answers {
            match answer.status {
                201 => assert_eq!(answer.body, json!({"text": "one", "count": 0, "total": 1})),
                _ => drop(answer.problem(409, "idempotency.in_progress")),
            }
        }
        assert_eq!(marks(db).await, 1);
        world.end().await;
    }

    async fn a_key_belongs_to_one_account_one_method_and_one_path(db) {
        let world = world(db).await;
        let key = key();
        let (one, other) = (caller(&world).await.with_key(key), caller(&world).await.with_key(key));
        let admin = world.minted(Role::Admin).await.with_key(key);
        let body = json!({"text": "one"});
        for (caller, path, total) in [
            (&one, "/marks", 1),
            (&other, "/marks", 2),
            (&admin, "/marks", 3),
            (&one, "/marks/a", 4),
            (&one, "/marks/b", 5),
        ] {
            assert_eq!(caller.post(path, body.clone()).await.expect(201)["total"], total);
            assert_eq!(caller.post(path, body.clone()).await.expect(201)["total"], total);
        }
        assert_eq!(marks(db).await, 5);
        world.end().await;
    }

    async fn a_refusal_is_stored_and_its_effect_rolled_back(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        let keyed = caller.with_key(key());
        let first = keyed.post("/marks", json!({"text": "refuse"})).await;
        caller.with_key(key()).post("/marks", json!({"text": "in between"})).await.expect(201);
        let again = keyed.post("/marks", json!({"text": "refuse"})).await;
        assert_eq!((first.status, again.status), (409, 409));
        assert_eq!(again.bytes, first.bytes);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.header("content-type"), Some("application/problem+json"));
        first.problem(409, "state.conflict");
        assert_eq!(marks(db).await, 1);
        world.end().await;
    }

    async fn a_key_can_be_used_again_after_bad_input_or_an_internal_error(db) {
        let world = world(db).await;
        let caller = caller(&world).await.with_key(key());
        assert_eq!(caller.post("/marks", json!({"text": 7})).await.invalid(), ["text"]);
        caller.post("/marks", json!({"text": "break"})).await.problem(500, "internal");
        caller.post("/marks", json!({"text": "panic"})).await.problem(500, "internal");
        assert_eq!(marks(db).await, 0);
        assert_eq!(caller.post("/marks", json!({"text": "good"})).await.expect(201)["total"], 1);
        world.end().await;
    }

    async fn a_stored_response_expires_after_a_day(db) {
        let world = world(db).await;
        let key = key();
        let body = json!({"text": "one"});
        let before = caller(&world).await;
        before.with_key(key).post("/marks", body.clone()).await.expect(201);
        // Tokens expire before keys, and a job would purge the rows: age the rows instead of advancing the clock.
        age_records(db).await;
        assert_eq!(before.with_key(key).post("/marks", body.clone()).await.expect(201)["total"], 2);
        assert_eq!(before.with_key(key).post("/marks", body).await.expect(201)["total"], 2);

        age_records(db).await;
        let first = before.with_key(key).post("/marks", json!({"text": "refuse"})).await;
        let again = before.with_key(key).post("/marks", json!({"text": "refuse"})).await;
        assert_eq!((first.status, again.status), (409, 409));
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "the refusal was not kept");
        world.end().await;
    }

    async fn an_effect_whose_response_cannot_be_stored_is_rolled_back(db) {
        let world = world(db).await;
        let caller = caller(&world).await.with_key(key());
        // Without its table no audit row can be written: the last step of the transaction fails.
        db.ddl("ALTER TABLE audit_log RENAME TO audit_log_away;").await;
        caller.post("/marks", json!({"text": "one"})).await.problem(500, "internal");
        db.ddl("ALTER TABLE audit_log_away RENAME TO audit_log;").await;
        assert_eq!(marks(db).await, 0);
        assert_eq!(caller.post("/marks", json!({"text": "one"})).await.expect(201)["total"], 1);
        world.end().await;
    }

    async fn many_concurrent_refusals_do_not_exhaust_the_connections(db) {
        let settings = [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_DATABASE_CONNECTIONS", "2")];
        let world = world_with(db, &settings).await;
        let reader = world.minted_to_read(Role::Customer).await;
        let callers: Vec<Client> = (0..40).map(|_| reader.with_key(key())).collect();
        let answers = join_all(callers.iter().map(|caller| caller.post("/marks", json!({"text": "no"})))).await;
        for answer in answers {
            answer.problem(403, "auth.forbidden");
        }
        let mut conn = db.read().await.unwrap();
        let counted = conn.one("SELECT CAST(count(*) AS BIGINT) FROM audit_log WHERE outcome = 'failure'", &[]).await;
        let (refusals,): (i64,) = counted.unwrap();
        assert_eq!(refusals, 40, "a refusal went unrecorded");
        drop(conn);
        world.end().await;
    }
}

/// Makes every stored response a day older.
async fn age_records(db: &db::Db) {
    let age = db.tx((), |conn, ()| {
        Box::pin(async move {
            conn.exec("UPDATE idempotency_keys SET created_at = created_at - 86400001", &[]).await?;
            Ok::<_, db::DbError>(())
        })
    });
    age.await.unwrap();
}
