//! Numbers: the stock, orders from it, and the months that follow.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod documents;
mod killed;
mod orders;
mod provisioning;
mod renewals;
mod rush;
mod stock;

use std::fmt::Write;

use db::Db;
use reqwest::Method;
use serde_json::{Value, json};
use values::Role;

use crate::coverage::examples::key;
use crate::decks::upstream;
use crate::trunks;
use crate::upstreams::wanted;
use crate::world::World;
use crate::world::client::{Answer, Client, Session};

const HEADER: &str = "e164,country,type,area_name,prefix,capabilities,monthly,setup,regulatory\n";
/// Five euros to set up, one and a half a month.
pub const AMSTERDAM: &str = "NL,local,Amsterdam,3120,voice|sms,1.50,5.00,api";
pub const PAPERS: &str = "NL,local,Utrecht,3130,voice,1.50,5.00,docs_required";
/// What the first month of either costs, in cents.
pub const FIRST: i64 = 650;

/// So many numbers from this one on, all on these terms.
pub fn sheet(first: u64, count: u64, terms: &str) -> String {
    let mut sheet = HEADER.to_owned();
    for number in first..first + count {
        writeln!(sheet, "+{number},{terms}").unwrap();
    }
    sheet
}

pub async fn hand_in(admin: &Client, upstream: &str, sheet: &str) -> Answer {
    let path = format!("/admin/did-inventory/import?upstream_id={upstream}");
    let request = admin.with_key(key()).request(Method::POST, &path);
    admin.send(request.header("content-type", "text/csv").body(sheet.to_owned())).await
}

/// The report of an import that is over.
pub async fn import(world: &World, admin: &Client, upstream: &str, sheet: &str) -> Value {
    let accepted = hand_in(admin, upstream, sheet).await.expect(202);
    world.settle().await;
    admin.get(&format!("/admin/did-inventory/imports/{}", accepted["id"].as_str().unwrap())).await.ok()
}

/// Numbers in the stock, and the upstream they are of.
pub async fn stocked(world: &World, admin: &Client, sheet: &str) -> String {
    let upstream = upstream(admin, wanted()).await;
    let report = import(world, admin, &upstream, sheet).await;
    assert_eq!(report["status"], "completed", "{report}");
    upstream
}

/// So many numbers on these terms, and the group they are ordered from.
pub async fn offered(world: &World, admin: &Client, count: u64, terms: &str) -> String {
    let first = if terms == PAPERS { 31_301_000_000 } else { 31_201_000_000 };
    stocked(world, admin, &sheet(first, count, terms)).await;
    let customer = world.minted(Role::Customer).await;
    groups(&customer, "").await[0]["id"].as_str().unwrap().to_owned()
}

pub async fn groups(customer: &Client, query: &str) -> Vec<Value> {
    customer.get(&format!("/numbers/inventory{query}")).await.ok()["data"].as_array().unwrap().clone()
}

/// A customer with so many cents and a trunk, whose id is answered too.
pub async fn buyer(world: &World, email: &str, cents: i64) -> (Session, String) {
    let customer = world.customer(email).await;
    if cents > 0 {
        world.top_up(&customer.account_id, cents).await;
    }
    let trunk = trunk_of(&customer).await;
    (customer, trunk)
}

pub async fn trunk_of(customer: &Client) -> String {
    trunks::add(customer, "First").await.strip_prefix("/trunks/").unwrap().to_owned()
}

pub async fn order(customer: &Client, group: &str, trunk: &str) -> Answer {
    customer.with_key(key()).post("/numbers/orders", json!({"inventory_id": group, "trunk_id": trunk})).await
}

/// What became of an order.
pub async fn look(customer: &Client, order: &Value) -> Value {
    customer.get(&format!("/numbers/orders/{}", order["id"].as_str().unwrap())).await.ok()
}

/// What the customer has, in cents.
pub async fn cents(customer: &Client) -> i64 {
    customer.get("/account/balance").await.ok()["current"]["amount_minor"].as_i64().unwrap()
}

pub async fn numbers(customer: &Client) -> Vec<Value> {
    customer.get("/numbers").await.ok()["data"].as_array().unwrap().clone()
}

pub async fn told(customer: &Client) -> Vec<String> {
    let told = customer.get("/notifications").await.ok();
    told["data"].as_array().unwrap().iter().map(|news| news["code"].as_str().unwrap().to_owned()).collect()
}

pub async fn count(db: &Db, sql: &'static str) -> i64 {
    db.read().await.unwrap().one::<(i64,)>(sql, &[]).await.unwrap().0
}

/// How many numbers are free, after a look whether every group counts its own right.
pub async fn free(db: &Db) -> i64 {
    let wrong = "SELECT COUNT(*) FROM number_groups g WHERE g.free <>
                     (SELECT COUNT(*) FROM number_stock s WHERE s.group_id = g.id AND s.state = 'free')";
    assert_eq!(count(db, wrong).await, 0, "groups that count wrong");
    count(db, "SELECT COUNT(*) FROM number_stock WHERE state = 'free'").await
}

/// How many movements of this kind the ledger has.
pub async fn posted(db: &Db, kind: &str) -> i64 {
    let sql = "SELECT COUNT(*) FROM ledger_transactions WHERE kind = $1";
    db.read().await.unwrap().one::<(i64,)>(sql, db::params![kind]).await.unwrap().0
}
