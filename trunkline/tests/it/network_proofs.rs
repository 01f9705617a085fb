//! Proof that a network on an allow-list is the customer's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use platform::crypto::sip_digest;
use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::switch::call_request;
use crate::world::fixtures::trunks::{allow_network, create_trunk};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};
use crate::world::outbox::Mail;

const STRICT: [(&str, &str); 2] = [("TRUNKLINE_ALLOW_LIST_PROOF", "on"), ("TRUNKLINE_RATE_LIMITS", "off")];

/// What a switch is told about a request to the user `verify`.
async fn ask(world: &World, source: &str, authorization: Option<&str>) -> Value {
    let mut request = json!({"edge_id": "edge-1", "source_ip": source, "method": "OPTIONS"});
    if let Some(header) = authorization {
        request["authorization"] = json!(header);
    }
    world.operations().post("/switch/verify", request).await.ok()
}

/// The outcome of a request from this address, signed for an entry with a password, after its challenge.
async fn prove_with(world: &World, source: &str, entry: &Value, password: &str) -> String {
    let challenge = ask(world, source, None).await;
    assert_eq!((&challenge["outcome"], &challenge["sip_code"]), (&json!("challenge"), &json!(401)));
    let challenge = challenge["www_authenticate"].as_str().unwrap();
    let username = entry["proof"]["username"].as_str().unwrap_or("nobody");
    let header = sip_digest::respond(challenge, "OPTIONS", "sip:verify@edge", username, password).unwrap();
    ask(world, source, Some(&header)).await["outcome"].as_str().unwrap().to_owned()
}

async fn prove(world: &World, source: &str, entry: &Value) -> String {
    prove_with(world, source, entry, entry["proof"]["password"].as_str().unwrap()).await
}

async fn vouch(admin: &Client, trunk: &str, entry: &Value) -> Answer {
    let path = format!("/admin{trunk}/ip-allow-list/{}/verify", entry["id"].as_str().unwrap());
    admin.with_key(key()).post(&path, json!({})).await
}

/// Why a call from this address is denied.
async fn deny_reason(world: &World, source: &str) -> Value {
    let answer = world.operations().post("/switch/authorize", call_request(json!({"source_ip": source}))).await.ok();
    answer["reason"].clone()
}

async fn entry(customer: &Client, trunk: &str) -> Value {
    customer.get(&format!("{trunk}/ip-allow-list")).await.ok()["data"][0].clone()
}

both! {
    async fn a_network_that_another_customer_has_is_answered_like_a_free_one(db) {
        let world = World::with(db, &STRICT).await;
        let (cora, carl) = (world.customer("cora@customer.example").await, world.customer("carl@customer.example").await);
        let (hers, his) = (create_trunk(&cora, "Hers").await, create_trunk(&carl, "His").await);
        let entry = allow_network(&cora, &hers, "8.8.8.8").await.expect(201);
        assert_eq!(prove(&world, "8.8.8.8", &entry).await, "verified");
        let shape = |mut answer: Value| {
            for name in ["id", "cidr", "created_at"] {
                assert!(answer[name].take().is_string());
            }
            assert_eq!(answer["proof"].take().as_object().unwrap().len(), 2);
            answer
        };
        let taken = allow_network(&carl, &his, "8.8.8.8").await.expect(201);
        let free = allow_network(&carl, &his, "8.8.8.9").await.expect(201);
        assert_eq!(shape(taken), shape(free));
        world.end().await;
    }

    async fn a_network_counts_once_it_was_proved_from_there(db) {
        let world = World::with(db, &STRICT).await;
        let cora = world.customer("cora@customer.example").await;
        let trunk = create_trunk(&cora, "First").await;
        let listed = allow_network(&cora, &trunk, "8.8.8.8").await.expect(201);
        assert_eq!((&listed["status"], &listed["verified_at"]), (&json!("pending"), &Value::Null));
        assert_eq!(deny_reason(&world, "8.8.8.8").await, "source_not_allowed");
        assert_eq!(world.operations().get("/switch/config").await.ok()["addresses"], json!([]));

        assert_eq!(prove_with(&world, "8.8.8.8", &listed, "a guess").await, "refused");
        assert_eq!(prove(&world, "8.8.8.9", &listed).await, "refused");
        // Whoever spoofs the address does not see the challenge, and one for another address does not count.
        let elsewhere = ask(&world, "8.8.8.9", None).await;
        let (user, password) = (listed["proof"]["username"].as_str().unwrap(), listed["proof"]["password"].as_str().unwrap());
        let challenge = elsewhere["www_authenticate"].as_str().unwrap();
        let header = sip_digest::respond(challenge, "OPTIONS", "sip:verify@edge", user, password).unwrap();
        assert_eq!(ask(&world, "8.8.8.8", Some(&header)).await["outcome"], "challenge");
        let challenge = ask(&world, "8.8.8.8", None).await;
        let challenge = challenge["www_authenticate"].as_str().unwrap();
        let header = sip_digest::respond(challenge, "OPTIONS", "sip:verify@edge", user, password).unwrap();
        world.advance(61).await;
        assert_eq!(ask(&world, "8.8.8.8", Some(&header)).await["outcome"], "challenge");
        assert_eq!(deny_reason(&world, "8.8.8.8").await, "source_not_allowed");

        for _ in 0..2 {
            assert_eq!(prove(&world, "8.8.8.8", &listed).await, "verified");
        }
        assert_eq!(deny_reason(&world, "8.8.8.8").await, "destination_not_priced");
        let proved = entry(&cora, &trunk).await;
        assert_eq!((&proved["status"], &proved["proof"]), (&json!("verified"), &Value::Null));
        assert!(proved["verified_at"].is_string());
        world.end().await;
    }

    async fn the_first_of_two_customers_to_prove_a_network_has_it(db) {
        let world = World::with(db, &STRICT).await;
        let admin = world.admin().await.into_client();
        let (cora, carl) = (world.customer("cora@customer.example").await, world.customer("carl@customer.example").await);
        let (hers, his) = (create_trunk(&cora, "Hers").await, create_trunk(&carl, "His").await);
        let squatted = allow_network(&cora, &hers, "8.8.8.8").await.expect(201);
        let owned = allow_network(&carl, &his, "8.8.8.8").await.expect(201);
        assert_eq!(prove(&world, "8.8.8.8", &owned).await, "verified");
        assert_eq!(prove(&world, "8.8.8.8", &squatted).await, "refused");
        let addresses = world.operations().get("/switch/config").await.ok()["addresses"].clone();
        assert_eq!(addresses, json!([{"cidr": "8.8.8.8/32", "trunk_id": his.strip_prefix("/trunks/").unwrap()}]));
        let refused = vouch(&admin, &hers, &squatted).await.problem(409, "resource.in_use");
        assert!(refused["detail"].as_str().unwrap().contains(owned["id"].as_str().unwrap()), "{refused}");
        // Once it is free, she may have it.
        let path = format!("{his}/ip-allow-list/{}", owned["id"].as_str().unwrap());
        carl.with_key(key()).delete(&path).await.expect(204);
        assert_eq!(deny_reason(&world, "8.8.8.8").await, "source_not_allowed");
        assert_eq!(prove(&world, "8.8.8.8", &squatted).await, "verified");
        assert_eq!(deny_reason(&world, "8.8.8.8").await, "destination_not_priced");
        world.end().await;
    }

    async fn the_team_deletes_a_verified_network_and_its_customer_is_told(db) {
        let world = World::with(db, &STRICT).await;
        let admin = world.admin().await.into_client();
        let (cora, carl) = (world.customer("cora@customer.example").await, world.customer("carl@customer.example").await);
        let (hers, his) = (create_trunk(&cora, "Hers").await, create_trunk(&carl, "His").await);
        let former = allow_network(&cora, &hers, "8.8.8.8").await.expect(201);
        let owned = allow_network(&carl, &his, "8.8.8.8").await.expect(201);
        assert_eq!(prove(&world, "8.8.8.8", &former).await, "verified");
        assert_eq!(prove(&world, "8.8.8.8", &owned).await, "refused");

        let path = format!("/admin{hers}/ip-allow-list/{}", former["id"].as_str().unwrap());
        for caller in [(*cora).clone(), world.minted(Role::Support).await] {
            caller.with_key(key()).delete(&path).await.problem(403, "auth.forbidden");
        }
        let elsewhere = format!("/admin{his}/ip-allow-list/{}", former["id"].as_str().unwrap());
        admin.with_key(key()).delete(&elsewhere).await.problem(404, "not_found");
        admin.with_key(key()).delete(&path).await.expect(204);
        admin.with_key(key()).delete(&path).await.problem(404, "not_found");
        assert_eq!(deny_reason(&world, "8.8.8.8").await, "source_not_allowed");
        assert_eq!(prove(&world, "8.8.8.8", &owned).await, "verified");

        assert_eq!(cora.get(&format!("{hers}/ip-allow-list")).await.ok()["data"], json!([]));
        let told = cora.get("/notifications").await.ok()["data"][0].clone();
        let trunk_id = hers.strip_prefix("/trunks/").unwrap();
        assert_eq!((&told["code"], &told["severity"]), (&json!("allow_list.entry_removed"), &json!("critical")));
        assert_eq!(told["payload"], json!({"trunk_id": trunk_id, "trunk_name": "Hers", "cidr": "8.8.8.8/32"}));
        let mails = world.mails().await;
        let is_told = |mail: &&Mail| mail.subject == "Calls from 8.8.8.8/32 are no longer accepted";
        let to: Vec<_> = mails.iter().filter(is_told).map(|mail| mail.to.clone()).collect();
        assert_eq!(to, ["cora@customer.example"]);
        let log = admin.get(&format!("/admin/audit-log?account_id={}", cora.account_id)).await.ok();
        let is_logged = |row: &Value| {
            let meta = row["meta"].as_str().unwrap_or_default();
            row["action"] == "ip_allow_list.remove_by_team" && row["outcome"] == "success" && meta.contains("8.8.8.8/32")
        };
        assert!(log["rows"].as_array().unwrap().iter().any(is_logged), "{log}");
        world.end().await;
    }

    async fn one_request_proves_no_wider_network_and_the_team_vouches_for_it(db) {
        let world = World::with(db, &STRICT).await;
        let admin = world.admin().await.into_client();
        let cora = world.customer("cora@customer.example").await;
        let trunk = create_trunk(&cora, "First").await;
        let wide = allow_network(&cora, &trunk, "8.8.8.0/29").await.expect(201);
        assert_eq!(prove(&world, "8.8.8.1", &wide).await, "refused");
        let shown = admin.get(&format!("/admin{trunk}")).await.ok();
        assert_eq!((&shown["allow_list"][0]["id"], &shown["allow_list"][0]["verified_at"]), (&wide["id"], &Value::Null));
        assert!(vouch(&admin, &trunk, &wide).await.ok()["verified_at"].is_string());
        vouch(&admin, &trunk, &wide).await.ok();
        assert_eq!(deny_reason(&world, "8.8.8.1").await, "destination_not_priced");
        // A network of an upstream is nobody's, however it was listed.
        let early = allow_network(&cora, &trunk, "8.8.9.9").await.expect(201);
        let mut body = upstream_body();
        body["signaling_ips"] = json!(["8.8.9.0/24"]);
        create_upstream(&admin, body).await;
        assert_eq!(prove(&world, "8.8.9.9", &early).await, "refused");
        vouch(&admin, &trunk, &early).await.problem(409, "resource.in_use");
        world.end().await;
    }

    async fn a_network_that_is_vouched_for_twice_at_once_is_verified(db) {
        let world = World::with(db, &STRICT).await;
        let admin = world.admin().await;
        let customer = world.minted(Role::Customer).await;
        let trunk = create_trunk(&customer, "Trunk").await;
        for round in 1..=5 {
            let entry = allow_network(&customer, &trunk, &format!("8.8.8.{round}")).await.expect(201);
            let (first, second) = tokio::join!(vouch(&admin, &trunk, &entry), vouch(&admin, &trunk, &entry));
            assert!(first.expect(200)["verified_at"].is_string());
            assert!(second.expect(200)["verified_at"].is_string());
        }
        world.end().await;
    }
}
