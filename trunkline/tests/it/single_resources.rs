//! What the team lists can be read one by one, with the same fields.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::invoices::customer_with_invoice;
use crate::world::fixtures::key;
use crate::world::fixtures::numbers::{AMSTERDAM, create_group};
use crate::world::fixtures::payments::{VISA, complete_topup, save_card};

/// The first row of a list, read by its id.
async fn read_first(team: &Client, list: &str) -> Value {
    let row = team.get(list).await.ok()["data"][0].clone();
    let shown = team.get(&format!("{list}/{}", row["id"].as_str().unwrap())).await.ok();
    assert_eq!(shown, row, "{list}");
    shown
}

both! {
    async fn what_the_team_lists_can_be_read_one_by_one(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let (customer, _) = customer_with_invoice(&world, true).await;
        complete_topup(&world, &customer, 2_500).await;
        create_group(&world, &admin, 1, AMSTERDAM).await;
        let notice = json!({"severity": "info", "title": "Maintenance", "body": "On Sunday.", "starts_at": "2026-01-01T00:00:00Z"});
        admin.post("/admin/notices", notice).await.expect(201);
        let account = customer.get("/account").await.ok()["id"].clone();
        let wanted = json!({"customer_id": account, "amount": {"amount_minor": 500_000, "currency": "EUR"}, "reason": "Outage"});
        admin.with_key(key()).post("/admin/credit-requests", wanted).await.expect(201);
        let team = world.minted(Role::Support).await;
        for list in ["/admin/credit-requests", "/admin/notices", "/admin/did-inventory"] {
            read_first(&team, list).await;
        }
        let payment = read_first(&team, "/admin/payments").await;
        assert_eq!(payment["customer_name"], "Customer GmbH");
        let invoice = read_first(&team, "/admin/invoices").await;
        assert!(!invoice["lines"].as_array().unwrap().is_empty(), "{invoice}");
        assert_eq!(world.anyone().get(invoice["pdf_url"].as_str().unwrap()).await.status, 200);
        world.end().await;
    }

    async fn a_card_that_was_only_saved_is_no_payment(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        save_card(&world, &cora, VISA).await;
        let (id,): (uuid::Uuid,) = db.read().await.unwrap().one("SELECT id FROM payments", &[]).await.unwrap();
        let team = world.minted(Role::Support).await;
        team.get(&format!("/admin/payments/{id}")).await.problem(404, "not_found");
        world.end().await;
    }
}
