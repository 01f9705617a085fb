//! Live calls as the team lists and ends them, and zone quotas.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use identity::onboarding::Event;
use reqwest::Method;
use serde_json::{Value, json};
use values::{AccountId, Role};

use crate::world::client::Answer;
use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::ledger::verify;
use crate::world::fixtures::onboarding::apply_event;
use crate::world::fixtures::switch::{Scene, deny_reason, origination_call, scene_with_did};

async fn listed(scene: &Scene, query: &str) -> Vec<Value> {
    scene.admin.get(&format!("/admin/calls{query}")).await.ok()["data"].as_array().unwrap().clone()
}

async fn hang_up(scene: &Scene, token: &Value) -> Answer {
    scene
        .admin
        .with_key(key())
        .call(Method::POST, &format!("/admin/calls/{}/hangup", token.as_str().unwrap()), None)
        .await
}

/// The calls that a switch without events is told to hang up.
async fn to_end(scene: &Scene, edge: &str) -> Value {
    let told = scene.world.operations().post("/switch/events", json!({"edge_id": edge, "events": []})).await.ok();
    told["hang_up"].clone()
}

async fn set_quotas(scene: &Scene, account: &str, quotas: Value) -> Answer {
    let path = format!("/admin/customers/{account}/quotas");
    scene.admin.with_key(key()).call(Method::PUT, &path, Some(json!({"data": quotas}))).await
}

both! {
    async fn what_live_calls_hold_is_part_of_what_the_ledger_verifies(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let stored = &scene.world.node.app.db;
        assert_eq!(verify(stored).await.unwrap().open_holds, 1);
        const MORE: &str = "UPDATE live_calls SET held = held + 1";
        stored.tx((), |conn, ()| Box::pin(conn.exec(MORE, &[]))).await.unwrap();
        let fault = verify(stored).await.unwrap_err().to_string();
        assert!(fault.contains("but the open holds sum to 300000001"), "{fault}");
        const LESS: &str = "UPDATE live_calls SET held = held - 1";
        stored.tx((), |conn, ()| Box::pin(conn.exec(LESS, &[]))).await.unwrap();
        scene.send_events(json!([scene.event("failed", &token, 0, json!({}))])).await;
        assert_eq!(verify(stored).await.unwrap().open_holds, 0);
        scene.end().await;
    }

    async fn the_team_lists_live_calls(db) {
        let scene = scene_with_did(db, 10_000).await;
        let out = scene.allowed(json!({})).await["call_token"].clone();
        scene.world.advance(1).await;
        let into = scene.allowed(origination_call()).await["call_token"].clone();
        scene.send_events(json!([scene.event("answered", &out, 0, json!({"upstream_id": scene.upstream}))])).await;
        scene.world.advance(60).await;
        let all = listed(&scene, "").await;
        let ids = |calls: &[Value]| calls.iter().map(|call| call["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&all), [into.clone(), out.clone()]);
        let call = &all[1];
        let account: AccountId = scene.customer.account_id.parse().unwrap();
        for (field, expected) in [
            ("account_id", json!(account.uuid())), ("trunk_id", json!(scene.trunk)), ("edge_id", json!("edge-1")),
            ("leg", json!("termination")), ("calling", json!("+31201111111")), ("called", json!("+31201234567")),
            ("country", json!("NL")), ("destination_name", json!("Netherlands")), ("zone", json!("eu-west")),
            ("upstream_id", json!(scene.upstream)), ("reserved_seconds", json!(300)), ("hang_up", json!(false)),
        ] {
            assert_eq!(call[field], expected, "{field}");
        }
        assert!((60..63).contains(&call["seconds"].as_i64().unwrap()), "{call}");
        assert_eq!(call["reserved"]["amount_minor"], 30);
        assert_eq!((&all[0]["answered_at"], &all[0]["seconds"]), (&Value::Null, &json!(0)));

        let (trunk, stranger) = (&scene.trunk, key());
        for (query, expected) in [
            ("?leg=termination".to_owned(), vec![out.clone()]),
            ("?leg=origination".to_owned(), vec![into.clone()]),
            (format!("?account_id={account}"), vec![into.clone(), out.clone()]),
            (format!("?account_id={account}&leg=origination"), vec![into.clone()]),
            (format!("?trunk_id={trunk}&leg=termination&account_id={account}"), vec![out.clone()]),
            (format!("?trunk_id={trunk}&account_id={stranger}"), vec![]),
            (format!("?account_id={stranger}"), vec![]),
        ] {
            assert_eq!(ids(&listed(&scene, &query).await), expected, "{query}");
        }
        let first = scene.admin.get("/admin/calls?limit=1").await.ok();
        let cursor = first["meta"]["next_cursor"].as_str().unwrap();
        assert_eq!(ids(&listed(&scene, &format!("?limit=1&cursor={cursor}")).await), [out]);
        scene.end().await;
    }

    async fn a_call_ended_by_the_team_is_named_to_its_switch_until_it_ends(db) {
        let scene = Scene::start(db, 10_000).await;
        let [one, other] = [scene.allowed(json!({})).await, scene.allowed(json!({})).await].map(|it| it["call_token"].clone());
        assert_eq!(to_end(&scene, "edge-1").await, json!([]));
        assert_eq!(hang_up(&scene, &one).await.ok()["hang_up"], true);
        // The switch is told with its next events, even without any; another switch is not.
        let alive = json!([scene.event("keepalive", &other, 0, json!({}))]);
        assert_eq!(scene.send_events(alive).await["hang_up"], json!([one]));
        let both = json!([scene.event("keepalive", &other, 0, json!({})), scene.event("keepalive", &one, 0, json!({}))]);
        assert_eq!(scene.send_events(both).await["hang_up"], json!([one]));
        assert_eq!(to_end(&scene, "edge-1").await, json!([one]));
        assert_eq!(to_end(&scene, "edge-2").await, json!([]));
        assert_eq!(hang_up(&scene, &one).await.ok()["hang_up"], true);

        let ended = scene.send_events(json!([scene.event("ended", &one, 0, json!({}))])).await;
        assert_eq!(ended["hang_up"], json!([]));
        hang_up(&scene, &one).await.problem(409, "state.conflict");
        // Its CDR says so, to the team only.
        scene.send_events(json!([scene.event("ended", &other, 0, json!({}))])).await;
        for (call, by) in [(&one, json!("team")), (&other, Value::Null)] {
            let id = call.as_str().unwrap();
            assert_eq!(scene.admin.get(&format!("/admin/cdrs/{id}")).await.ok()["hung_up_by"], by);
            assert_eq!(scene.customer.get(&format!("/cdrs/{id}")).await.ok()["hung_up_by"], Value::Null);
        }
        let listed = scene.admin.get("/admin/cdrs").await.ok();
        let marked = |cdr: &&Value| cdr["hung_up_by"] == "team";
        let ids: Vec<_> = listed["data"].as_array().unwrap().iter().filter(marked).map(|cdr| &cdr["id"]).collect();
        assert_eq!(ids, [&one]);
        hang_up(&scene, &json!(key().to_string())).await.problem(404, "not_found");
        let third = scene.allowed(json!({})).await["call_token"].clone();
        let support = scene.world.minted(Role::Support).await;
        assert_eq!(support.get("/admin/calls").await.ok()["data"].as_array().unwrap().len(), 1);
        let path = format!("/admin/calls/{}/hangup", third.as_str().unwrap());
        support.with_key(key()).call(Method::POST, &path, None).await.problem(403, "auth.forbidden");
        assert!(scene.count("SELECT COUNT(*) FROM audit_log WHERE action = 'call.hang_up'").await >= 2);
        scene.end().await;
    }

    async fn a_call_hung_up_by_the_team_that_vanishes_keeps_the_mark(db) {
        let scene = Scene::start(db, 10_000).await;
        let call = scene.allowed(json!({})).await["call_token"].clone();
        scene.send_events(json!([scene.event("answered", &call, 0, json!({}))])).await;
        hang_up(&scene, &call).await.ok();
        scene.world.advance(3600).await;
        let admin = scene.world.minted(Role::Admin).await;
        let path = format!("/admin/cdrs/{}", call.as_str().unwrap());
        let closed = admin.get(&path).await.ok();
        assert_eq!((&closed["hung_up_by"], &closed["review"]), (&json!("team"), &json!(true)));
        scene.send_events(json!([scene.event("ended", &call, -3_500_000, json!({"status": "answered"}))])).await;
        let amended = admin.get(&path).await.ok();
        assert_eq!((&amended["hung_up_by"], &amended["review"]), (&json!("team"), &json!(false)), "{amended}");
        scene.end().await;
    }

    async fn all_live_calls_of_a_suspended_account_are_named_to_the_switch(db) {
        let scene = Scene::start(db, 10_000).await;
        let [one, other] = [scene.allowed(json!({})).await, scene.allowed(json!({})).await].map(|it| it["call_token"].clone());
        apply_event(&scene.world, &scene.customer, Event::Suspended).await;
        let mut expected = [one.clone(), other];
        expected.sort_by_key(|token| token.as_str().unwrap().to_owned());
        assert_eq!(to_end(&scene, "edge-1").await, json!(expected));
        let alive = json!([scene.event("keepalive", &one, 0, json!({}))]);
        assert_eq!(scene.send_events(alive).await["hang_up"], json!(expected));
        apply_event(&scene.world, &scene.customer, Event::Reinstated).await;
        assert_eq!(to_end(&scene, "edge-1").await, json!([]));
        scene.end().await;
    }

    async fn the_zone_quota_limits_concurrent_calls(db) {
        let scene = Scene::start(db, 10_000).await;
        let account = scene.customer.account_id.clone();
        let usual = json!([
            {"zone": "eu-west", "limit": 1000}, {"zone": "eu-central", "limit": 1000}, {"zone": "us-east", "limit": 1000},
        ]);
        let shown = scene.admin.get(&format!("/admin/customers/{account}/quotas")).await.ok();
        assert_eq!(shown, json!({"data": usual}));
        let set = set_quotas(&scene, &account, json!([{"zone": "eu-west", "limit": 1}])).await.ok();
        assert_eq!(set["data"][0], json!({"zone": "eu-west", "limit": 1}));
        assert_eq!(set["data"][1], usual[1]);
        scene.allowed(json!({})).await;
        assert_eq!(scene.denied(json!({})).await, deny_reason("zone_quota", 503));
        // Another zone has room of its own.
        scene.allowed(json!({"zone": "us-east"})).await;
        set_quotas(&scene, &account, json!([{"zone": "us-east", "limit": 0}])).await.ok();
        scene.allowed(json!({})).await;
        assert_eq!(scene.denied(json!({"zone": "us-east"})).await, deny_reason("zone_quota", 503));

        let twice = json!([{"zone": "eu-west", "limit": 1}, {"zone": "moon", "limit": 1}, {"zone": "eu-west", "limit": 2}]);
        assert_eq!(set_quotas(&scene, &account, twice).await.invalid(), ["data.1.zone", "data.2.zone"]);
        let negative = json!([{"zone": "eu-west", "limit": -1}]);
        assert_eq!(set_quotas(&scene, &account, negative).await.invalid(), ["data.0.limit"]);
        let several = json!([{"zone": "eu-west", "limit": -1}, {"zone": "moon", "limit": 1}, {"zone": "mars", "limit": "1"}]);
        let every_fault = ["data.0.limit", "data.1.zone", "data.2.limit", "data.2.zone"];
        assert_eq!(set_quotas(&scene, &account, several).await.invalid(), every_fault);
        set_quotas(&scene, &key().to_string(), json!([])).await.problem(404, "not_found");
        assert_eq!(set_quotas(&scene, &account, json!([])).await.ok(), json!({"data": usual}));
        scene.end().await;
    }
}
