//! Why a call cost what it cost.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use billing::invoices::{self, IssueRequest, Month};
use reqwest::Method;
use serde_json::{Value, json};
use values::{AccountId, Currency, Role};

use super::{call_ids, line, take_in, vain};
use crate::coverage::examples::key;
use crate::decks::{import, upstream};
use crate::switch::Scene;
use crate::upstreams::{change, wanted};
use crate::world::engines::both;

const GERMANY: &str =
    "prefix,destination_name,country,rate_per_minute,connect_fee,billing_increment_seconds,minimum_seconds
49,Germany,DE,0.02,0.01,6,30
";

both! {
    async fn a_call_shows_the_row_of_the_deck_that_its_price_follows_from_even_when_all_has_changed_since(db) {
        let scene = Scene::start(db, 10_000).await;
        let rates = json!({"base": "EUR", "date": "2026-01-02", "rates": {"USD": "1.25"}});
        scene.admin.with_key(key()).call(Method::PUT, "/admin/fx-rates", Some(rates)).await.ok();
        let mut body = wanted();
        (body["markup_percent"], body["base_currency"]) = (json!(25), json!("USD"));
        let german = upstream(&scene.admin, body).await;
        assert_eq!(import(&scene.world, &scene.admin, &german, "", GERMANY).await["status"], "completed");
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        let lines = [
            line(&scene, "charged", began, 31, json!({"called": "+4930123456", "upstream_id": german})),
            vain(&scene, "free", began + 1, json!({"called": "+4930123456"})),
            line(&scene, "inbound", began + 2, 5, json!({"leg": "origination"})),
        ];
        take_in(&scene.world, &lines).await;
        // Afterwards nothing is as it was.
        let admin = scene.world.minted(Role::Admin).await;
        change(&admin, &german, json!({"markup_percent": 90})).await.ok();
        let dearer = GERMANY.replace("0.02", "0.5");
        assert_eq!(import(&scene.world, &admin, &german, "", &dearer).await["status"], "completed");
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

    async fn an_invoice_has_a_line_for_each_destination_and_adds_up_to_what_the_ledger_took(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        take_in(&scene.world, &[
            line(&scene, "a", began, 90, json!({})),
            line(&scene, "b", began + 1, 7, json!({})),
            line(&scene, "c", began + 2, 61, json!({"called": "+31612345678"})),
            vain(&scene, "d", began + 3, json!({"called": "+442071234567"})),
        ]).await;
        let token = scene.allowed(json!({"called": "+31612345678"})).await["call_token"].clone();
        let now = scene.now();
        let ended = json!({"answered_at": now - 3000, "at": now});
        scene.tell(json!([scene.event("ended", &token, 0, ended)])).await;
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
