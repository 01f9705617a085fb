//! Demo data: what `trunkline demo` creates, and what each screen shows of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use platform::app::App;
use platform::config::Settings;
use platform::outside::payments::Provider;
use reqwest::Method;
use serde_json::{Value, json};
use server::demo::{self, LiveCalls, Options, TickSummary};
use server::serve;

use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::{BOOTSTRAP_TOKEN, JWT_SECRET, MASTER_SECRET, SWITCH_SECRET, World};

const ADMIN: &str = "ada@carrier.example";
const CUSTOMER: &str = "katja@kanaal.example";
/// The customer whose programs use the API.
const INTEGRATOR: &str = "theo@thames.example";

/// The secrets of every world, so that a world can continue from the demo data.
fn settings(db: &TestDb, folder: &Path) -> Settings {
    let names = [
        ("TRUNKLINE_LISTEN", "127.0.0.1:0"),
        ("TRUNKLINE_OPS_LISTEN", "127.0.0.1:0"),
        ("TRUNKLINE_BOOTSTRAP_TOKEN", BOOTSTRAP_TOKEN),
        ("TRUNKLINE_SWITCH_SECRET", SWITCH_SECRET),
        ("TRUNKLINE_JWT_SECRET", JWT_SECRET),
        ("TRUNKLINE_MASTER_SECRET", MASTER_SECRET),
    ];
    let names = names.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let mut settings = Settings::from_names(names, std::collections::BTreeMap::new()).unwrap();
    settings.data_dir = folder.to_owned();
    settings.database_url = Some(db.url.clone());
    settings
}

fn options() -> Options {
    Options { days: demo::MIN_DAYS, calls: 1500, seed: 7, password: demo::PASSWORD.to_owned() }
}

/// What a list has on its first page.
async fn listed(client: &Client, path: &str) -> Vec<Value> {
    let page = client.get(path).await.ok();
    let rows = ["data", "items", "rows"].into_iter().find_map(|name| page[name].as_array());
    rows.unwrap_or_else(|| panic!("{path} is no list: {page}")).clone()
}

async fn demand_rows(client: &Client, paths: &[&str]) {
    for path in paths {
        assert!(!listed(client, path).await.is_empty(), "{path} is empty");
    }
}

/// Lets calls come and go for some minutes.
async fn call_for_a_while(world: &World) -> TickSummary {
    let service = format!("http://{}", world.node.ops);
    let mut live = LiveCalls::new(&service, SWITCH_SECRET.to_owned(), 60, 7).unwrap();
    let mut sum = TickSummary::default();
    for _ in 0..6 {
        let turn = live.tick(world.node.app.clock.now()).await.unwrap();
        sum.started += turn.started;
        for (reason, calls) in turn.denied {
            *sum.denied.entry(reason).or_default() += calls;
        }
        sum.ended += turn.ended;
        sum.live = turn.live;
        world.advance(30).await;
    }
    sum
}

both! {
    async fn demo_data_fills_every_screen_and_verifies(db) {
        let folder = tempfile::tempdir().unwrap();
        let filled = demo::fill(serve::start_simulated, settings(db, folder.path()), &options(), |_| {}).await.unwrap();
        assert!((500..2000).contains(&filled.calls), "{}", filled.calls);
        let refused = demo::fill(serve::start_simulated, settings(db, folder.path()), &options(), |_| {}).await.err().unwrap();
        assert!(refused.to_string().contains("an empty database"), "{refused}");
        let real_money = Settings { payments: Provider::Revolut, ..settings(db, folder.path()) };
        let refused = App::open(real_money).await.err().unwrap().to_string();
        assert!(refused.contains("sandbox payments only"), "{refused}");

        let world = World::with(db, &[
            ("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_SELLER_VAT_ID", "NL123456782B90"),
        ]).await;
        let admin = world.sign_in(ADMIN).await;
        demand_rows(&admin, &[
            "/admin/customers", "/admin/customers?onboarding_status=suspended", "/admin/onboarding", "/admin/account-managers",
            "/admin/tickets", "/admin/notices", "/admin/users", "/admin/audit-log", "/admin/beta?status=beta_signup",
            "/admin/beta?status=beta_card_pending", "/admin/beta?status=beta_waitlist", "/admin/beta?status=beta_approved",
            "/admin/beta?status=beta_declined", "/admin/beta?status=live", "/admin/kyb?status=submitted",
            "/admin/kyb?status=rejected", "/admin/compliance/intakes", "/admin/upstreams", "/admin/did-inventory",
            "/admin/rates", "/admin/cdrs", "/admin/payments", "/admin/disputes?status=open",
            "/admin/disputes?status=credited", "/admin/chargebacks?status=open", "/admin/chargebacks?status=lost",
        ]).await;
        assert_eq!(listed(&admin, "/admin/rate-plans").await.len(), 3);
        let upstreams = listed(&admin, "/admin/upstreams").await;
        let (mut held, mut statements) = (Vec::new(), Vec::new());
        for upstream in &upstreams {
            let path = format!("/admin/upstreams/{}", upstream["id"].as_str().unwrap());
            let imports = listed(&admin, &format!("{path}/imports")).await;
            held.extend(imports.into_iter().filter(|import| import["status"] == "held"));
            statements.extend(listed(&admin, &format!("{path}/statements")).await);
        }
        assert_eq!(held.len(), 1, "one deck waits for a decision: {held:?}");
        let [statement] = statements.as_slice() else { panic!("one statement: {statements:?}") };
        for kind in ["only_ours", "only_theirs", "duration_differs", "rate_differs", "matched"] {
            assert!(statement["totals"][kind]["count"].as_i64() > Some(0), "no call is {kind}: {statement}");
        }
        let katja = world.sign_in(CUSTOMER).await;
        demand_rows(&katja, &[
            "/notifications", "/tickets", "/notices", "/payments/topups", "/payments/methods", "/account/ledger", "/trunks",
            "/numbers", "/numbers/inventory", "/numbers/orders", "/rates", "/cdrs?leg=termination", "/cdrs?leg=origination", "/cdrs/exports", "/compliance/intakes",
        ]).await;
        let theo = world.sign_in(INTEGRATOR).await;
        demand_rows(&theo, &["/account/api-keys"]).await;
        let endpoints = listed(&theo, "/webhook-endpoints").await;
        // Nothing of the demo is sent to addresses that others may have one day.
        assert!(endpoints.len() == 2 && endpoints.iter().all(|endpoint| endpoint["enabled"] == false), "{endpoints:?}");
        let records = listed(&admin, "/admin/cdrs?limit=1000").await;
        for status in ["answered", "busy", "no_answer"] {
            assert!(records.iter().any(|record| record["status"] == status), "nothing was {status}");
        }

        // New calls continue after the generated history; those of the suspended account are refused.
        let sum = call_for_a_while(&world).await;
        assert!(sum.started > 60 && sum.ended > 20 && sum.denied.keys().eq(["account_not_active"]) && sum.live > 0, "{sum:?}");

        // The month ends, and everybody who called has an invoice.
        world.advance(32 * 86_400).await;
        let admin = world.sign_in(ADMIN).await;
        demand_rows(&admin, &["/admin/invoices"]).await;
        world.end().await;
    }
}

#[tokio::test]
async fn demo_calls_come_only_from_demo_accounts() {
    TestDb::sqlite()
        .await
        .run(async |db| {
            let world =
                World::with(db, &[("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_ALLOW_PRIVATE_IPS", "on")]).await;
            let cora = world.customer("cora@customer.example").await;
            let trunk = cora.with_key(crate::world::payer::fresh_key());
            let made =
                trunk.post("/trunks", json!({"name": "Main", "zone": "eu-west", "channel_cap": 10})).await.expect(201);
            let path = format!("/trunks/{}/ip-allow-list", made["id"].as_str().unwrap());
            let allow = cora.with_key(crate::world::payer::fresh_key());
            allow.call(Method::POST, &path, Some(json!({"cidr": "192.0.2.200"}))).await.expect(201);
            assert_eq!(call_for_a_while(&world).await, TickSummary::default());
            world.end().await;
        })
        .await;
}
