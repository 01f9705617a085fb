//! Impersonation: an admin reads as a customer, and every read is audited.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::client::{Answer, Client, Session};
use crate::world::engines::both;
use crate::world::fixtures::tickets::ticket_body;
use crate::world::form::{Form, pdf};

async fn impersonate(admin: &Client, account: &str) -> Answer {
    admin.post(&format!("/admin/customers/{account}/impersonate"), json!({"reason": "Ticket 7"})).await
}

async fn eyes(world: &World, admin: &Client, customer: &Session) -> Client {
    let answer = impersonate(admin, &customer.account_id).await;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    world.bearing(answer.ok()["access_token"].as_str().unwrap())
}

both! {
    async fn an_impersonating_admin_reads_as_the_customer_and_is_audited(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.admin().await, world.customer("cora@customer.example").await);
        Form::document("other", "passport.pdf", &pdf("")).post(&cora, "/me/kyb/documents").await.expect(201);
        let given = impersonate(&admin, &cora.account_id).await.ok();
        assert_eq!(given["scope"], "read_only");
        assert_eq!(given.as_object().unwrap().len(), 3);
        let eyes = world.bearing(given["access_token"].as_str().unwrap());
        for path in ["/account", "/me/account", "/account/balance", "/me/kyb", "/compliance/intakes", "/tickets"] {
            let (seen, own) = (eyes.get(path).await.ok(), cora.get(path).await.ok());
            assert_eq!(seen, own, "{path}");
            // Documents are listed, but cannot be downloaded.
            assert!(!seen.to_string().contains("/v1/files/"), "{path}");
        }
        eyes.post("/tickets", ticket_body()).await.problem(403, "auth.forbidden");
        eyes.patch("/account", json!({"company_name": "Mine"})).await.problem(403, "auth.forbidden");
        for path in ["/admin/customers", "/admin/kyb"] {
            eyes.get(path).await.problem(403, "auth.forbidden");
        }
        impersonate(&eyes, &cora.account_id).await.problem(403, "auth.forbidden");

        let log = admin.get(&format!("/admin/audit-log?account_id={}&user_id={}", cora.account_id, admin.user_id)).await.ok();
        let rows: Vec<(&str, &str)> = log["rows"].as_array().unwrap().iter()
            .map(|row| {
                assert_eq!(row["actor"], "admin");
                (row["action"].as_str().unwrap(), row["outcome"].as_str().unwrap())
            })
            .collect();
        assert_eq!(rows.iter().filter(|row| **row == ("impersonation.read", "success")).count(), 6);
        assert!(rows.contains(&("account.update", "failure")) && rows.contains(&("ticket.create", "failure")));
        let (begun, outcome) = rows.last().unwrap();
        assert_eq!((*begun, *outcome), ("customer.impersonate", "success"));
        assert!(log["rows"].as_array().unwrap().last().unwrap()["meta"].as_str().unwrap().contains("Ticket 7"));
        world.advance(901).await;
        eyes.get("/account").await.problem(401, "auth.token_expired");
        world.end().await;
    }

    async fn impersonation_needs_a_reason_and_a_customer_outside_the_team(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.admin().await, world.customer("cora@customer.example").await);
        let path = format!("/admin/customers/{}/impersonate", cora.account_id);
        assert_eq!(admin.post(&path, json!({})).await.invalid(), ["reason"]);
        assert_eq!(admin.post(&path, json!({"reason": " "})).await.invalid(), ["reason"]);
        impersonate(&admin, &admin.account_id).await.problem(404, "not_found");
        let colleague = world.minted(Role::Admin).await;
        let own = colleague.get("/account").await.ok()["id"].as_str().unwrap().to_owned();
        impersonate(&admin, &own).await.problem(409, "state.conflict");
        let support = world.minted(Role::Support).await;
        impersonate(&support, &cora.account_id).await.problem(403, "auth.forbidden");
        world.end().await;
    }

    async fn impersonation_ends_with_the_admins_rights(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.admin().await, world.customer("cora@customer.example").await);
        let other = world.user("other@carrier.example", Role::Admin).await;
        let other_admin = world.sign_in("other@carrier.example").await;
        let (eyes_of_other, eyes_of_admin) = (eyes(&world, &other_admin, &cora).await, eyes(&world, &admin, &cora).await);
        eyes_of_other.get("/account").await.ok();
        admin.patch(&format!("/admin/users/{other}"), json!({"is_active": false})).await.ok();
        eyes_of_other.get("/account").await.problem(401, "auth.token_invalid");
        other_admin.get("/me").await.problem(401, "auth.token_invalid");
        eyes_of_admin.get("/account").await.ok();
        assert_eq!(cora.get("/me/sessions").await.ok()["data"].as_array().map(Vec::len), Some(1));
        assert_ne!(cora.get("/me").await.ok()["user"], Value::Null);
        world.end().await;
    }
}
