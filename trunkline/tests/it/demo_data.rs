//! Demo data in a running service: made in the background, as a whole or not at all, beside what the team has.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use backoffice::webhook_endpoints;
use db::params;
use serde_json::{Value, json};

use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::process::Process;
use crate::world::{ADMIN_EMAIL, PASSWORD, World};

/// The address that the demo would give its own admin.
const ADA: &str = "ada@carrier.example";
const KATJA: &str = "katja@kanaal.example";
const COMPANIES: i64 = 18;

async fn status(admin: &Client) -> Value {
    admin.get("/admin/demo-data").await.ok()
}

async fn customers(db: &TestDb) -> i64 {
    let sql = "SELECT CAST(COUNT(*) AS BIGINT) FROM onboardings WHERE NOT is_carrier";
    db.read().await.unwrap().one::<(i64,)>(sql, params![]).await.unwrap().0
}

async fn lab(db: &TestDb) -> World {
    World::with(db, &[("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_SELLER_VAT_ID", "NL123456782B90")]).await
}

both! {
    async fn an_admin_fills_a_database_without_customers(db) {
        let world = lab(db).await;
        world.bootstrap(ADA).await.expect(201);
        let admin = world.sign_in(ADA).await;
        // What the team has set up stays, and does not collide.
        let upstream = json!({"name": "Own", "dispatcher_group_id": 10, "base_currency": "EUR", "markup_percent": 20});
        admin.with_key(crate::world::fixtures::key()).post("/admin/upstreams", upstream).await.expect(201);
        assert_eq!(status(&admin).await, json!({"available": true, "status": "none", "progress": 0.0, "message": null}));
        let started = admin.post("/admin/demo-data", json!({"days": 7, "calls": 400})).await.expect(202);
        assert_eq!((&started["status"], &started["available"]), (&json!("running"), &json!(false)));
        world.settle().await;
        let done = status(&admin).await;
        assert_eq!((&done["status"], &done["progress"], &done["available"]), (&json!("done"), &json!(1.0), &json!(false)));
        assert!(done["message"].as_str().unwrap().contains("18 customers"), "{done}");
        assert_eq!(customers(db).await, COMPANIES);
        assert_eq!(admin.get("/admin/upstreams").await.ok()["data"].as_array().unwrap().len(), 4);

        // The admin and the operator are who they were.
        assert_eq!(admin.get("/me").await.ok()["user"]["email"], ADA);
        let portal = world.anyone().get("/portal").await.ok();
        assert_eq!((&portal["carrier_name"], &portal["demo_password"]), (&json!("Carrier BV"), &json!(PASSWORD)));
        let emails: Vec<&str> = portal["demo_users"].as_array().unwrap().iter().map(|user| user["email"].as_str().unwrap()).collect();
        assert!(emails.contains(&KATJA) && emails.contains(&"ada.demo1@carrier.example") && !emails.contains(&ADA), "{emails:?}");
        let colleague = world.sign_in("ada.demo1@carrier.example").await;
        assert!(!colleague.get("/admin/audit-log").await.ok()["rows"].as_array().unwrap().is_empty());

        let katja = world.sign_in(KATJA).await;
        for path in ["/cdrs", "/trunks", "/numbers", "/account/ledger", "/payments/topups", "/tickets", "/events", "/cdrs/exports"] {
            assert!(!katja.get(path).await.ok()["data"].as_array().unwrap().is_empty(), "{path} is empty");
        }
        let export = katja.get("/cdrs/exports").await.ok()["data"][0]["download_url"].as_str().unwrap().to_owned();
        assert_eq!(world.anyone().get(&export).await.status, 200);
        // The service can open what the simulation sealed.
        let node = &world.node;
        let secrets = webhook_endpoints::reseal(&node.app.db, &node.app.keys).await.unwrap();
        assert_eq!((secrets.checked, secrets.unreadable), (2, 0));
        // Prices are in force at once, and time goes on.
        katja.get("/rates/lookup?number=31201234567").await.ok();
        world.advance(2 * 86_400).await;
        let admin = world.sign_in(ADA).await;
        admin.post("/admin/demo-data", json!({})).await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn demo_data_are_not_made_beside_customers(db) {
        let world = lab(db).await;
        let admin = world.admin().await;
        admin.post("/admin/demo-data", json!({"days": 6})).await.problem(422, "validation.failed");
        admin.post("/admin/demo-data", json!({"days": 7, "calls": 0})).await.expect(202);
        admin.post("/admin/demo-data", json!({})).await.problem(409, "state.conflict");
        // Whoever signs up while the work goes on stays alone.
        world.customer("cora@customer.example").await;
        world.settle().await;
        let failed = status(&admin).await;
        assert_eq!((&failed["status"], &failed["available"]), (&json!("failed"), &json!(false)));
        assert!(failed["message"].as_str().unwrap().contains("A customer has signed up"), "{failed}");
        assert_eq!(customers(db).await, 1);
        admin.post("/admin/demo-data", json!({})).await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn demo_data_that_a_killed_node_was_making_are_made_once(db) {
        let folder = tempfile::TempDir::new().unwrap();
        let settings = [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_TEST_CLOCK", "on")];
        let mut node = Process::serve(db, folder.path(), &settings);
        let token = std::fs::read_to_string(folder.path().join("secrets/bootstrap")).unwrap();
        let body = json!({"legal_name": "Carrier BV", "contact_name": "Ada", "contact_email": ADMIN_EMAIL, "password": PASSWORD});
        node.anyone().header("X-Bootstrap-Token", &token).post("/admin/bootstrap", body).await.expect(201);
        let admin = node.sign_in(ADMIN_EMAIL).await;
        admin.post("/admin/demo-data", json!({"days": 7, "calls": 100})).await.expect(202);
        while status(&admin).await["progress"].as_f64().unwrap() < 0.1 {
            assert!(node.is_running());
            tokio::task::yield_now().await;
        }
        node.kill();
        assert_eq!(customers(db).await, 0);

        let node = Process::serve(db, folder.path(), &settings);
        let admin = node.sign_in(ADMIN_EMAIL).await;
        assert_eq!(status(&admin).await["status"], "running");
        // The lease of the dead node ends, and the job begins again.
        node.advance(61).await;
        assert_eq!(status(&admin).await["status"], "done");
        assert_eq!(customers(db).await, COMPANIES);
        assert!(!folder.path().join("demo-data").exists());
    }
}
