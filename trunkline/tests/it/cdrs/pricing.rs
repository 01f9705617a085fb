//! How a CDR explains its price, and how CDRs add up on an invoice.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use billing::invoices::{self, IssueRequest, Month};
use reqwest::Method;
use serde_json::{Value, json};
use values::{AccountId, Currency, Role};

use crate::world::engines::both;
use crate::world::fixtures::cdrs::{call_ids, cdr_line, import_cdrs, unanswered_line};
use crate::world::fixtures::key;
use crate::world::fixtures::rates::import_deck;
use crate::world::fixtures::switch::Scene;
use crate::world::fixtures::upstreams::{create_upstream, update_upstream, upstream_body};

const GERMANY: &str =
    "prefix,destination_name,country,rate_per_minute,connect_fee,billing_increment_seconds,minimum_seconds
49,Germany,DE,0.02,0.01,6,30
";

both! {
    async fn a_cdr_shows_the_deck_rate_behind_its_price_after_later_changes(db) {
        let scene = Scene::start(db, 10_000).await;
        let rates = json!({"base": "EUR", "date": "2026-01-02", "rates": {"USD": "1.25"}});
        scene.admin.with_key(key()).call(Method::PUT, "/admin/fx-rates", Some(rates)).await.ok();
        let mut body = upstream_body();
        (body["markup_percent"], body["base_currency"]) = (json!(25), json!("USD"));
        let german = create_upstream(&scene.admin, body).await;
        assert_eq!(import_deck(&scene.world, &scene.admin, &german, "", GERMANY).await["status"], "completed");
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        let lines = [
            cdr_line(&scene, "charged", began, 31, json!({"called": "+4930123456", "upstream_id": german})),
            unanswered_line(&scene, "free", began + 1, json!({"called": "+4930123456"})),
            cdr_line(&scene, "inbound", began + 2, 5, json!({"leg": "origination"})),
        ];
        import_cdrs(&scene.world, &lines).await;
        // Afterwards nothing is as it was.
        let admin = scene.world.minted(Role::Admin).await;
        update_upstream(&admin, &german, json!({"markup_percent": 90})).await.ok();
        let dearer = GERMANY.replace("0.02", "0.5");
        assert_eq!(import_deck(&scene.world, &admin, &german, "", &dearer).await["status"], "completed");
        let rates = json!({"base": "EUR", "date": "2026-01-03", "rates": {"USD": "2"}});
        admin.with_key(key()).call(Method::PUT, "/admin/fx-rates", Some(rates)).await.ok();

        let customer = scene.world.sign_in("cora@customer.example").await;
        let page = customer.get("/cdrs").await.ok();
        assert_eq!(call_ids(&page), ["inbound", "free", "charged"]);
        let [inbound, free, charged] = [0, 1, 2].map(|place| page["data"][place]["id"].as_str().unwrap().to_owned());
        let answer = customer.get(&format!("/cdrs/{charged}")).await;
        let tag = answer.header("etag").unwrap().to_owned();
        let shown = answer.ok();
        let price = &shown["price"];
        // 0.02 USD are 0.016 EUR, and 0.02 with the markup; 0.01 are 0.01. 31 seconds are 36: 0.012, and the connection.
        assert_eq!((&price["prefix"], &price["rate_per_minute"]["amount"]), (&json!("49"), &json!("0.02")));
        assert_eq!((&price["connect_fee"]["amount"], &price["charge"]["amount"]), (&json!("0.01"), &json!("0.022")));
        assert_eq!((&price["minimum_seconds"], &price["billing_increment_seconds"]), (&json!(30), &json!(6)));
        assert_eq!((&price["billed_seconds"], &price["rounding"]), (&json!(36), &json!("half_up")));
        assert_eq!(shown["customer_charge"], price["charge"]);
        assert!(price["effective_at"].is_string() && shown.get("source").is_none(), "{shown}");
        let ledger = customer.get("/account/ledger").await.ok();
        assert_eq!(ledger["data"][0]["id"], price["ledger_transaction_id"]);
        let unchanged = customer.header("If-None-Match", &tag).get(&format!("/cdrs/{charged}")).await;
        assert_eq!(unchanged.status, 304);
        let free = customer.get(&format!("/cdrs/{free}")).await.ok();
        assert_eq!((&free["price"]["billed_seconds"], &free["price"]["charge"]["amount"]), (&json!(0), &json!("0.00")));
        assert_eq!(free["price"]["ledger_transaction_id"], Value::Null);

        let seen = admin.get(&format!("/admin/cdrs/{charged}")).await.ok();
        let source = &seen["source"];
        assert_eq!((&source["upstream_id"], &source["prefix"]), (&json!(german), &json!("49")), "{seen}");
        assert_eq!(source["rate_per_minute"], json!({"amount_minor": 2, "amount": "0.02", "currency": "USD"}));
        assert_eq!((&source["markup_percent"], &source["effective_at"]), (&json!(25), &price["effective_at"]));
        assert_eq!(source["exchange_rate"], json!({"currency": "USD", "date": "2026-01-02", "rate": "1.25"}));
        // 0.016 × 36 ÷ 60, and a connection of 0.008.
        assert_eq!((&seen["our_cost"]["amount"], &seen["margin"]["amount"]), (&json!("0.0176"), &json!("0.0044")));
        assert_eq!(admin.get(&format!("/admin/cdrs/{inbound}")).await.ok()["source"], Value::Null);
        scene.end().await;
    }

    async fn an_invoice_has_a_line_per_destination_and_matches_the_ledger(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "a", began, 90, json!({})),
            cdr_line(&scene, "b", began + 1, 7, json!({})),
            cdr_line(&scene, "c", began + 2, 61, json!({"called": "+31612345678"})),
            unanswered_line(&scene, "d", began + 3, json!({"called": "+442071234567"})),
        ]).await;
        let token = scene.allowed(json!({"called": "+31612345678"})).await["call_token"].clone();
        let now = scene.now();
        let ended = json!({"answered_at": now - 3000, "at": now});
        scene.send_events(json!([scene.event("ended", &token, 0, ended)])).await;
        let (app, now) = (scene.world.node.app.clone(), scene.world.node.app.clock.now());
        let account: AccountId = scene.customer.account_id.parse().unwrap();
        let order = IssueRequest { app: app.clone(), account, currency: Currency::EUR, month: Month::of(now), now };
        let id = invoices::issue(order).await.unwrap().unwrap();
        let sql = "SELECT subtotal, facts FROM invoices WHERE id = $1";
        let (subtotal, facts): (i64, String) =
            app.db.read().await.unwrap().one(sql, db::params![id]).await.unwrap();
        let facts: Value = serde_json::from_str(&facts).unwrap();
        // Two Dutch calls of 97 seconds, and two to mobiles: minutes of 0.06 and connections of 0.05.
        assert_eq!(subtotal, 97_000_000 + (50 + 120) * 1_000_000 + (50 + 60) * 1_000_000);
        assert_eq!(facts["lines"], json!([
            {"description": "Calls to Netherlands mobile (NL): 2 calls, 3.00 minutes", "net": 28},
            {"description": "Calls to Netherlands (NL): 2 calls, 1.62 minutes", "net": 10},
        ]));
        assert_eq!(facts["net"], 38);
        scene.end().await;
    }
}
