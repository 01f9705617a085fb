//! Refunds of number orders after their month was invoiced.

use serde_json::{Value, json};
use values::{AccountId, Money, Role};

use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::documents::upload_document;
use crate::world::fixtures::invoices::{
    account_id, advance_to_next_month, balance, call_charge, eur, euros, now, post_entry,
};
use crate::world::fixtures::key;
use crate::world::fixtures::numbers::{DOCUMENTS_REQUIRED, create_group, customer_with_trunk, order_number};

const CORA: &str = "cora@customer.example";

/// A customer with this balance in cents, calls of this many euros, and a number order of 6.50 EUR under review.
struct Waiting {
    account: AccountId,
    intake: String,
}

async fn waiting(world: &World, cents: i64, calls: i64) -> Waiting {
    let admin = world.admin().await;
    let group = create_group(world, &admin, 1, DOCUMENTS_REQUIRED).await;
    let (customer, trunk) = customer_with_trunk(world, CORA, cents).await;
    let ordered = order_number(&customer, &group, &trunk).await.expect(201);
    let intake = ordered["compliance_intake_id"].as_str().unwrap().to_owned();
    for kind in ["proof_of_address", "director_id"] {
        upload_document(&customer, &intake, kind).await;
    }
    customer.post(&format!("/compliance/intakes/{intake}/submit"), json!({})).await.ok();
    let account = account_id(&customer);
    if calls > 0 {
        post_entry(world, call_charge(account, euros(calls)), now(world)).await;
    }
    Waiting { account, intake }
}

/// The documents are rejected, so the order fails.
async fn reject(world: &World, waiting: &Waiting) {
    let admin = world.minted(Role::Admin).await;
    admin.post(&format!("/admin/compliance/intakes/{}/reject", waiting.intake), json!({"note": "No."})).await.ok();
    world.settle().await;
}

async fn invoices(world: &World) -> Vec<Value> {
    world.sign_in(CORA).await.get("/invoices").await.ok()["data"].as_array().unwrap().clone()
}

/// Has the team void or credit an invoice.
async fn take_back(world: &World, invoice: &Value, how: &str) -> Value {
    let admin = world.minted(Role::Admin).await.with_key(key());
    let path = format!("/admin/invoices/{}/{how}", invoice["id"].as_str().unwrap());
    admin.post(&path, json!({"reason": "a mistake"})).await.ok()
}

/// An account with an unpaid invoice of a number order and calls of 100, and one of the next month, with the refund and
/// as many calls.
async fn invoiced_twice(world: &World) -> AccountId {
    let waiting = waiting(world, 650, 100).await;
    advance_to_next_month(world).await;
    reject(world, &waiting).await;
    post_entry(world, call_charge(waiting.account, euros(100)), now(world)).await;
    advance_to_next_month(world).await;
    assert_eq!(balance(world, waiting.account).await, cents(650 - 20_000 - 2_237 - 1_964));
    waiting.account
}

fn cents(cents: i64) -> Money {
    eur(cents * 10_000_000)
}

both! {
    async fn what_a_credit_note_returned_is_not_refunded_again(db) {
        let world = World::unlimited(db).await;
        let waiting = waiting(&world, 10_000, 0).await;
        advance_to_next_month(&world).await;
        assert_eq!(balance(&world, waiting.account).await, cents(10_000 - 650 - 137));
        take_back(&world, &invoices(&world).await[0], "credit").await;
        assert_eq!(balance(&world, waiting.account).await, cents(10_000));
        reject(&world, &waiting).await;
        assert_eq!(balance(&world, waiting.account).await, cents(10_000));
        advance_to_next_month(&world).await;
        assert_eq!((balance(&world, waiting.account).await, invoices(&world).await.len()), (cents(10_000), 1));
        world.end().await;
    }

    async fn a_credit_note_leaves_out_what_was_refunded(db) {
        let world = World::unlimited(db).await;
        let waiting = waiting(&world, 100_000, 100).await;
        advance_to_next_month(&world).await;
        assert_eq!(balance(&world, waiting.account).await, cents(100_000 - 10_650 - 2_237));
        reject(&world, &waiting).await;
        take_back(&world, &invoices(&world).await[0], "credit").await;
        // The VAT of the refund is a matter of the month it was made in.
        assert_eq!(balance(&world, waiting.account).await, cents(100_000 - 137));
        let (facts,): (String,) = db.read().await.unwrap().one("SELECT facts FROM credit_notes", &[]).await.unwrap();
        let facts: Value = serde_json::from_str(&facts).unwrap();
        assert_eq!((&facts["net"], &facts["vat"], &facts["paid"]), (&json!(10_000), &json!(2_100), &json!(12_100)));
        assert_eq!(facts["lines"].as_array().unwrap().last().unwrap()["net"], -650);
        advance_to_next_month(&world).await;
        assert_eq!(balance(&world, waiting.account).await, cents(100_000));
        world.end().await;
    }

    async fn a_fully_refunded_invoice_cannot_be_credited(db) {
        let world = World::unlimited(db).await;
        let waiting = waiting(&world, 10_000, 0).await;
        advance_to_next_month(&world).await;
        reject(&world, &waiting).await;
        let invoice = invoices(&world).await[0]["id"].as_str().unwrap().to_owned();
        let admin = world.minted(Role::Admin).await.with_key(key());
        let refused = admin.post(&format!("/admin/invoices/{invoice}/credit"), json!({"reason": "a mistake"})).await;
        refused.problem(409, "state.conflict");
        advance_to_next_month(&world).await;
        assert_eq!(balance(&world, waiting.account).await, cents(10_000));
        world.end().await;
    }

    async fn the_vat_of_a_refund_is_returned_at_its_original_rate(db) {
        let world = World::unlimited(db).await;
        let waiting = waiting(&world, 100_000, 0).await;
        advance_to_next_month(&world).await;
        let admin = world.minted(Role::Admin).await;
        let path = format!("/admin/customers/{}", waiting.account.uuid());
        admin.patch(&path, json!({"vat_treatment": "outside_scope"})).await.ok();
        reject(&world, &waiting).await;
        post_entry(&world, call_charge(waiting.account, euros(100)), now(&world)).await;
        advance_to_next_month(&world).await;
        let listed = invoices(&world).await;
        assert_eq!((&listed[0]["subtotal"]["amount"], &listed[0]["vat"]["amount"]), (&json!("93.50"), &json!("-1.37")));
        assert_eq!(balance(&world, waiting.account).await, cents(90_000));
        world.end().await;
    }

    async fn vat_returned_by_a_void_is_not_returned_by_a_refund_again(db) {
        let world = World::unlimited(db).await;
        let waiting = waiting(&world, 650, 0).await;
        advance_to_next_month(&world).await;
        take_back(&world, &invoices(&world).await[0], "void").await;
        assert_eq!(balance(&world, waiting.account).await, cents(0));
        reject(&world, &waiting).await;
        advance_to_next_month(&world).await;
        assert_eq!((balance(&world, waiting.account).await, invoices(&world).await.len()), (cents(650), 1));
        world.end().await;
    }

    async fn a_refund_of_a_later_voided_invoice_is_on_no_invoice(db) {
        let world = World::unlimited(db).await;
        let waiting = waiting(&world, 650, 0).await;
        advance_to_next_month(&world).await;
        reject(&world, &waiting).await;
        assert_eq!(balance(&world, waiting.account).await, cents(650 - 137));
        take_back(&world, &invoices(&world).await[0], "void").await;
        advance_to_next_month(&world).await;
        assert_eq!((balance(&world, waiting.account).await, invoices(&world).await.len()), (cents(650), 1));
        world.end().await;
    }

    async fn a_refunds_vat_is_returned_once_if_both_invoices_are_void(db) {
        let world = World::unlimited(db).await;
        let account = invoiced_twice(&world).await;
        take_back(&world, &invoices(&world).await[1], "void").await;
        // The later one has given it back.
        assert_eq!(balance(&world, account).await, cents(650 - 20_000 - 1_964 - 137));
        take_back(&world, &invoices(&world).await[0], "void").await;
        assert_eq!(balance(&world, account).await, cents(650 - 20_000));
        world.end().await;
    }

    async fn a_refunds_vat_returns_with_the_first_invoice_if_the_later_is_void(db) {
        let world = World::unlimited(db).await;
        let account = invoiced_twice(&world).await;
        for invoice in invoices(&world).await {
            take_back(&world, &invoice, "void").await;
        }
        assert_eq!(balance(&world, account).await, cents(650 - 20_000));
        world.end().await;
    }

    async fn a_refunds_vat_returns_once_if_the_first_is_void_and_the_later_credited(db) {
        let world = World::unlimited(db).await;
        let account = invoiced_twice(&world).await;
        let listed = invoices(&world).await;
        take_back(&world, &listed[1], "void").await;
        take_back(&world, &listed[0], "credit").await;
        assert_eq!(balance(&world, account).await, cents(650 - 20_000 + 9_350));
        world.end().await;
    }

    async fn a_refunds_vat_returns_with_the_first_invoice_if_the_later_is_credited(db) {
        let world = World::unlimited(db).await;
        let account = invoiced_twice(&world).await;
        let listed = invoices(&world).await;
        take_back(&world, &listed[0], "credit").await;
        take_back(&world, &listed[1], "void").await;
        assert_eq!(balance(&world, account).await, cents(650 - 20_000 + 9_350));
        world.end().await;
    }

    async fn a_void_invoices_vat_returns_once_if_a_later_one_is_void_too(db) {
        let world = World::unlimited(db).await;
        let waiting = waiting(&world, 650, 0).await;
        advance_to_next_month(&world).await;
        take_back(&world, &invoices(&world).await[0], "void").await;
        reject(&world, &waiting).await;
        post_entry(&world, call_charge(waiting.account, euros(100)), now(&world)).await;
        advance_to_next_month(&world).await;
        take_back(&world, &invoices(&world).await[0], "void").await;
        assert_eq!(balance(&world, waiting.account).await, cents(650 - 10_000));
        world.end().await;
    }
}
