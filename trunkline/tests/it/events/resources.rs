//! What events carry, and that it is what the description says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};

use crate::world::engines::both;
use crate::world::fixtures::events::{events, types};
use crate::world::fixtures::key;
use crate::world::fixtures::payments::complete_topup;
use crate::world::fixtures::switch::scene_with_did;
use crate::world::fixtures::tickets::ticket_body;

/// Checks an event against the schema of its type in the description.
fn check(event: &Value) {
    let document = crate::coverage::document::description();
    let mut schema = json!({"$ref": "#/components/schemas/Event"});
    schema["components"] = document["components"].clone();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let faults: Vec<String> = validator.iter_errors(event).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{event}\n{faults:?}");
}

both! {
    async fn an_event_carries_the_resource_as_its_get_answers(db) {
        let scene = scene_with_did(db, 0).await;
        let (cora, world) = (&scene.customer, &scene.world);
        complete_topup(world, cora, 5000).await;
        let ticket = cora.post("/tickets", ticket_body()).await.expect(201);
        let ticket = format!("/tickets/{}", ticket["id"].as_str().unwrap());
        scene.admin.with_key(key()).post(&format!("/admin{ticket}/messages"), json!({"body": "We look"})).await.expect(201);
        world.settle().await;
        let number = cora.get("/numbers").await.ok()["data"][0]["id"].as_str().unwrap().to_owned();
        let number = cora.get(&format!("/numbers/{number}")).await.ok();
        let seen = events(cora, "").await;
        for event in &seen {
            check(event);
        }
        let find = |kind: &str| seen.iter().rfind(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind}"));
        let order = cora.get("/numbers/orders").await.ok()["data"][0].clone();
        assert_eq!(find("number.ordered")["data"]["id"], order["id"]);
        assert_eq!(find("number.active")["data"], number);
        assert_eq!(find("topup.created")["data"]["status"], "pending");
        assert_eq!(find("topup.completed")["data"], cora.get("/payments/topups").await.ok()["data"][0]);
        assert_eq!(find("ticket.replied")["data"], cora.get(&ticket).await.ok());
        assert!(!types(&seen).contains(&"ticket.reply"));

        cora.with_key(key()).delete(&format!("/numbers/{}", number["id"].as_str().unwrap())).await.expect(204);
        let customer = format!("/admin/customers/{}", cora.account_id);
        scene.admin.patch(&customer, json!({"onboarding_status": "suspended", "reason": "Unpaid"})).await.ok();
        world.settle().await;
        let later = events(cora, "").await.split_off(seen.len());
        later.iter().for_each(check);
        assert_eq!(types(&later), ["number.released", "account.status_changed", "account.suspended"]);
        assert_eq!(later[0]["data"], number);
        assert_eq!(later[1]["data"], cora.get("/account").await.ok());
        scene.end().await;
    }
}
