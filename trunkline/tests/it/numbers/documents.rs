//! Orders of numbers that need documents.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Session;
use crate::world::engines::both;
use crate::world::fixtures::documents::upload_document;
use crate::world::fixtures::key;
use crate::world::fixtures::notifications::notification_codes;
use crate::world::fixtures::numbers::{
    DOCUMENTS_REQUIRED, FIRST_MONTH_CENTS, balance_cents, count_transactions, create_group, customer_with_trunk,
    free_numbers, get_order, list_numbers, order_number,
};

const DAY: u64 = 24 * 3600;
const CORA: &str = "cora@customer.example";

/// A customer whose order waits for documents.
async fn waiting(world: &World, admin: &Session) -> (Session, Value) {
    let group = create_group(world, admin, 1, DOCUMENTS_REQUIRED).await;
    let (customer, trunk) = customer_with_trunk(world, CORA, 1000).await;
    let ordered = order_number(&customer, &group, &trunk).await.expect(201);
    assert_eq!((&ordered["status"], &ordered["did"]), (&json!("pending_documents"), &json!("+31301000000")));
    assert_eq!(balance_cents(&customer).await, 1000 - FIRST_MONTH_CENTS);
    assert_eq!(free_numbers(&world.node.app.db).await, 0);
    (customer, ordered)
}

async fn submit_documents(customer: &Session, ordered: &Value) -> String {
    let intake = ordered["compliance_intake_id"].as_str().unwrap().to_owned();
    for kind in ["proof_of_address", "director_id"] {
        upload_document(customer, &intake, kind).await;
    }
    customer.post(&format!("/compliance/intakes/{intake}/submit"), json!({})).await.ok();
    intake
}

/// Asserts that an order is fully undone, except for its history.
async fn is_undone(world: &World, customer: &Session, ordered: &Value, status: &str) -> Value {
    let ended = get_order(customer, ordered).await;
    assert_eq!((&ended["status"], &ended["did"]), (&json!(status), &json!(null)));
    let lines = customer.get("/account/ledger").await.ok();
    let back = lines["data"].as_array().unwrap().iter().find(|line| line["kind"] == "number_refund").unwrap();
    assert_eq!(back["amount"]["amount"], "6.50");
    assert_eq!(count_transactions(&world.node.app.db, "number_refund").await, 1);
    assert_eq!(free_numbers(&world.node.app.db).await, 1);
    assert!(list_numbers(customer).await.is_empty());
    ended
}

both! {
    async fn approved_documents_activate_the_number(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let (customer, ordered) = waiting(&world, &admin).await;
        let intake = submit_documents(&customer, &ordered).await;
        admin.post(&format!("/admin/compliance/intakes/{intake}/approve"), json!({})).await.ok();
        world.settle().await;
        let shown = get_order(&customer, &ordered).await;
        let steps: Vec<_> = shown["history"].as_array().unwrap().iter().map(|step| step["status"].clone()).collect();
        assert_eq!(steps, ["pending_documents", "provisioning", "active"]);
        assert_eq!(list_numbers(&customer).await[0]["regulatory"], "docs_required");
        assert_eq!(balance_cents(&customer).await, 1000 - FIRST_MONTH_CENTS);
        let cancel = format!("/numbers/orders/{}/cancel", ordered["id"].as_str().unwrap());
        customer.with_key(key()).post(&cancel, json!({})).await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn rejected_documents_fail_the_order_with_a_full_refund(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let (customer, ordered) = waiting(&world, &admin).await;
        let intake = submit_documents(&customer, &ordered).await;
        let note = json!({"note": "The address is abroad."});
        admin.post(&format!("/admin/compliance/intakes/{intake}/reject"), note).await.ok();
        world.settle().await;
        let ended = is_undone(&world, &customer, &ordered, "failed").await;
        assert!(ended["failure_reason"].as_str().unwrap().contains("The address is abroad."));
        assert_eq!(notification_codes(&customer).await, ["number.failed"]);
        world.end().await;
    }

    async fn a_waiting_order_can_be_cancelled_with_a_full_refund(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let (customer, ordered) = waiting(&world, &admin).await;
        let cancel = format!("/numbers/orders/{}/cancel", ordered["id"].as_str().unwrap());
        let cancelled = customer.with_key(key()).post(&cancel, json!({})).await.ok();
        assert_eq!(cancelled["status"], "cancelled");
        is_undone(&world, &customer, &ordered, "cancelled").await;
        customer.with_key(key()).post(&cancel, json!({})).await.problem(409, "state.conflict");
        let intake = format!("/compliance/intakes/{}", ordered["compliance_intake_id"].as_str().unwrap());
        assert_eq!(customer.get(&intake).await.ok()["status"], "rejected");
        world.end().await;
    }

    async fn an_order_without_documents_fails_after_thirty_days(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let (_, ordered) = waiting(&world, &admin).await;
        world.advance(29 * DAY).await;
        let customer = world.sign_in(CORA).await;
        assert_eq!(get_order(&customer, &ordered).await["status"], "pending_documents");
        world.advance(DAY + 3600).await;
        let customer = world.sign_in(CORA).await;
        is_undone(&world, &customer, &ordered, "failed").await;
        world.end().await;
    }

    async fn an_order_with_documents_under_review_does_not_expire(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let (customer, ordered) = waiting(&world, &admin).await;
        submit_documents(&customer, &ordered).await;
        world.advance(40 * DAY).await;
        let customer = world.sign_in(CORA).await;
        assert_eq!(get_order(&customer, &ordered).await["status"], "pending_documents");
        world.end().await;
    }
}
