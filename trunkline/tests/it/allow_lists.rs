//! Allow-lists of trunks, and the copy that switches read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::{join, join_all};
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::trunks::{allow_network, create_trunk};

async fn listed(customer: &Client, trunk: &str) -> Vec<Value> {
    let page = customer.get(&format!("{trunk}/ip-allow-list?limit=200")).await.ok();
    page["data"].as_array().unwrap().clone()
}

/// The networks that a switch reads, with their trunks.
async fn switch_sees(world: &World) -> Vec<(String, String)> {
    let config = world.operations().get("/switch/config").await.ok();
    assert_eq!(config["dispatcher"], json!([]));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let addresses = config["addresses"].as_array().unwrap().iter();
    addresses.map(|address| (text(&address["cidr"]), format!("/trunks/{}", text(&address["trunk_id"])))).collect()
}

both! {
    async fn a_network_is_listed_in_canonical_form_and_removed(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let trunk = create_trunk(&cora, "First").await;
        let first = allow_network(&cora, &trunk, "8.8.8.8").await.expect(201);
        assert_eq!(first["cidr"], "8.8.8.8/32");
        assert!(first.get("note").is_none() && first["created_at"].is_string());
        world.advance(1).await;
        let path = format!("{trunk}/ip-allow-list");
        let body = json!({"cidr": "2A00:1450::/48", "note": "Both offices"});
        let second = cora.with_key(key()).post(&path, body).await.expect(201);
        assert_eq!((&second["cidr"], &second["note"]), (&json!("2a00:1450::/48"), &json!("Both offices")));
        assert_eq!(listed(&cora, &trunk).await, [second, first.clone()]);

        let entry = format!("{path}/{}", first["id"].as_str().unwrap());
        let other = create_trunk(&cora, "Second").await;
        let elsewhere = format!("{other}/ip-allow-list/{}", first["id"].as_str().unwrap());
        cora.with_key(key()).delete(&elsewhere).await.problem(404, "not_found");
        cora.with_key(key()).delete(&entry).await.expect(204);
        cora.with_key(key()).delete(&entry).await.problem(404, "not_found");
        assert_eq!(listed(&cora, &trunk).await.len(), 1);
        allow_network(&cora, &other, "8.8.8.8").await.expect(201);
        world.end().await;
    }

    async fn a_network_that_is_not_public_is_refused_with_the_reason(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let trunk = create_trunk(&cora, "First").await;
        for (cidr, reason) in [
            ("carrier.example", "must be an IP address, or a network such as 8.8.8.0/28"),
            ("8.8.8.9/28", "has bits beyond its mask; the network is 8.8.8.0/28"),
            ("8.8.0.0/16", "must be a /24 or smaller"),
            ("2a00::/32", "must be a /48 or smaller"),
            ("::ffff:8.8.8.8", "must be written as the IPv4 address that it maps to"),
            ("127.0.0.1", "must be an address or network of the public internet"),
            ("224.0.0.1", "must be an address or network of the public internet"),
        ] {
            let refused = allow_network(&cora, &trunk, cidr).await.problem(422, "validation.failed");
            assert_eq!(refused["invalid_params"], json!([{"name": "cidr", "reason": reason}]), "{cidr}");
        }
        assert_eq!(listed(&cora, &trunk).await, Vec::<Value>::new());
        world.end().await;
    }

    async fn private_networks_can_be_allowed_by_a_setting(db) {
        let world = World::with(db, &[("TRUNKLINE_ALLOW_PRIVATE_IPS", "on")]).await;
        let cora = world.customer("cora@customer.example").await;
        let trunk = create_trunk(&cora, "First").await;
        for cidr in ["127.0.0.1", "192.168.1.0/24", "fd00::/64"] {
            allow_network(&cora, &trunk, cidr).await.expect(201);
        }
        world.end().await;
    }

    async fn an_address_belongs_to_one_trunk(db) {
        let world = World::unlimited(db).await;
        let (cora, carl) =
            (world.customer("cora@customer.example").await, world.customer("carl@customer.example").await);
        let (first, second) = (create_trunk(&cora, "First").await, create_trunk(&cora, "Second").await);
        let entry = allow_network(&cora, &first, "8.8.8.16/28").await.expect(201);
        for overlapping in ["8.8.8.16/28", "8.8.8.20", "8.8.8.0/24"] {
            for trunk in [&first, &second] {
                let refused = allow_network(&cora, trunk, overlapping).await.problem(409, "state.conflict");
                let detail = refused["detail"].as_str().unwrap();
                assert!(detail.contains("8.8.8.16/28") && detail.contains(entry["id"].as_str().unwrap()), "{detail}");
            }
        }
        let trunk = create_trunk(&carl, "Carl's").await;
        allow_network(&carl, &trunk, "8.8.8.24/29").await.expect(201);
        assert_eq!(switch_sees(&world).await, [("8.8.8.16/28".to_owned(), first)]);
        for beside in ["8.8.8.15", "8.8.8.32/27", "8.8.9.0/24", "2a00:808:810::/48"] {
            allow_network(&carl, &trunk, beside).await.expect(201);
        }
        world.end().await;
    }

    async fn of_two_customers_with_one_network_the_first_to_list_it_has_it(db) {
        let world = World::unlimited(db).await;
        let (cora, carl) =
            (world.customer("cora@customer.example").await, world.customer("carl@customer.example").await);
        let (hers, his) = (create_trunk(&cora, "Hers").await, create_trunk(&carl, "His").await);
        for round in 0..50 {
            let (wide, narrow) = (format!("8.8.{round}.0/24"), format!("8.8.{round}.128/25"));
            let (first, second) = join(allow_network(&cora, &hers, &wide), allow_network(&carl, &his, &narrow)).await;
            first.expect(201);
            second.expect(201);
        }
        assert_eq!((listed(&cora, &hers).await.len(), listed(&carl, &his).await.len()), (50, 50));
        let seen = switch_sees(&world).await;
        assert_eq!(seen.len(), 50);
        assert!(seen.iter().all(|(cidr, trunk)| cidr.ends_with("/24") == (*trunk == hers)), "{seen:?}");
        world.end().await;
    }

    async fn a_trunk_has_at_most_sixty_networks_even_under_concurrency(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let trunk = create_trunk(&cora, "First").await;
        let mut added = 0;
        for block in 0..7 {
            let networks: Vec<String> = (0..10).map(|host| format!("8.8.{block}.{host}")).collect();
            let answers = join_all(networks.iter().map(|network| allow_network(&cora, &trunk, network))).await;
            added += answers.iter().filter(|answer| answer.status == 201).count();
        }
        assert_eq!((added, listed(&cora, &trunk).await.len()), (60, 60));
        allow_network(&cora, &trunk, "8.8.8.8").await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn every_node_serves_a_changed_allow_list_to_switches_immediately(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let (first, second) = (create_trunk(&cora, "First").await, create_trunk(&cora, "Second").await);
        assert_eq!(switch_sees(&world).await, []);
        allow_network(&cora, &second, "2a00::1").await.expect(201);
        allow_network(&cora, &first, "8.8.8.0/28").await.expect(201);
        let expected = |cidr: &str, trunk: &String| (cidr.to_owned(), trunk.clone());
        let both = [expected("8.8.8.0/28", &first), expected("2a00::1/128", &second)];
        assert_eq!(switch_sees(&world).await, both);
        let version = async || world.operations().get("/switch/config").await.ok()["version"].as_i64().unwrap();
        let before = version().await;

        let other = if db.is_shared() { Some(world.another_node().await) } else { None };
        let elsewhere = other.as_ref().unwrap_or(&world);
        assert_eq!(switch_sees(elsewhere).await, both);
        cora.with_key(key()).delete(&second).await.expect(204);
        assert_eq!(switch_sees(elsewhere).await, both[..1]);
        assert!(version().await > before);
        if let Some(other) = other {
            other.stop().await;
        }
        world.end().await;
    }

    async fn the_allow_lists_need_the_switch_secret(db) {
        let world = World::start(db).await;
        let config = format!("http://{}/switch/config", world.node.ops);
        world.anyone().get(&config).await.problem(401, "auth.token_invalid");
        world.bearing("a guess").get(&config).await.problem(401, "auth.token_invalid");
        let basic = |user: &str| {
            let pair = format!("{user}:{}", world.operations().token());
            format!("Basic {}", data_encoding::BASE64.encode(pair.as_bytes()))
        };
        world.anyone().header("Authorization", &basic("switch")).get(&config).await.ok();
        world.anyone().header("Authorization", &basic("admin")).get(&config).await.problem(401, "auth.token_invalid");
        world.operations().post("/switch/config", json!({})).await.problem(405, "method_not_allowed");
        world.end().await;
    }
}
