//! Password guessing: lockouts, limits, deactivated users, and their audit rows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::row;
use serde_json::json;
use values::Role;

use crate::world::authenticator::Authenticator;
use crate::world::client::Answer;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::links::magic_token;
use crate::world::fixtures::metrics::Scrape;
use crate::world::{ADMIN_EMAIL, PASSWORD, World};

const CORA: &str = "cora@customer.example";
const GENEROUS: &[(&str, &str)] = &[
    ("TRUNKLINE_LIMIT_SIGN_IN", "1000/60"),
    ("TRUNKLINE_LIMIT_SIGN_IN_EMAIL", "1000/60"),
    ("TRUNKLINE_LIMIT_SIGN_IN_EMAIL_ALL", "1000/60"),
    ("TRUNKLINE_TRUSTED_PROXIES", "127.0.0.1"),
];

async fn sign_in_from(world: &World, ip: &str, email: &str, password: &str) -> Answer {
    let caller = world.anyone().header("X-Forwarded-For", ip);
    caller.post("/auth/sign-in", json!({"email": email, "password": password})).await
}

row! {
    #[derive(Debug)]
    struct Audited {
        action: String,
        outcome: String,
        reason: Option<String>,
        actor: Option<String>,
        ip: Option<String>,
        user_agent: Option<String>,
        user_id: Option<uuid::Uuid>,
        meta: Option<String>,
    }
}

async fn audited(db: &TestDb, action: &str) -> Vec<Audited> {
    let sql = db::sql!("SELECT ", Audited::COLS, " FROM audit_log ORDER BY seq");
    let mut rows: Vec<Audited> = db.read().await.unwrap().all(sql, &[]).await.unwrap();
    rows.retain(|row| row.action == action);
    rows
}

both! {
    async fn after_five_failures_even_the_right_password_is_locked_out(db) {
        let world = World::with(db, GENEROUS).await;
        world.customer(CORA).await;
        let mut wrong = Vec::new();
        for _ in 0..5 {
            wrong.push(sign_in_from(&world, "203.0.113.7", CORA, "not the password").await);
        }
        let mut refused = wrong.pop().unwrap().problem(401, "auth.invalid_credentials");
        let mut locked = sign_in_from(&world, "203.0.113.7", CORA, PASSWORD).await
            .problem(401, "auth.invalid_credentials");
        refused["request_id"].take();
        locked["request_id"].take();
        assert_eq!(refused, locked);

        // The owner elsewhere, and others here, are not concerned.
        sign_in_from(&world, "203.0.113.8", CORA, PASSWORD).await.ok();
        world.user("carl@customer.example", values::Role::Customer).await;
        sign_in_from(&world, "203.0.113.7", "carl@customer.example", PASSWORD).await.ok();

        world.advance(30).await;
        sign_in_from(&world, "203.0.113.7", CORA, PASSWORD).await.ok();
        world.end().await;
    }

    async fn an_ipv6_network_counts_as_one_address(db) {
        let world = World::with(db, GENEROUS).await;
        world.customer(CORA).await;
        for n in 1..=5 {
            let from = format!("2001:db8:1:2::{n}");
            sign_in_from(&world, &from, CORA, "not the password").await.problem(401, "auth.invalid_credentials");
        }
        sign_in_from(&world, "2001:db8:1:2:ffff::1", CORA, PASSWORD).await.problem(401, "auth.invalid_credentials");
        sign_in_from(&world, "2001:db8:1:3::1", CORA, PASSWORD).await.ok();
        world.end().await;
    }

    async fn the_lockout_doubles_and_a_success_resets_it(db) {
        let world = World::with(db, GENEROUS).await;
        world.customer(CORA).await;
        let from = "203.0.113.7";
        for _ in 0..5 {
            sign_in_from(&world, from, CORA, "not the password").await.problem(401, "auth.invalid_credentials");
        }
        world.advance(30).await;
        sign_in_from(&world, from, CORA, "not the password").await.problem(401, "auth.invalid_credentials");
        world.advance(35).await;
        sign_in_from(&world, from, CORA, PASSWORD).await.problem(401, "auth.invalid_credentials");
        world.advance(25).await;
        sign_in_from(&world, from, CORA, PASSWORD).await.ok();
        for _ in 0..4 {
            sign_in_from(&world, from, CORA, "not the password").await.problem(401, "auth.invalid_credentials");
        }
        sign_in_from(&world, from, CORA, PASSWORD).await.ok();
        world.end().await;
    }

    async fn a_forwarded_address_counts_only_from_a_trusted_proxy(db) {
        let world = World::start(db).await;
        world.advance_to_next(60).await;
        for n in 0..10 {
            let answer = sign_in_from(&world, &format!("203.0.113.{n}"), &format!("u{n}@x.example"), PASSWORD).await;
            answer.problem(401, "auth.invalid_credentials");
        }
        sign_in_from(&world, "203.0.113.99", "u@x.example", PASSWORD).await.problem(429, "rate_limited");
        world.end().await;
    }

    async fn an_address_has_ten_sign_in_attempts_a_minute_over_all_methods(db) {
        let world = World::start(db).await;
        world.advance_to_next(60).await;
        let caller = world.anyone();
        for n in 0..3 {
            let email = format!("u{n}@x.example");
            let answer = caller.post("/auth/sign-in", json!({"email": email, "password": PASSWORD})).await;
            assert_eq!(answer.header("ratelimit-policy"), Some("\"sign-in\";q=10;w=60"));
            let remaining = 9 - 3 * n;
            assert!(answer.header("ratelimit").unwrap().starts_with(&format!("\"sign-in\";r={remaining};t=")));
            answer.problem(401, "auth.invalid_credentials");
            caller.post("/auth/forgot-password", json!({"email": email})).await.expect(202);
            world.verify("x", "123456").await.problem(401, "auth.token_invalid");
        }
        caller.post("/auth/magic-link/redeem", json!({"token": "x"})).await.problem(401, "auth.token_invalid");

        let refused = caller.post("/auth/sign-in", json!({"email": CORA, "password": PASSWORD})).await;
        assert!(refused.header("ratelimit").unwrap().starts_with("\"sign-in\";r=0;t="));
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait));
        refused.problem(429, "rate_limited");
        world.advance(wait).await;
        world.try_sign_in(CORA, PASSWORD).await.problem(401, "auth.invalid_credentials");
        world.end().await;
    }

    async fn an_email_has_five_sign_in_attempts_a_minute_from_one_network(db) {
        let world = World::with(db, &[("TRUNKLINE_TRUSTED_PROXIES", "127.0.0.1")]).await;
        world.customer(CORA).await;
        world.advance_to_next(60).await;
        for _ in 0..5 {
            sign_in_from(&world, "203.0.113.5", CORA, "not the password").await.problem(401, "auth.invalid_credentials");
        }
        let refused = sign_in_from(&world, "203.0.113.5", CORA, PASSWORD).await;
        assert!(refused.header("retry-after").is_some());
        assert!(refused.header("ratelimit").unwrap().starts_with("\"sign-in-email\";r=0;t="));
        let counted = "trunkline_rate_limited_total{limit=\"sign-in-email\"}";
        assert_eq!(Scrape::of(&world).await.value(counted), 1.0);
        refused.problem(429, "rate_limited");
        let asked = world.anyone().header("X-Forwarded-For", "203.0.113.5");
        asked.post("/auth/forgot-password", json!({"email": CORA})).await.problem(429, "rate_limited");
        sign_in_from(&world, "203.0.113.5", "carl@customer.example", PASSWORD).await
            .problem(401, "auth.invalid_credentials");
        sign_in_from(&world, "203.0.113.6", CORA, PASSWORD).await.ok();
        world.end().await;
    }

    async fn naming_an_address_from_elsewhere_does_not_keep_its_owner_out(db) {
        let world = World::with(db, &[("TRUNKLINE_TRUSTED_PROXIES", "127.0.0.1")]).await;
        world.bootstrap(ADMIN_EMAIL).await.expect(201);
        let home = "198.51.100.7";
        sign_in_from(&world, home, ADMIN_EMAIL, PASSWORD).await.ok();
        world.advance_to_next(60).await;
        // One network names the address as often as it may, then many do.
        for _ in 0..6 {
            sign_in_from(&world, "203.0.113.1", ADMIN_EMAIL, "not the password").await;
        }
        sign_in_from(&world, "198.51.100.8", ADMIN_EMAIL, PASSWORD).await.ok();
        for n in 2..40 {
            sign_in_from(&world, &format!("203.0.113.{n}"), ADMIN_EMAIL, "not the password").await;
        }
        let refused = sign_in_from(&world, "203.0.113.99", ADMIN_EMAIL, PASSWORD).await;
        assert!(refused.header("ratelimit").unwrap().starts_with("\"sign-in-email-all\";r=0;t="));
        refused.problem(429, "rate_limited");
        // From where the admin has signed in before, it still can.
        sign_in_from(&world, home, ADMIN_EMAIL, PASSWORD).await.ok();
        let forgot = world.anyone().header("X-Forwarded-For", home);
        forgot.post("/auth/forgot-password", json!({"email": ADMIN_EMAIL})).await.expect(202);
        world.end().await;
    }

    async fn a_magic_link_counts_as_an_attempt_for_its_email(db) {
        let world = World::start(db).await;
        let user = world.user(CORA, Role::Customer).await;
        world.advance_to_next(60).await;
        let token = magic_token(&world, user).await;
        for _ in 0..5 {
            world.try_sign_in(CORA, "not the password").await.problem(401, "auth.invalid_credentials");
        }
        for path in ["/auth/magic-link/redeem", "/auth/first-login"] {
            world.anyone().post(path, json!({"token": token})).await.problem(429, "rate_limited");
        }
        world.advance_to_next(60).await;
        world.anyone().post("/auth/magic-link/redeem", json!({"token": token})).await.ok();
        world.end().await;
    }

    async fn a_password_reset_lifts_the_lockout_of_its_own_address(db) {
        let world = World::with(db, &[("TRUNKLINE_TRUSTED_PROXIES", "127.0.0.1")]).await;
        world.customer(CORA).await;
        for ip in ["203.0.113.1", "203.0.113.2"] {
            for _ in 0..8 {
                world.advance_to_next(60).await;
                sign_in_from(&world, ip, CORA, "not the password").await.problem(401, "auth.invalid_credentials");
            }
        }
        world.advance_to_next(60).await;
        let owner = world.anyone().header("X-Forwarded-For", "203.0.113.2");
        owner.post("/auth/forgot-password", json!({"email": CORA})).await.expect(202);
        let token = world.mails().await.pop().unwrap().token();
        let new = "an entirely new secret";
        owner.post("/auth/reset-password", json!({"token": token, "new_password": new})).await.expect(204);
        // After one more wrong password the guessing address is locked out, and the owner's is not.
        for ip in ["203.0.113.1", "203.0.113.2"] {
            sign_in_from(&world, ip, CORA, "not the password").await.problem(401, "auth.invalid_credentials");
        }
        sign_in_from(&world, "203.0.113.1", CORA, new).await.problem(401, "auth.invalid_credentials");
        sign_in_from(&world, "203.0.113.2", CORA, new).await.ok();
        world.end().await;
    }

    async fn a_deactivated_user_is_signed_out_immediately(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let app = Authenticator::confirmed(&world, &cora, "/me/2fa").await;
        let waiting = world.tmp_token(CORA).await;
        // From elsewhere, so it counts within a second.
        db.ddl("UPDATE users SET is_active = FALSE;").await;
        world.advance(1).await;
        cora.get("/me").await.problem(401, "auth.token_invalid");
        world.refresh(&cora.refresh_token).await.problem(401, "auth.token_invalid");
        world.verify(&waiting, &app.fresh(&world).await).await.problem(401, "auth.token_invalid");
        world.try_sign_in(CORA, PASSWORD).await.problem(401, "auth.invalid_credentials");
        world.anyone().post("/auth/forgot-password", json!({"email": CORA})).await.expect(202);
        assert!(!world.mails().await.iter().any(|mail| mail.subject.starts_with("Reset")));
        world.end().await;
    }

    async fn the_audit_log_has_successful_and_failed_sign_ins(db) {
        let world = World::with(db, GENEROUS).await;
        let id = world.user(CORA, values::Role::Customer).await;
        let caller = world.anyone().header("X-Forwarded-For", "203.0.113.7").header("User-Agent", "Browser/2");
        for (email, password) in [(CORA, "not the password"), ("nobody@x.example", PASSWORD), (CORA, PASSWORD)] {
            caller.post("/auth/sign-in", json!({"email": email, "password": password})).await;
        }
        let rows = audited(db, "session.sign_in").await;
        let told: Vec<_> = rows.iter().map(|row| (row.outcome.as_str(), row.reason.as_deref())).collect();
        let wrong = Some("auth.invalid_credentials");
        // An attempt with an unknown email is only counted.
        assert_eq!(told, [("failure", wrong), ("success", None)]);
        let users: Vec<_> = rows.iter().map(|row| row.user_id).collect();
        assert_eq!(users, [Some(id.uuid()); 2]);
        for row in &rows {
            assert_eq!(row.ip.as_deref(), Some("203.0.113.7"));
            assert_eq!(row.user_agent.as_deref(), Some("Browser/2"));
            assert_eq!(row.actor.as_deref(), Some("customer"));
        }
        world.end().await;
    }

    async fn the_audit_log_has_a_reused_refresh_token(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        world.refresh(&cora.refresh_token).await.ok();
        world.advance(11).await;
        world.refresh(&cora.refresh_token).await.problem(401, "auth.token_invalid");
        let rows = audited(db, "session.refresh").await;
        let last = rows.last().unwrap();
        assert_eq!((last.outcome.as_str(), last.reason.as_deref()), ("failure", Some("auth.token_invalid")));
        assert!(last.meta.as_deref().unwrap().contains("token_reuse") && last.user_id.is_some());
        world.end().await;
    }
}
