//! Calls leave an upstream that fails for a destination, and come back when it has recovered.

use reqwest::Method;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Answer;
use crate::world::engines::{TestDb, both, postgres};
use crate::world::fixtures::key;
use crate::world::fixtures::metrics::Scrape;
use crate::world::fixtures::rates::{DECK_HEADER, import_deck};
use crate::world::fixtures::switch::{Scene, call_request, merged};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};

const DUTCH: &str = "+31201234567";
const BRITISH: &str = "+442012345678";
const POLICIES: &str = "/admin/routing-policies";

/// A scene with three upstreams: the first (group 10) is the cheapest, the second (20) 5 % dearer, the third (30) more.
async fn start(db: &TestDb) -> (Scene, [String; 3]) {
    let scene = Scene::start(db, 1_000_000).await;
    // The margin guard lets a call of any length pay for the dearest of them.
    let path = format!("/admin/upstreams/{}", scene.upstream);
    scene.admin.with_key(key()).patch(&path, json!({"markup_percent": 100})).await.ok();
    let mut upstreams = vec![scene.upstream.clone()];
    for (group, deck) in [
        (20, "31,Netherlands,NL,0.063\n44,United Kingdom,GB,0.63\n"),
        (30, "31,Netherlands,NL,0.09\n44,United Kingdom,GB,0.9\n"),
    ] {
        let mut body = upstream_body();
        (body["markup_percent"], body["dispatcher_group_id"]) = (json!(100), json!(group));
        let id = create_upstream(&scene.admin, body).await;
        let report = import_deck(&scene.world, &scene.admin, &id, "", &format!("{DECK_HEADER}{deck}")).await;
        assert_eq!(report["status"], "completed", "{report}");
        upstreams.push(id);
    }
    let caps = json!({
        "max_spend_per_day": {"amount": "100000", "currency": "EUR"},
        "max_rate_per_minute": {"amount": "10", "currency": "EUR"},
    });
    scene.customer.call(Method::PUT, "/fraud-caps", Some(caps)).await.ok();
    (scene, upstreams.try_into().unwrap())
}

/// The dispatcher groups that a call would try, in order. The call is given up before it reaches any of them.
async fn groups(scene: &Scene, called: &str) -> Vec<i64> {
    let allowed = scene.allowed(json!({"called": called})).await;
    scene.send_events(json!([scene.event("failed", &allowed["call_token"], 0, json!({"sip_code": 487}))])).await;
    allowed["groups"].as_array().unwrap().iter().map(|group| group.as_i64().unwrap()).collect()
}

/// A call that the first of its routes does not take; the next one answers. Returns the groups that it was given.
async fn call_with_503(scene: &Scene, called: &str) -> Vec<i64> {
    let allowed = scene.allowed(json!({"called": called})).await;
    let (token, routes) = (&allowed["call_token"], allowed["routes"].as_array().unwrap());
    let failed = json!({"upstream_id": routes[0]["upstream_id"], "sip_code": 503});
    let taken = json!({"upstream_id": routes[1]["upstream_id"], "answered_at": scene.now()});
    let told = scene
        .send_events(json!([scene.event("attempt_failed", token, 0, failed), scene.event("ended", token, 0, taken)]))
        .await;
    assert_eq!(told["accepted"], 2, "{told}");
    routes.iter().map(|route| route["dispatcher_group_id"].as_i64().unwrap()).collect()
}

/// A call that this upstream answers after this delay, or not at all. It lasts for a minute.
async fn call_by(scene: &Scene, called: &str, upstream: &str, pdd: i64, is_answered: bool) {
    let token = scene.allowed(json!({"called": called})).await["call_token"].clone();
    let now = scene.now();
    let times = json!({"upstream_id": upstream, "sent_at": now - 10_000 - pdd, "ringing_at": now - 10_000, "at": now});
    let event = if is_answered {
        scene.event("ended", &token, 0, merged(times, json!({"answered_at": now - 60_000})))
    } else {
        scene.event("failed", &token, 0, merged(times, json!({"sip_code": 480})))
    };
    let told = scene.send_events(json!([event])).await;
    assert_eq!(told["accepted"], 1, "{told}");
}

/// What the team sees of the route to a number by an upstream.
async fn route(scene: &Scene, called: &str, upstream: &str) -> Value {
    let path = format!("/admin/routes?number={}", called.trim_start_matches('+'));
    let routes = scene.admin.get(&path).await.ok();
    let candidates = routes["candidates"].as_array().unwrap();
    candidates.iter().find(|one| one["upstream_id"] == upstream).unwrap().clone()
}

async fn put_policies(scene: &Scene, policies: Value) -> Answer {
    scene.admin.call(Method::PUT, POLICIES, Some(policies)).await
}

async fn set_policies(scene: &Scene, default: Value, destinations: Value) {
    put_policies(scene, json!({"default": default, "destinations": destinations})).await.ok();
}

both! {
    async fn a_destination_with_503_moves_to_the_next_upstream_within_ten_calls(db) {
        let (scene, [first, second, _]) = start(db).await;
        let mut tried = 0;
        for _ in 0..10 {
            tried += i32::from(call_with_503(&scene, DUTCH).await[0] == 10);
        }
        // The breaker of the second has opened, too: it failed for the calls that came to it first.
        assert_eq!(tried, 5);
        assert_eq!(groups(&scene, DUTCH).await, [30, 10, 20]);
        // The other destination stays.
        assert_eq!(groups(&scene, BRITISH).await, [10, 20, 30]);
        let shown = route(&scene, DUTCH, &first).await;
        assert_eq!((&shown["place"], &shown["state"], &shown["attempts"]), (&json!(2), &json!("open"), &json!(5)), "{shown}");
        assert_eq!((&shown["kept"], &shown["reason"], &shown["asr"]), (&json!(true), &json!("cheapest"), &json!(0.0)), "{shown}");
        assert!(shown["explanation"].as_str().unwrap().contains("circuit breaker"), "{shown}");
        let shown = route(&scene, BRITISH, &first).await;
        assert_eq!((&shown["place"], &shown["state"]), (&json!(1), &json!("healthy")), "{shown}");
        assert_eq!(scene.admin.get("/admin/inbox").await.ok()["open_breakers"], 2);
        assert_eq!(Scrape::of(&scene.world).await.value("trunkline_route_breakers_open"), 2.0);
        // The team is told, of each once.
        scene.world.settle().await;
        let events = scene.admin.get("/admin/events?limit=200").await.ok();
        let opened: Vec<&Value> =
            events["data"].as_array().unwrap().iter().filter(|one| one["type"] == "route.breaker_opened").collect();
        assert_eq!(opened.len(), 2, "{events}");
        assert_eq!(opened[0]["data"]["destination_name"], "Netherlands");
        let named = [&first, &second].map(|id| opened.iter().any(|one| one["data"]["upstream_id"] == **id));
        assert_eq!(named, [true, true]);
        scene.end().await;
    }

    async fn an_upstream_that_has_recovered_gets_its_destination_back(db) {
        let (scene, [first, ..]) = start(db).await;
        for _ in 0..5 {
            call_with_503(&scene, DUTCH).await;
        }
        assert_eq!(groups(&scene, DUTCH).await, [20, 30, 10]);
        scene.world.advance(15).await;
        assert_eq!(groups(&scene, DUTCH).await, [20, 30, 10]);
        // One call is let through; it fails, so the others wait again.
        scene.world.advance(15).await;
        assert_eq!(call_with_503(&scene, DUTCH).await, [10, 20, 30]);
        assert_eq!(groups(&scene, DUTCH).await, [20, 30, 10]);
        scene.world.advance(30).await;
        let token = scene.allowed(json!({"called": DUTCH})).await;
        assert_eq!(token["groups"], json!([10, 20, 30]));
        assert_eq!(route(&scene, DUTCH, &first).await["state"], "half_open");
        assert_eq!(groups(&scene, DUTCH).await, [20, 30, 10]);
        let answered = scene.event("answered", &token["call_token"], 0, json!({"upstream_id": first}));
        scene.send_events(json!([answered])).await;
        assert_eq!(groups(&scene, DUTCH).await, [10, 20, 30]);
        assert_eq!(route(&scene, DUTCH, &first).await["state"], "healthy");
        assert_eq!(scene.admin.get("/admin/inbox").await.ok()["open_breakers"], 0);
        let closed = scene.count("SELECT COUNT(*) FROM events WHERE kind = 'route.breaker_closed'").await;
        assert_eq!(closed, 1);
        scene.end().await;
    }

    async fn busy_callees_and_repeated_reports_open_no_breaker(db) {
        let (scene, [first, ..]) = start(db).await;
        for code in [486, 404, 480, 487, 603] {
            for _ in 0..3 {
                let token = scene.allowed(json!({"called": DUTCH})).await["call_token"].clone();
                let failed = json!({"upstream_id": first, "sip_code": code});
                scene.send_events(json!([scene.event("failed", &token, 0, failed)])).await;
            }
        }
        // One failure that is reported again and again is one failure.
        let token = scene.allowed(json!({"called": DUTCH})).await["call_token"].clone();
        let failed = scene.event("attempt_failed", &token, 0, json!({"upstream_id": first, "sip_code": 408}));
        for _ in 0..10 {
            assert_eq!(scene.send_events(json!([failed])).await["accepted"], 1);
        }
        // A failure after ringing is not the upstream's.
        for _ in 0..6 {
            let token = scene.allowed(json!({"called": DUTCH})).await["call_token"].clone();
            let failed = json!({"upstream_id": first, "sip_code": 500, "ringing_at": scene.now()});
            scene.send_events(json!([scene.event("failed", &token, 0, failed)])).await;
        }
        let shown = route(&scene, DUTCH, &first).await;
        assert_eq!((&shown["state"], &shown["attempts"]), (&json!("healthy"), &json!(22)), "{shown}");
        let nameless = scene.send_events(json!([scene.event("attempt_failed", &token, 0, json!({}))])).await;
        assert_eq!(nameless["rejected"][0]["reason"], "upstream_id is missing");
        scene.end().await;
    }

    async fn a_route_below_the_floor_is_demoted_until_it_recovers(db) {
        let (scene, [first, ..]) = start(db).await;
        let floor = json!({"routing_policy": "cheapest", "min_asr_pct": 40, "min_attempts": 10});
        set_policies(&scene, json!({"routing_policy": "cheapest"}), json!([{"prefix": "31", "rules": floor}])).await;
        for number in 0..10 {
            for called in [DUTCH, BRITISH] {
                call_by(&scene, called, &first, 1500, number < 3).await;
            }
        }
        let shown = route(&scene, DUTCH, &first).await;
        assert_eq!((&shown["state"], &shown["place"]), (&json!("demoted"), &json!(3)), "{shown}");
        assert_eq!((&shown["asr"], &shown["acd_seconds"], &shown["pdd_ms"]), (&json!(0.3), &json!(60), &json!(1500)));
        assert!(shown["explanation"].as_str().unwrap().contains("below 40 %"), "{shown}");
        assert_eq!(groups(&scene, BRITISH).await, [10, 20, 30]);
        // One of twenty calls tries it.
        let mut probes = 0;
        for _ in 0..40 {
            probes += i32::from(groups(&scene, DUTCH).await[0] == 10);
        }
        assert_eq!(probes, 2);
        for _ in 0..5 {
            call_by(&scene, DUTCH, &first, 1500, true).await;
        }
        assert_eq!(groups(&scene, DUTCH).await, [10, 20, 30]);
        assert_eq!(route(&scene, DUTCH, &first).await["state"], "healthy");
        scene.end().await;
    }

    async fn policies_order_routes_by_quality_and_cost(db) {
        let (scene, [first, second, third]) = start(db).await;
        for number in 0..20 {
            for (upstream, answered) in [(&first, 8), (&second, 12), (&third, 18)] {
                call_by(&scene, DUTCH, upstream, 1000, number < answered).await;
            }
        }
        assert_eq!(groups(&scene, DUTCH).await, [10, 20, 30]);
        set_policies(&scene, json!({"routing_policy": "quality"}), json!([])).await;
        assert_eq!(groups(&scene, DUTCH).await, [30, 20, 10]);
        assert_eq!(groups(&scene, BRITISH).await, [10, 20, 30]);
        let shown = route(&scene, DUTCH, &third).await;
        assert_eq!((&shown["place"], &shown["reason"]), (&json!(1), &json!("within_price")), "{shown}");
        set_policies(&scene, json!({"routing_policy": "balanced"}), json!([])).await;
        assert_eq!(groups(&scene, DUTCH).await, [20, 10, 30]);
        let by_name = json!([{"destination_name": "Netherlands", "rules": {"routing_policy": "cheapest"}}]);
        set_policies(&scene, json!({"routing_policy": "quality"}), by_name).await;
        assert_eq!(groups(&scene, DUTCH).await, [10, 20, 30]);
        scene.end().await;
    }

    async fn no_policy_brings_back_what_the_margin_guard_dropped(db) {
        let (scene, [first, second, third]) = start(db).await;
        for upstream in [&first, &second, &third] {
            let path = format!("/admin/upstreams/{upstream}");
            scene.admin.with_key(key()).patch(&path, json!({"markup_percent": 10})).await.ok();
        }
        for _ in 0..20 {
            call_by(&scene, DUTCH, &first, 1000, false).await;
        }
        let floor = json!({"routing_policy": "quality", "min_asr_pct": 90});
        set_policies(&scene, floor, json!([])).await;
        assert_eq!(groups(&scene, DUTCH).await, [20, 10]);
        let shown = route(&scene, DUTCH, &third).await;
        assert_eq!((&shown["kept"], &shown["reason"], &shown["place"]), (&json!(false), &json!("over_price"), &Value::Null));
        // The last route stays, however bad it is.
        let path = format!("/admin/upstreams/{second}");
        scene.admin.with_key(key()).patch(&path, json!({"status": "disabled"})).await.ok();
        assert_eq!(groups(&scene, DUTCH).await, [10]);
        scene.end().await;
    }

    async fn routing_policies_are_checked_versioned_and_audited(db) {
        let scene = Scene::start(db, 100).await;
        let found = scene.admin.get(POLICIES).await;
        let default = json!({
            "routing_policy": "cheapest", "min_asr_pct": null, "min_acd_seconds": null, "max_pdd_ms": null, "min_attempts": 20,
        });
        assert_eq!(found.ok(), json!({"default": default, "destinations": []}));
        let cheapest = json!({"routing_policy": "cheapest"});
        let rules = |prefix: Value, name: Value| json!({"prefix": prefix, "destination_name": name, "rules": cheapest});
        let twice = json!([
            rules(json!("31"), Value::Null), rules(json!("31"), Value::Null), rules(json!("44"), json!("UK")),
            rules(Value::Null, Value::Null),
        ]);
        let refused = put_policies(&scene, json!({"default": cheapest, "destinations": twice})).await;
        assert_eq!(refused.invalid(), ["destinations.1.prefix", "destinations.2.prefix", "destinations.3.prefix"]);
        let refused = put_policies(&scene, json!({"default": {"routing_policy": "best", "min_asr_pct": 101}})).await;
        assert_eq!(refused.invalid(), ["default.min_asr_pct", "default.routing_policy"]);
        let wanted = json!({"default": {"routing_policy": "balanced", "min_asr_pct": 30}, "destinations": [rules(json!("31"), Value::Null)]});
        let saved = put_policies(&scene, wanted.clone()).await.ok();
        assert_eq!(scene.admin.get(POLICIES).await.ok(), saved);
        assert_eq!(saved["default"]["min_asr_pct"], 30);
        scene.admin.header("if-match", "\"stale\"").call(Method::PUT, POLICIES, Some(wanted)).await.expect(412);
        let rows = scene.admin.get("/admin/audit-log?action=routing_policies.update").await.ok();
        let row = rows["rows"].as_array().unwrap().iter().find(|row| row["outcome"] == "success").unwrap();
        let meta: Value = serde_json::from_str(row["meta"].as_str().unwrap()).unwrap();
        assert_eq!(meta["default"]["to"]["routing_policy"], "balanced", "{row}");
        assert_eq!(meta["added"]["number"], 1, "{row}");
        scene.end().await;
    }

    async fn what_a_node_knows_of_routes_survives_its_restart(db) {
        let (scene, [first, ..]) = start(db).await;
        for _ in 0..5 {
            call_with_503(&scene, DUTCH).await;
        }
        call_by(&scene, BRITISH, &first, 2000, true).await;
        let Scene { world, admin: _, customer, upstream, trunk } = scene;
        let ahead = world.seconds();
        let world = world.restart_with(&[]).await;
        let behind = u64::try_from((ahead - world.seconds()).max(0)).unwrap();
        world.advance(behind).await;
        let admin = world.sign_in(crate::world::ADMIN_EMAIL).await.into_client();
        let scene = Scene { world, admin, customer, upstream, trunk };
        assert_eq!(route(&scene, DUTCH, &first).await["state"], "open");
        let shown = route(&scene, BRITISH, &first).await;
        assert_eq!((&shown["attempts"], &shown["pdd_ms"]), (&json!(1), &json!(2000)), "{shown}");
        assert_eq!(groups(&scene, DUTCH).await, [20, 30, 10]);
        scene.end().await;
    }
}

/// Has both nodes write what they counted and read what the other did.
async fn exchange(nodes: [&World; 2]) {
    for node in [nodes[0], nodes[1], nodes[0]] {
        let app = &node.node.app;
        app.route_quality.exchange(&app.db, app.clock.now()).await.unwrap();
    }
}

postgres! {
    async fn nodes_share_counts_and_breakers_of_routes(db) {
        let (scene, [first, ..]) = start(db).await;
        let other = scene.world.another_node().await;
        for _ in 0..5 {
            call_with_503(&scene, DUTCH).await;
        }
        call_by(&scene, BRITISH, &first, 1000, true).await;
        exchange([&scene.world, &other]).await;
        let answer = other.operations().post("/switch/authorize", call_request(json!({"called": DUTCH}))).await.ok();
        assert_eq!(answer["groups"], json!([20, 30, 10]), "{answer}");
        let admin = other.sign_in(crate::world::ADMIN_EMAIL).await;
        let shown = admin.get(&format!("/admin/routes?number={}", &BRITISH[1..])).await.ok();
        let shown = shown["candidates"].as_array().unwrap().iter().find(|one| one["upstream_id"] == first).unwrap().clone();
        assert_eq!(shown["attempts"], 1, "{shown}");
        // The other node sees the recovery, and this one learns of it.
        let answered = scene.event("answered", &answer["call_token"], 0, json!({"upstream_id": first}));
        other.operations().post("/switch/events", json!({"events": [answered]})).await.ok();
        exchange([&scene.world, &other]).await;
        assert_eq!(groups(&scene, DUTCH).await, [10, 20, 30]);
        assert_eq!(route(&scene, DUTCH, &first).await["attempts"], 6);
        // A policy that was set here is in force there within a second.
        put_policies(&scene, json!({"default": {"routing_policy": "quality"}})).await.ok();
        let is_known = || {
            let policies = other.node.app.routing_policies.latest()?;
            Some(policies.of("31".parse().ok()?, "").1.routing_policy.as_str() == "quality")
        };
        while is_known() != Some(true) {
            tokio::task::yield_now().await;
        }
        other.end().await;
        scene.end().await;
    }
}
