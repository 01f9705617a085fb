//! The real program, killed at random moments while customers order from an unreliable DID supplier.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::{DbError, Entropy};
use platform::crypto::passwords::{Cost, Passwords};
use platform::ledger::{self, Book, Entry, Kind, LedgerError};
use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;
use values::{AccountId, Currency, Money, Role, Time};

use crate::world::client::Client;
use crate::world::did_supplier::{DidSupplierServer, Says};
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::numbers::{
    AMSTERDAM, count_transactions, free_numbers, inventory_csv, inventory_groups, new_trunk_id, upload_inventory,
};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};
use crate::world::fixtures::{count, key};
use crate::world::process::{self, Process};
use crate::world::{PASSWORD, accounts};

const ROUNDS: u8 = 3;
const CUSTOMERS: usize = 4;
const ADMIN: &str = "ada@carrier.example";
const MOODS: [Says; 7] =
    [Says::Active, Says::Pending, Says::Active, Says::Away, Says::Refused, Says::Active, Says::Away];

both! {
    async fn every_order_ends_active_or_refunded_whenever_the_service_is_killed(db) {
        let folder = tempfile::TempDir::new().unwrap();
        let supplier = DidSupplierServer::start(&MOODS.repeat(200)).await;
        let supplier_settings = supplier.settings();
        let settings: Vec<(&str, &str)> =
            [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_TEST_CLOCK", "on")].into_iter().chain(supplier_settings).collect();
        let emails = people_with_money(db).await;
        let mut node = Process::serve(db, folder.path(), &settings);
        let admin = sign_in(&node, ADMIN).await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        upload_inventory(&admin, &upstream, &inventory_csv(31_201_000_000, 2_000, AMSTERDAM)).await.expect(202);
        node.advance(1).await;
        let mut callers = Vec::new();
        for email in &emails {
            callers.push((email.clone(), new_trunk_id(&sign_in(&node, email).await).await));
        }
        let group = inventory_groups(&sign_in(&node, &emails[0]).await, "").await[0]["id"].as_str().unwrap().to_owned();
        let mut unanswered = Vec::new();
        for _ in 0..ROUNDS {
            let mut load = JoinSet::new();
            for (email, trunk) in &callers {
                let (caller, email) = (sign_in(&node, email).await, email.clone());
                let body = json!({"inventory_id": group, "trunk_id": trunk});
                load.spawn(async move { order_again_and_again(&caller, email, body).await });
            }
            let [chance] = Entropy.bytes::<1>();
            let rows = count(db, "SELECT COUNT(*) FROM audit_log").await + 20 + i64::from(chance) / 4;
            while count(db, "SELECT COUNT(*) FROM audit_log").await < rows {
                assert!(node.is_running());
                tokio::task::yield_now().await;
            }
            node.kill();
            unanswered.extend(load.join_all().await);
            node = Process::serve(db, folder.path(), &settings);
        }
        supplier.says(&[Says::Active]);
        for (email, key, body) in unanswered {
            sign_in(&node, &email).await.with_key(key).post("/numbers/orders", body).await.expect(201);
        }
        // Jobs of killed processes are free when their leases end; the DID supplier is asked at least once an hour.
        for _ in 0..4 {
            node.advance(3600).await;
        }
        let orders = count(db, "SELECT COUNT(*) FROM number_orders").await;
        let active = count(db, "SELECT COUNT(*) FROM number_orders WHERE status = 'active'").await;
        let failed = count(db, "SELECT COUNT(*) FROM number_orders WHERE status = 'failed'").await;
        assert!(active > 0 && failed > 0);
        assert_eq!(active + failed, orders);
        assert_eq!((count_transactions(db, "number_order").await, count_transactions(db, "number_refund").await), (orders, failed));
        assert_eq!(count(db, "SELECT COUNT(*) FROM numbers WHERE released_at IS NULL").await, active);
        assert_eq!(free_numbers(db).await, 2_000 - orders, "what the supplier refused is withdrawn");
        drop(node);
        for what in ["ledger", "audit"] {
            let verified = process::run(db, folder.path(), &[], &[what, "verify"]);
            assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
        }
    }
}

/// Customers who can sign in and pay, and an admin.
async fn people_with_money(db: &TestDb) -> Vec<String> {
    let emails: Vec<String> = (0..CUSTOMERS).map(|number| format!("customer{number}@example.com")).collect();
    let hash = Passwords::new(Cost::Minimal).hash(PASSWORD).await.unwrap();
    let insert = db.tx((emails.clone(), hash), |conn, (emails, hash)| {
        Box::pin(async move {
            let now = Time::from_millis(0);
            let operator = accounts::live_account(conn, ADMIN, now).await?;
            accounts::user_of(conn, operator, ADMIN, Role::Admin, Some(hash.clone()), now).await?;
            let mut accounts = Vec::new();
            for email in emails {
                let account = accounts::live_account(conn, email, now).await?;
                accounts::user_of(conn, account, email, Role::Customer, Some(hash.clone()), now).await?;
                accounts.push(account);
            }
            Ok::<_, DbError>(accounts)
        })
    });
    for account in insert.await.unwrap() {
        pay_in(db, account).await;
    }
    emails
}

async fn pay_in(db: &TestDb, account: AccountId) {
    let money = Money::from_minor(10_000_000, Currency::EUR).unwrap();
    let entry = Entry::credit(account, Kind::Topup, account.to_string(), &[(Book::Clearing, money)]).unwrap();
    let paid = db.tx(entry, |conn, entry| {
        Box::pin(async move {
            ledger::credit(conn, entry).await?;
            Ok::<_, LedgerError>(())
        })
    });
    paid.await.unwrap();
}

async fn sign_in(node: &Process, email: &str) -> Client {
    let session = node.anyone().post("/auth/sign-in", json!({"email": email, "password": PASSWORD})).await.ok();
    node.bearing(session["access_token"].as_str().unwrap())
}

/// Orders numbers until the service stops answering; returns the unanswered orders.
async fn order_again_and_again(
    caller: &Client,
    email: String,
    body: serde_json::Value,
) -> (String, Uuid, serde_json::Value) {
    loop {
        let key = key();
        let request = caller.with_key(key).request(reqwest::Method::POST, "/numbers/orders").json(&body);
        let answered = match request.send().await {
            Ok(answer) => answer.bytes().await.is_ok(),
            Err(_) => false,
        };
        if !answered {
            return (email, key, body);
        }
    }
}
