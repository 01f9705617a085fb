//! The real program, killed at random moments while customers top up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use db::Entropy;
use serde_json::Value;
use tokio::task::JoinSet;
use uuid::Uuid;
use values::Role;

use crate::world::accounts::{self, Person};
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::count;
use crate::world::fixtures::payments::{amount_body, count_topups};
use crate::world::payer::fresh_key;
use crate::world::process::{self, Process};

const ROUNDS: u8 = 3;
const CUSTOMERS: usize = 4;
const SETTINGS: [(&str, &str); 2] = [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_TEST_CLOCK", "on")];

/// What customers did before the kill.
#[derive(Default)]
struct Done {
    /// How many top-ups were asked for.
    asked: i64,
    /// Requests that were not answered: who asked, under which key.
    unanswered: Vec<(String, Uuid)>,
    /// Orders that were paid at the checkout.
    paid: Vec<String>,
}

both! {
    async fn payments_are_credited_once_whenever_the_service_is_killed(db) {
        let folder = tempfile::TempDir::new().unwrap();
        let customers = accounts::insert(db, Role::Customer, CUSTOMERS).await;
        let mut done = Done::default();
        for _ in 0..ROUNDS {
            let mut node = Process::serve(db, folder.path(), &SETTINGS);
            let mut load = JoinSet::new();
            for Person { email, .. } in &customers {
                let (caller, email) = (node.sign_in(email).await, email.clone());
                load.spawn(async move { top_up_again_and_again(&caller, email).await });
            }
            let [chance] = Entropy.bytes::<1>();
            let rows = count(db, "SELECT COUNT(*) FROM audit_log").await + 20 + i64::from(chance) / 4;
            while count(db, "SELECT COUNT(*) FROM audit_log").await < rows {
                assert!(node.is_running());
                tokio::task::yield_now().await;
            }
            node.kill();
            for one in load.join_all().await {
                done.asked += one.asked;
                done.unanswered.extend(one.unanswered);
                done.paid.extend(one.paid);
            }
        }
        assert!(!done.paid.is_empty());

        let node = Process::serve(db, folder.path(), &SETTINGS);
        for (email, key) in &done.unanswered {
            let again = node.sign_in(email).await.with_key(*key);
            again.post("/payments/topups", amount_body(1_000)).await.expect(201);
        }
        assert_eq!(count(db, "SELECT COUNT(*) FROM payments").await, done.asked);
        assert_eq!(count(db, "SELECT COUNT(*) FROM sandbox_orders").await, done.asked);
        // Jobs of killed processes are free when their leases end.
        for _ in 0..3 {
            node.advance(600).await;
        }
        let completed = count(db, "SELECT COUNT(*) FROM sandbox_orders WHERE state = 'completed'").await;
        assert!(usize::try_from(completed).unwrap() >= done.paid.len());
        assert_eq!(count_topups(db).await, completed);
        assert_eq!(count(db, "SELECT COUNT(*) FROM payments WHERE status = 'completed'").await, completed);
        for order in &done.paid {
            let sql = "SELECT COUNT(*) FROM payments WHERE status = 'completed' AND provider_order_id = $1";
            let (credited,): (i64,) = db.read().await.unwrap().one(sql, db::params![order.as_str()]).await.unwrap();
            assert_eq!(credited, 1, "{order} was paid");
        }
        drop(node);
        for what in ["ledger", "audit"] {
            let verified = process::run(db, folder.path(), &[], &[what, "verify"]);
            assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
        }
    }
}

/// Makes top-ups and pays them until the service stops answering.
async fn top_up_again_and_again(caller: &Client, email: String) -> Done {
    let mut done = Done::default();
    let payer = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    loop {
        let key = fresh_key();
        done.asked += 1;
        let request = caller.with_key(key).request(reqwest::Method::POST, "/payments/topups").json(&amount_body(1_000));
        let answered = match request.send().await {
            Ok(answer) => answer.json::<Value>().await.ok(),
            Err(_) => None,
        };
        let Some(opened) = answered else {
            done.unanswered.push((email, key));
            break;
        };
        let Some(url) = opened["checkout_url"].as_str() else { break };
        let form = payer.post(url).header("content-type", "application/x-www-form-urlencoded").body("action=pay");
        match form.send().await {
            Ok(answer) if answer.status() == 303 => done.paid.push(opened["topup_id"].as_str().unwrap().to_owned()),
            _ => break,
        }
    }
    done
}
