//! Payments: topping up, saved cards, charges, refunds, and what is left of them after a crash.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod callbacks;
mod charges;
mod killed;
mod methods;
mod recharges;
mod refunds;
mod revolut;
mod topups;

use db::{DbError, params};
use serde_json::{Value, json};
use values::AccountId;

use crate::world::World;
use crate::world::client::{Client, Session};
use crate::world::engines::TestDb;
use crate::world::payer::{Payer, fresh_key};

pub const VISA: &str = "4242424242424242";
/// Pays while its holder is there, and is declined later.
pub const LATER_DECLINED: &str = "4000000000009995";

pub fn euros(amount_minor: i64) -> Value {
    json!({"amount_minor": amount_minor, "currency": "EUR"})
}

/// Begins a top-up under a fresh key.
pub async fn begin_topup(caller: &Client, amount_minor: i64) -> Value {
    caller.with_key(fresh_key()).post("/payments/topups", euros(amount_minor)).await.expect(201)
}

/// A top-up from beginning to end; answers it as its owner sees it.
pub async fn top_up(world: &World, caller: &Client, amount_minor: i64) -> Value {
    let opened = begin_topup(caller, amount_minor).await;
    Payer::at(&opened).pay(world, VISA).await;
    let topup = topup(caller, &opened).await;
    assert_eq!(topup["status"], "completed");
    topup
}

/// The top-up that was begun with this answer.
pub async fn topup(caller: &Client, opened: &Value) -> Value {
    caller.get(&format!("/payments/topups/{}", opened["topup_id"].as_str().unwrap())).await.ok()
}

/// Saves a card and answers it as its owner sees it.
pub async fn save_card(world: &World, session: &Session, number: &str) -> Value {
    let return_url = format!("http://{}/", world.node.public);
    let opened = session.with_key(fresh_key()).post("/payments/methods", json!({"return_url": return_url})).await;
    Payer::at(&opened.expect(201)).pay(world, number).await;
    session.get("/payments/methods").await.ok()["data"][0].clone()
}

/// What the account has, in cents.
pub async fn balance(db: &TestDb, session: &Session) -> i64 {
    let account: AccountId = session.account_id.parse().unwrap();
    let sql = "SELECT balance FROM ledger_balances WHERE account_id = $1";
    let found: Option<(i64,)> = db.read().await.unwrap().opt(sql, params![account]).await.unwrap();
    found.map_or(0, |(nanos,)| nanos / 10_000_000)
}

pub async fn count(db: &TestDb, sql: &'static str) -> i64 {
    let (count,): (i64,) = db.read().await.unwrap().one(sql, &[]).await.unwrap();
    count
}

/// How many top-ups are in the ledger.
pub async fn posted(db: &TestDb) -> i64 {
    count(db, "SELECT COUNT(*) FROM ledger_transactions WHERE kind = 'topup'").await
}

/// Changes rows behind the service's back.
pub async fn exec(db: &TestDb, sql: &'static str) {
    let changed = db.tx(sql, |conn, sql| {
        Box::pin(async move {
            conn.exec(sql, params![]).await?;
            Ok::<_, DbError>(())
        })
    });
    changed.await.unwrap();
}
