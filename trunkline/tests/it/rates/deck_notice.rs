//! Increases that come from a rate deck reach a customer when its notice ends.

use reqwest::Method;
use serde_json::{Value, json};
use values::{Rfc3339, Role};

use crate::world::World;
use crate::world::client::{Client, Session};
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, rfc3339};
use crate::world::fixtures::key;
use crate::world::fixtures::rate_plans::{assign_plan, create_plan};
use crate::world::fixtures::rates::{DECK_HEADER, WAIVED, import_deck, prefixes, upload_deck, upstream_with_deck};
use crate::world::fixtures::switch::{CALL_DECK, Scene, deny_reason, trunk_with_source};
use crate::world::fixtures::upstreams::update_upstream;
use crate::world::process;

const DAY: i64 = 86_400_000;
const DUTCH: &str = "31201234567";
const BRITISH: &str = "442071234567";
const OTHER_SOURCE: &str = "8.8.4.8";

/// A customer whose plan is the list, which is twice the cost, and one that pays the cost and half of it. The plan of
/// the first has no notice, so that the default counts.
async fn scene(db: &TestDb) -> (Scene, Session) {
    let scene = Scene::start(db, 100_000).await;
    update_upstream(&scene.admin, &scene.upstream, json!({"markup_percent": 100})).await.ok();
    let carl = scene.world.customer("carl@customer.example").await;
    scene.world.top_up(&carl.account_id, 100_000).await;
    trunk_with_source(&carl, json!({}), OTHER_SOURCE).await;
    for (customer, plan) in [
        (&scene.customer, json!({"base": "list", "markup_pct": 0, "notice_days": 0})),
        (&carl, json!({"base": "cost", "markup_pct": 50})),
    ] {
        let plan = create_plan(&scene.admin, plan).await;
        assign_plan(&scene.admin, &customer.account_id, Some(&plan), json!({})).await.ok();
    }
    scene.world.advance(60).await;
    (scene, carl)
}

/// The deck with another rate to the Netherlands.
fn deck(rate: &str) -> String {
    CALL_DECK.replace("31,Netherlands,NL,0.06,", &format!("31,Netherlands,NL,{rate},"))
}

/// Imports a deck, and returns when.
async fn import(scene: &Scene, query: &str, deck: &str) -> i64 {
    let report = import_deck(&scene.world, &scene.admin, &scene.upstream, query, deck).await;
    assert_eq!(report["status"], "completed", "{report}");
    scene.now()
}

async fn rate(customer: &Client, number: &str) -> Value {
    customer.get(&format!("/rates/lookup?number={number}")).await.ok()
}

async fn amount(customer: &Client, number: &str) -> String {
    rate(customer, number).await["rate_per_minute"]["amount"].as_str().unwrap().to_owned()
}

/// What a number of each kind costs.
async fn amounts(customer: &Client) -> Vec<String> {
    let mut amounts = Vec::new();
    for number in ["31699999999", "31612345678", "32512345"] {
        amounts.push(amount(customer, number).await);
    }
    amounts
}

async fn listed(customer: &Client) -> Vec<String> {
    let page = customer.get("/rates").await.ok();
    prefixes(&page).into_iter().map(str::to_owned).collect()
}

fn millis(time: &Value) -> i64 {
    serde_json::from_value::<Rfc3339>(time.clone()).unwrap().0.millis()
}

/// Whether a time is this many days after the import, which took less than a minute.
fn is_days_after(time: &Value, imported: i64, days: i64) -> bool {
    (0..60_000).contains(&(imported + days * DAY - millis(time)))
}

both! {
    async fn a_dearer_deck_reaches_customers_on_plans_when_their_notice_ends(db) {
        let (scene, carl) = scene(db).await;
        let begun = scene.allowed(json!({})).await["call_token"].clone();
        let dearer = deck("0.1").replace("GB,0.6,", "GB,0.5,");
        let imported = import(&scene, "", &dearer).await;
        // A decrease counts at once.
        assert_eq!((amount(&scene.customer, BRITISH).await, amount(&carl, BRITISH).await), ("1.00".to_owned(), "0.75".to_owned()));
        assert_eq!(rate(&scene.customer, BRITISH).await["held_until"], Value::Null);
        assert_eq!((amount(&scene.customer, DUTCH).await, amount(&carl, DUTCH).await), ("0.12".to_owned(), "0.09".to_owned()));
        let until = rate(&scene.customer, DUTCH).await["held_until"].clone();
        assert!(is_days_after(&until, imported, 7), "{until}");
        let listed = scene.customer.get("/rates?prefix=31").await.ok();
        assert_eq!((&listed["data"][0]["rate_per_minute"]["amount"], &listed["data"][0]["held_until"]), (&json!("0.12"), &until));
        let exported = String::from_utf8(scene.customer.get("/rates/export").await.bytes).unwrap();
        assert!(exported.lines().any(|row| row.starts_with("31,NL,Netherlands,0.12,")), "{exported}");
        let simulate = async |at: &Value| {
            let body = json!({"trunk_id": scene.trunk, "called": format!("+{DUTCH}"), "at": at});
            scene.customer.post("/calls/simulate", body).await.ok()["rate"]["amount"].clone()
        };
        let last_moment = json!(rfc3339(millis(&until) - 1));
        assert_eq!((simulate(&last_moment).await, simulate(&until).await), (json!("0.12"), json!("0.20")));

        // The margin guard drops what costs more than the price that holds.
        let during = scene.allowed(json!({})).await["call_token"].clone();
        assert_eq!(scene.denied(json!({"source_ip": OTHER_SOURCE})).await, deny_reason("no_route", 503));
        let routes = async |query: String| scene.admin.get(&format!("/admin/routes?number={DUTCH}{query}")).await.ok();
        let list = routes(String::new()).await;
        assert_eq!((&list["price"]["amount"], &list["held_until"]), (&json!("0.20"), &Value::Null));
        let own = routes(format!("&customer_id={}", scene.customer.account_id)).await;
        assert_eq!((&own["price"]["amount"], &own["candidates"][0]["reason"]), (&json!("0.12"), &json!("cheapest")));
        let planned = routes(format!("&customer_id={}", carl.account_id)).await;
        assert_eq!((&planned["price"]["amount"], &planned["candidates"][0]["reason"]), (&json!("0.09"), &json!("over_price")));
        assert_eq!(planned["held_until"], until);

        scene.world.advance(120).await;
        let ended = json!({"answered_at": scene.now() - 60_000, "at": scene.now()});
        scene.send_events(json!([scene.event("ended", &begun, 0, ended.clone()), scene.event("ended", &during, 0, ended)])).await;
        assert_eq!((scene.cdr(&begun).await.unwrap().2, scene.cdr(&during).await.unwrap().2), (120_000_000, 120_000_000));
        let proof = async |token: &Value| scene.admin.get(&format!("/admin/cdrs/{}", token.as_str().unwrap())).await.ok();
        let (before, held) = (proof(&begun).await, proof(&during).await);
        assert_eq!(held["source"]["rate_per_minute"]["amount"], "0.06", "{held}");
        assert_eq!(held["source"]["deck_id"], before["source"]["deck_id"], "the price is that of the deck before");

        scene.world.advance(7 * 86_400).await;
        let cora = scene.world.sign_in("cora@customer.example").await;
        let carl = scene.world.sign_in("carl@customer.example").await;
        assert_eq!((amount(&cora, DUTCH).await, amount(&carl, DUTCH).await), ("0.20".to_owned(), "0.15".to_owned()));
        assert_eq!(rate(&cora, DUTCH).await["held_until"], Value::Null);
        scene.allowed(json!({"source_ip": OTHER_SOURCE})).await;
        // Calls that are imported late have the price of their time, and it can be explained.
        let lines = [("late", imported + DAY), ("new", scene.now() - 100_000)];
        import_cdrs(&scene.world, &lines.map(|(id, began)| cdr_line(&scene, id, began, 60, json!({})))).await;
        let team = scene.world.minted(Role::Admin).await;
        let page = team.get("/admin/cdrs").await.ok();
        for (id, price, cost) in [("late", "0.12", "0.06"), ("new", "0.20", "0.10")] {
            let cdr = page["data"].as_array().unwrap().iter().find(|cdr| cdr["call_id"] == id).unwrap();
            let shown = team.get(&format!("/admin/cdrs/{}", cdr["id"].as_str().unwrap())).await.ok();
            assert_eq!((&shown["price"]["charge"]["amount"], &shown["source"]["rate_per_minute"]["amount"]), (&json!(price), &json!(cost)), "{shown}");
        }
        scene.end().await;
    }

    async fn what_comes_within_the_notice_never_costs_more_than_was_promised(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let rows = "316,Netherlands mobile,NL,0.02\n32,Belgium,BE,0.05\n325,Liege,BE,0.01\n";
        let upstream = upstream_with_deck(&world, &admin, "A", "EUR", 0.0, rows).await;
        let cora = world.customer("cora@customer.example").await;
        let plan = create_plan(&admin, json!({})).await;
        assign_plan(&admin, &cora.account_id, Some(&plan), json!({})).await.ok();
        // A rate rises, a longer prefix is carved out, another is taken away.
        let rows = "316,Netherlands mobile,NL,0.04\n31612,Netherlands premium,NL,0.06\n32,Belgium,BE,0.05\n";
        import_deck(&world, &admin, &upstream, "", &format!("{DECK_HEADER}{rows}")).await;
        assert_eq!(amounts(&cora).await, ["0.02", "0.02", "0.01"]);
        assert_eq!(listed(&cora).await, ["316", "31612", "32", "325"]);
        world.advance(3 * 86_400).await;
        let admin = world.minted(Role::Admin).await;
        let rows = "316,Netherlands mobile,NL,0.03\n31612,Netherlands premium,NL,0.01\n32,Belgium,BE,0.05\n";
        import_deck(&world, &admin, &upstream, "", &format!("{DECK_HEADER}{rows}")).await;
        let cora = world.sign_in("cora@customer.example").await;
        assert_eq!(amounts(&cora).await, ["0.02", "0.01", "0.01"]);
        world.advance(4 * 86_400 + 60).await;
        // The first deck was announced a week ago, and the second is not dearer than it.
        let cora = world.sign_in("cora@customer.example").await;
        assert_eq!(amounts(&cora).await, ["0.03", "0.01", "0.05"]);
        assert_eq!(listed(&cora).await, ["316", "31612", "32"]);
        world.end().await;
    }

    async fn a_notice_names_the_day_and_a_waived_deck_counts_at_once(db) {
        let (scene, carl) = scene(db).await;
        let path = format!("/admin/customers/{}/rate-plan", carl.account_id);
        scene.admin.with_key(key()).call(Method::PUT, &path, Some(json!({"notice_days": 30}))).await.ok();
        let imported = import(&scene, "", &deck("0.1")).await;
        for (customer, days) in [(&scene.customer, 7), (&carl, 30)] {
            let notice = customer.get("/price-notices").await.ok()["data"][0].clone();
            assert!(is_days_after(&notice["to"], imported, days), "{notice}");
            assert_eq!(notice["increased"], 1);
            assert_eq!(rate(customer, DUTCH).await["held_until"], notice["to"]);
            let file = customer.get(&format!("/price-notices/{}/file", notice["id"].as_str().unwrap())).await;
            let file = String::from_utf8(file.bytes).unwrap();
            let row = file.lines().nth(1).unwrap();
            assert!(row.starts_with("31,NL,Netherlands,increased,") && row.ends_with(notice["to"].as_str().unwrap()), "{row}");
        }
        let refused = async |query: &str| upload_deck(&scene.admin, &scene.upstream, query, &deck("0.11")).await.invalid();
        assert_eq!(refused("?waive_notice=true").await, ["waive_notice"]);
        assert_eq!(refused("?reason=agreed").await, ["reason"]);
        let report = import_deck(&scene.world, &scene.admin, &scene.upstream, WAIVED, &deck("0.11")).await;
        assert_eq!(report["waive_reason"], "agreed");
        assert_eq!((amount(&scene.customer, DUTCH).await, amount(&carl, DUTCH).await), ("0.22".to_owned(), "0.165".to_owned()));
        let log = scene.admin.get("/admin/audit-log?action=deck.import").await.ok();
        assert!(log["rows"][0]["meta"].as_str().unwrap().contains("\"waive_notice\":\"agreed\""), "{log}");
        scene.end().await;
    }

    async fn without_a_plan_decks_count_at_once_unless_a_notice_was_agreed(db) {
        let scene = Scene::start(db, 100_000).await;
        let carl = scene.world.customer("carl@customer.example").await;
        import(&scene, "", &deck("0.07")).await;
        let agreed = json!({"notice_days": 3});
        assign_plan(&scene.admin, &carl.account_id, None, agreed).await.ok();
        // An agreement holds nothing that came before it.
        assert_eq!((amount(&scene.customer, DUTCH).await, amount(&carl, DUTCH).await), ("0.07".to_owned(), "0.07".to_owned()));
        scene.world.advance(60).await;
        let imported = import(&scene, "", &deck("0.1")).await;
        for (customer, price, days) in [(&scene.customer, "0.10", 0), (&carl, "0.07", 3)] {
            let (rate, notice) = (rate(customer, DUTCH).await, customer.get("/price-notices").await.ok()["data"][0].clone());
            assert_eq!(rate["rate_per_minute"]["amount"], price);
            assert!(is_days_after(&notice["to"], imported, days), "{notice}");
            assert_eq!(rate["held_until"], if days == 0 { Value::Null } else { notice["to"].clone() });
        }
        let routes = scene.admin.get(&format!("/admin/routes?number={DUTCH}")).await.ok();
        assert_eq!((&routes["price"]["amount"], &routes["held_until"]), (&json!("0.10"), &Value::Null));
        scene.world.advance(3 * 86_400).await;
        let carl = scene.world.sign_in("carl@customer.example").await;
        assert_eq!((amount(&carl, DUTCH).await, &rate(&carl, DUTCH).await["held_until"]), ("0.10".to_owned(), &Value::Null));
        scene.end().await;
    }

    async fn a_held_price_is_not_lifted_by_ending_the_plan(db) {
        let (scene, carl) = scene(db).await;
        import(&scene, "", &deck("0.07")).await;
        // The list price is higher than the one that holds.
        let refused = assign_plan(&scene.admin, &scene.customer.account_id, None, json!({})).await;
        assert_eq!(refused.invalid(), ["effective_at"]);
        let waived = json!({"waive_notice": true, "reason": "agreed by mail"});
        assign_plan(&scene.admin, &scene.customer.account_id, None, waived).await.ok();
        assert_eq!((amount(&scene.customer, DUTCH).await, amount(&carl, DUTCH).await), ("0.14".to_owned(), "0.09".to_owned()));
        scene.end().await;
    }

    async fn the_notice_of_a_deck_can_be_waived_on_the_command_line(db) {
        let (scene, _) = scene(db).await;
        let folder = scene.world.data_folder().to_owned();
        let file = folder.join("deck.csv");
        std::fs::write(&file, deck("0.1")).unwrap();
        let settings = [("TRUNKLINE_MASTER_SECRET", crate::world::MASTER_SECRET)];
        let waiver = "--waive-notice=agreed by mail";
        let arguments = ["rates", "import", "--upstream", &scene.upstream, waiver, file.to_str().unwrap()];
        let done = tokio::task::block_in_place(|| process::run(db, &folder, &settings, &arguments));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(amount(&scene.customer, DUTCH).await, "0.20");
        let log = scene.admin.get("/admin/audit-log?action=deck.import").await.ok();
        let is_noted = |row: &Value| row["meta"].as_str().unwrap().contains("\"waive_notice\":\"agreed by mail\"");
        assert!(log["rows"].as_array().unwrap().iter().any(is_noted), "{log}");
        scene.end().await;
    }

    async fn a_shorter_notice_counts_for_decks_that_come_after_it(db) {
        let (scene, carl) = scene(db).await;
        import(&scene, "", &deck("0.07")).await;
        let path = format!("/admin/customers/{}/rate-plan", scene.customer.account_id);
        scene.admin.with_key(key()).call(Method::PUT, &path, Some(json!({"notice_days": 0}))).await.ok();
        // What was announced with a week of notice keeps it.
        assert_eq!((amount(&scene.customer, DUTCH).await, amount(&carl, DUTCH).await), ("0.12".to_owned(), "0.09".to_owned()));
        scene.world.advance(60).await;
        import(&scene, "", &deck("0.08")).await;
        assert_eq!((amount(&scene.customer, DUTCH).await, amount(&carl, DUTCH).await), ("0.16".to_owned(), "0.09".to_owned()));
        scene.end().await;
    }
}
