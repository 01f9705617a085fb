//! What the team sees of everything: inbox, search, and a customer as the customer sees itself.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, ndjson, send_cdrs};
use crate::world::fixtures::invoices::customer_with_invoice;
use crate::world::fixtures::key;
use crate::world::fixtures::numbers::{AMSTERDAM, create_group, customer_with_trunk, order_number};
use crate::world::fixtures::rates::import_deck;
use crate::world::fixtures::switch::Scene;
use crate::world::fixtures::tickets::ticket_body;
use crate::world::fixtures::trunks::allow_network;

/// The kinds and titles that a text finds.
async fn found(team: &Client, q: &str) -> Vec<String> {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("q", q).finish();
    let hits = team.get(&format!("/admin/search?{query}")).await.ok();
    let text = |hit: &Value, name: &str| hit[name].as_str().unwrap().to_owned();
    hits["data"].as_array().unwrap().iter().map(|hit| format!("{} {}", text(hit, "kind"), text(hit, "title"))).collect()
}

both! {
    async fn a_search_finds_every_kind_by_how_it_begins_or_as_a_whole(db) {
        let scene = Scene::start(db, 100_000).await;
        let world = &scene.world;
        world.advance(600).await;
        import_cdrs(world, &[cdr_line(&scene, "Call-ID@edge", scene.now() - 60_000, 60, json!({}))]).await;
        let admin = world.sign_in(crate::world::ADMIN_EMAIL).await.into_client();
        let group = create_group(world, &admin, 1, AMSTERDAM).await;
        let (otto, trunk) = customer_with_trunk(world, "otto@buyer.example", 10_000).await;
        order_number(&otto, &group, &trunk).await.expect(201);
        world.settle().await;
        let number = otto.get("/numbers").await.ok()["data"][0]["e164"].as_str().unwrap().to_owned();
        allow_network(&otto, &format!("/trunks/{trunk}"), "8.8.5.0/24").await.expect(201);
        otto.patch("/account", json!({"company_name": "Öresund Telefoni AB"})).await.ok();
        let ticket = otto.post("/tickets", json!({"subject": "One-way audio to Malmö", "body": "Since today"})).await.expect(201);
        let team = world.minted(Role::Support).await;
        let is = async |q: &str, expected: &str| {
            let hits = found(&team, q).await;
            assert!(hits.contains(&expected.to_owned()), "{q}: {hits:?}");
        };
        for q in ["öresund", "ÖRESUND", "tele öre", &otto.account_id] {
            is(q, "customer Öresund Telefoni AB").await;
        }
        for q in ["OTTO@", "otto@buyer.example", &otto.user_id] {
            is(q, "user otto@buyer.example").await;
        }
        for q in [number.as_str(), &number[1..8], "0031 20"] {
            is(q, &format!("number {number}")).await;
        }
        is("8.8.5.77", "ip_address 8.8.5.0/24").await;
        is("Call-ID@edge", "call Call-ID@edge").await;
        assert!(!found(&team, "Call-ID").await.contains(&"call Call-ID@edge".to_owned()), "a Call-ID is found as a whole");
        for q in ["ONE-WAY audio", "one-way", ticket["id"].as_str().unwrap()] {
            is(q, "ticket One-way audio to Malmö").await;
        }
        let hit = &team.get("/admin/search?q=8.8.5.77").await.ok()["data"][0];
        assert_eq!((&hit["subtitle"], &hit["customer_id"]), (&json!("Öresund Telefoni AB"), &otto.get("/account").await.ok()["id"]));
        assert_eq!(found(&team, "nothing has this name").await, Vec::<String>::new());
        assert_eq!(team.get("/admin/search").await.invalid(), ["q"]);
        otto.get("/admin/search?q=otto").await.problem(403, "auth.forbidden");
        scene.end().await;
    }

    async fn a_search_has_twenty_results_of_all_kinds_at_most(db) {
        let world = World::unlimited(db).await;
        let (_, _) = customer_with_invoice(&world, true).await;
        for number in 0..25 {
            world.customer(&format!("user{number}@customer.example")).await;
        }
        let team = world.minted(Role::Support).await;
        let hits = found(&team, "user").await;
        assert_eq!(hits.len(), 20, "{hits:?}");
        let year = team.get("/admin/invoices").await.ok()["data"][0]["number"].as_str().unwrap().to_owned();
        assert!(found(&team, &year[..6]).await.contains(&format!("invoice {year}")));
        assert_eq!(found(&team, "customer").await.len(), 20);
        world.end().await;
    }

    async fn the_inbox_counts_what_waits_for_the_team(db) {
        let scene = Scene::start(db, 1000).await;
        let team = scene.world.minted(Role::Support).await;
        let nothing = json!({
            "tickets": 0, "kyb": 0, "intakes": 0, "waitlist": 0, "dunning": 0, "upstreams_down": 0, "open_breakers": 0,
            "failed_imports": 0, "held_imports": 0, "deck_mails": 0, "dead_jobs": 0, "suspense": 0,
            "oldest": {"tickets": null, "kyb": null, "intakes": null, "waitlist": null, "dunning": null},
        });
        assert_eq!(team.get("/admin/inbox").await.ok(), nothing);
        let ticket = scene.customer.post("/tickets", ticket_body()).await.expect(201);
        scene.world.advance(60).await;
        scene.customer.post("/tickets", ticket_body()).await.expect(201);
        let line = cdr_line(&scene, "unsold", scene.now() - 1000, 60, json!({"called": "+4930123456"}));
        assert_eq!(send_cdrs(&scene, &ndjson(&[line])).await.ok()["suspended"], 1);
        let failed = import_deck(&scene.world, &scene.admin, &scene.upstream, "", "prefix,nonsense\n31,x\n").await;
        assert_eq!(failed["status"], "failed", "{failed}");
        let down = json!([{"event_id": "e1", "type": "upstream_down", "at": scene.now(), "upstream_id": scene.upstream}]);
        scene.send_events(down).await;
        scene.world.use_up(&scene.customer.account_id, 2000).await;
        scene.world.settle().await;
        let inbox = team.get("/admin/inbox").await.ok();
        for (name, count) in [("tickets", 2), ("suspense", 1), ("failed_imports", 1), ("upstreams_down", 1), ("dunning", 1), ("kyb", 0)] {
            assert_eq!(inbox[name], count, "{name} of {inbox}");
        }
        let oldest = &inbox["oldest"];
        assert_eq!((&oldest["tickets"], oldest["dunning"].is_string()), (&ticket["updated_at"], true), "{oldest}");
        assert_eq!((&oldest["kyb"], &oldest["waitlist"]), (&json!(null), &json!(null)), "{oldest}");
        scene.customer.get("/admin/inbox").await.problem(403, "auth.forbidden");
        scene.end().await;
    }

    async fn the_team_sees_a_customer_as_the_customer_does(db) {
        let scene = Scene::start(db, 1000).await;
        let customer = &scene.customer;
        let caps = json!({"max_spend_per_day": {"amount_minor": 4200, "currency": "EUR"}, "max_rate_per_minute": {"amount": "0.07", "currency": "EUR"}});
        customer.call(reqwest::Method::PUT, "/fraud-caps", Some(caps)).await.ok();
        let body = json!({"name": "Billing export", "scopes": ["calls:read"]});
        customer.with_key(key()).post("/account/api-keys", body).await.expect(201);
        let team = scene.world.minted(Role::Support).await;
        for (own, of_team) in [
            ("/account/api-keys", "api-keys"), ("/webhook-endpoints", "webhook-endpoints"), ("/trunks", "trunks"),
            ("/numbers", "numbers"), ("/numbers/orders", "orders"), ("/account/ledger", "ledger"),
            ("/fraud-caps", "fraud-caps"), ("/account/auto-recharge", "auto-recharge"),
        ] {
            let seen = team.get(&format!("/admin/customers/{}/{of_team}", customer.account_id)).await.ok();
            assert_eq!(seen, customer.get(own).await.ok(), "{own}");
            team.get(&format!("/admin/customers/{}/{of_team}", uuid::Uuid::max())).await.problem(404, "not_found");
            customer.get(&format!("/admin/customers/{}/{of_team}", customer.account_id)).await.problem(403, "auth.forbidden");
        }
        scene.end().await;
    }
}
