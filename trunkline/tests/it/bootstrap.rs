//! Creating the first admin.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::json;

use crate::world::engines::both;
use crate::world::{ADMIN_EMAIL, BOOTSTRAP_TOKEN, PASSWORD, World};

both! {
    async fn the_first_admin_is_created_once(db) {
        let world = World::start(db).await;
        let made = world.bootstrap(ADMIN_EMAIL).await.expect(201);
        assert!(made["account_id"].as_str().unwrap().starts_with("acc_"));
        assert!(made["user_id"].as_str().unwrap().starts_with("usr_"));
        let admin = world.sign_in(ADMIN_EMAIL).await;
        assert_eq!((&admin.user_id, &admin.account_id),
            (&made["user_id"].as_str().unwrap().to_owned(), &made["account_id"].as_str().unwrap().to_owned()));
        world.bootstrap(ADMIN_EMAIL).await.problem(409, "state.conflict");
        world.bootstrap("another@carrier.example").await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn one_of_twenty_concurrent_bootstraps_succeeds(db) {
        let world = World::unlimited(db).await;
        let answers = join_all((0..20).map(|_| world.bootstrap(ADMIN_EMAIL))).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 201);
        assert_eq!(won.len(), 1);
        for answer in lost {
            answer.problem(409, "state.conflict");
        }
        world.sign_in(ADMIN_EMAIL).await;
        world.end().await;
    }

    async fn bootstrap_needs_the_token_from_the_console(db) {
        let world = World::unlimited(db).await;
        let body = json!({"legal_name": "Carrier BV", "contact_name": "Ada", "contact_email": ADMIN_EMAIL,
            "password": PASSWORD});
        let caller = world.anyone();
        caller.post("/admin/bootstrap", body.clone()).await.problem(403, "auth.forbidden");
        let (short, long) = (&BOOTSTRAP_TOKEN[1..], format!("{BOOTSTRAP_TOKEN}x"));
        let upper = BOOTSTRAP_TOKEN.to_uppercase();
        for token in ["", "x", short, &long, &upper] {
            let caller = caller.header("X-Bootstrap-Token", token);
            caller.post("/admin/bootstrap", body.clone()).await.problem(403, "auth.forbidden");
            // The body is not validated either.
            caller.post("/admin/bootstrap", json!({})).await.problem(403, "auth.forbidden");
        }
        world.bootstrap(ADMIN_EMAIL).await.expect(201);
        // With a wrong token the response does not reveal whether there is an admin.
        let stranger = caller.header("X-Bootstrap-Token", "x");
        stranger.post("/admin/bootstrap", body).await.problem(403, "auth.forbidden");
        world.end().await;
    }

    async fn every_invalid_bootstrap_field_is_named(db) {
        let world = World::unlimited(db).await;
        let caller = world.anyone().header("X-Bootstrap-Token", BOOTSTRAP_TOKEN);
        for (body, names) in [
            (json!({}), vec!["contact_email", "contact_name", "legal_name", "password"]),
            (json!({"legal_name": "", "contact_name": " ", "contact_email": "ada", "password": "elevenchars"}),
                vec!["contact_email", "contact_name", "legal_name", "password"]),
            (json!({"legal_name": "Carrier", "contact_name": "Ada", "contact_email": ADMIN_EMAIL, "password": PASSWORD,
                "is_admin": true}), vec!["is_admin"]),
            (json!({"legal_name": 1, "contact_name": null, "contact_email": [], "password": {}, "x": 0}),
                vec!["contact_email", "contact_name", "legal_name", "password", "x"]),
            (json!({"legal_name": "x".repeat(201), "contact_name": "Ada", "contact_email": ADMIN_EMAIL,
                "password": "x".repeat(201)}), vec!["legal_name", "password"]),
        ] {
            let mut found = caller.post("/admin/bootstrap", body.clone()).await.invalid();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, names, "{body}");
        }
        world.bootstrap(ADMIN_EMAIL).await.expect(201);
        world.end().await;
    }

    async fn bootstrap_stays_open_after_an_address_in_use_is_refused(db) {
        let world = World::unlimited(db).await;
        world.customer("cora@customer.example").await;
        world.bootstrap("Cora@Customer.example").await.problem(409, "state.conflict");
        world.bootstrap(ADMIN_EMAIL).await.expect(201);
        world.end().await;
    }
}
