//! The real program, killed at random moments while the team posts credits.
use db::Entropy;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use uuid::Uuid;
use values::Role;

use crate::world::accounts::{self, Person};
use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::payer::fresh_key;
use crate::world::process::{self, Process};

const ROUNDS: usize = 3;
const CUSTOMERS: usize = 4;
const SETTINGS: [(&str, &str); 1] = [("TRUNKLINE_RATE_LIMITS", "off")];

/// A requested credit, and the transaction in its response, if there was one.
struct Credit {
    key: Uuid,
    body: Value,
    line: Option<Value>,
}

both! {
    async fn credits_are_in_the_ledger_once_whenever_the_service_is_killed(db) {
        let folder = tempfile::TempDir::new().unwrap();
        let customers = accounts::insert(db, Role::Customer, CUSTOMERS).await;
        let team = accounts::insert(db, Role::Admin, 1).await.remove(0);
        let mut credits: Vec<Vec<Credit>> = (0..CUSTOMERS).map(|_| Vec::new()).collect();
        for _ in 0..ROUNDS {
            let mut node = Process::serve(db, folder.path(), &SETTINGS);
            let admin = node.sign_in(&team.email).await;
            let mut load = JoinSet::new();
            for (index, customer) in customers.iter().enumerate() {
                let (admin, customer) = (admin.clone(), customer.account.to_string());
                load.spawn(async move { (index, give_and_take(&admin, &customer).await) });
            }
            let [chance] = Entropy.bytes::<1>();
            let rows = audit_rows(db).await + 20 + i64::from(chance) / 4;
            while audit_rows(db).await < rows {
                assert!(node.is_running());
                tokio::task::yield_now().await;
            }
            node.kill();
            for (index, round) in load.join_all().await {
                credits[index].extend(round);
            }
        }

        let node = Process::serve(db, folder.path(), &SETTINGS);
        let admin = node.sign_in(&team.email).await;
        for (customer, credits) in customers.iter().zip(credits) {
            let lines = repeated(&admin, credits).await;
            assert_ledger(&node.sign_in(&customer.email).await, customer, &lines).await;
        }
        drop(node);
        for what in ["ledger", "audit"] {
            let verified = process::run(db, folder.path(), &[], &[what, "verify"]);
            assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
        }
    }
}

async fn audit_rows(db: &TestDb) -> i64 {
    db.read().await.unwrap().one::<(i64,)>("SELECT COUNT(*) FROM audit_log", &[]).await.unwrap().0
}

/// Posts credits and corrections until the service stops answering.
async fn give_and_take(admin: &Client, customer: &str) -> Vec<Credit> {
    let mut credits = Vec::new();
    for cents in [500, 300, -200].into_iter().cycle() {
        let (key, amount) = (fresh_key(), json!({"amount_minor": cents, "currency": "EUR"}));
        let body = json!({"customer_id": customer, "amount": amount, "reason": "For the outage of Monday"});
        let request = admin.with_key(key).request(reqwest::Method::POST, "/admin/credits").json(&body);
        let line = match request.send().await {
            Ok(answer) => answer.json::<Value>().await.ok(),
            Err(_) => None,
        };
        let killed = line.is_none();
        credits.push(Credit { key, body, line });
        if killed {
            break;
        }
    }
    credits
}

/// Repeats every request, answered or not, and returns the transactions in the responses.
async fn repeated(admin: &Client, credits: Vec<Credit>) -> Vec<Value> {
    let mut lines = Vec::new();
    for Credit { key, body, line } in credits {
        let again = admin.with_key(key).post("/admin/credits", body).await.expect(201);
        assert!(line.is_none_or(|line| line == again), "{key} was told something else at first");
        lines.push(again);
    }
    lines
}

/// Asserts that the customer has exactly these transactions and their sum as balance.
async fn assert_ledger(caller: &Client, customer: &Person, expected: &[Value]) {
    let mut ledger = caller.get("/account/ledger?limit=200").await.ok();
    assert_eq!(ledger["meta"]["next_cursor"], Value::Null);
    let lines = std::mem::take(ledger["data"].as_array_mut().unwrap());
    assert_eq!(lines.len(), expected.len(), "{}", customer.email);
    for line in expected {
        assert!(lines.contains(line), "{line} is not in the ledger");
    }
    let total: i64 = expected.iter().map(|line| line["amount"]["amount_minor"].as_i64().unwrap()).sum();
    assert_eq!(caller.get("/account/balance").await.ok()["current"]["amount_minor"], total);
}
