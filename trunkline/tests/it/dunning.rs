//! The dunning list.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use billing::dunning::{self, Reason};
use db::{Conn, DbError};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use values::AccountId;

use crate::world::World;
use crate::world::engines::both;

type Change = for<'c> fn(&'c mut Conn, &'c AccountId) -> BoxFuture<'c, Result<(), DbError>>;

fn emails(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|row| row["contact_email"].as_str().unwrap()).collect()
}

both! {
    async fn dunning_is_paged_newest_customer_first_while_others_arrive(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let mut accounts = Vec::new();
        for email in ["a@example.com", "b@example.com", "c@example.com", "d@example.com"] {
            accounts.push(world.customer(email).await.account_id);
            world.advance(1).await;
        }
        for account in &accounts[..3] {
            world.use_up(account, 100).await;
        }
        let first = admin.get("/admin/dunning?limit=2").await.ok();
        assert_eq!(emails(&first), ["c@example.com", "b@example.com"]);
        world.use_up(&accounts[3], 100).await;
        let cursor = first["meta"]["next_cursor"].as_str().unwrap();
        let second = admin.get(&format!("/admin/dunning?limit=2&cursor={cursor}")).await.ok();
        assert_eq!((emails(&second), &second["meta"]["next_cursor"]), (vec!["a@example.com"], &Value::Null));
        world.end().await;
    }

    async fn a_customer_stays_in_dunning_until_its_last_reason_is_gone(db) {
        let world = World::start(db).await;
        let (admin, customer) = (world.admin().await, world.customer("c@example.com").await);
        world.use_up(&customer.account_id, 100).await;
        let account: AccountId = customer.account_id.parse().unwrap();
        let change = async |change: Change| {
            world.node.app.db.tx(account, change).await.unwrap();
        };
        change(|conn, account| Box::pin(dunning::raise(conn, *account, Reason::UnpaidInvoice))).await;
        let listed = admin.get("/admin/dunning").await.ok();
        let reasons: Vec<&Value> = listed["data"][0]["reasons"].as_array().unwrap().iter().map(|one| &one["reason"]).collect();
        assert_eq!(reasons, ["negative_balance", "unpaid_invoice"]);
        world.top_up(&customer.account_id, 100).await;
        let listed = admin.get("/admin/dunning").await.ok();
        assert_eq!(listed["data"][0]["reasons"].as_array().unwrap().len(), 1);
        change(|conn, account| Box::pin(dunning::clear(conn, *account, Reason::UnpaidInvoice))).await;
        assert_eq!(admin.get("/admin/dunning").await.ok()["data"], json!([]));
        world.end().await;
    }
}
