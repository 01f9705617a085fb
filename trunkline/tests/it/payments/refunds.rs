//! Refunds by the team.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use futures_util::future::join_all;
use platform::ledger::{self, Book, Entry, Kind};
use serde_json::{Value, json};
use values::{AccountId, Currency, Money};

use crate::world::World;
use crate::world::client::{Answer, Session};
use crate::world::engines::{TestDb, both, uuid};
use crate::world::fixtures::audit::audit_rows;
use crate::world::fixtures::payments::{begin_topup, complete_topup, ledger_cents};
use crate::world::fixtures::{count, execute};
use crate::world::payer::fresh_key;

/// An admin, a customer who paid EUR 100, and the payment's id.
async fn paid(world: &World) -> (Session, Session, String) {
    let admin = world.admin().await;
    let cora = world.customer("cora@customer.example").await;
    let id = complete_topup(world, &cora, 10_000).await["id"].as_str().unwrap().to_owned();
    (admin, cora, id)
}

async fn refund(admin: &Session, id: &str, body: Value) -> Answer {
    admin.with_key(fresh_key()).post(&format!("/admin/payments/{id}/refund"), body).await
}

fn part(amount_minor: i64) -> Value {
    json!({"reason": "goodwill", "amount": {"amount_minor": amount_minor, "currency": "EUR"}})
}

fn all() -> Value {
    json!({"reason": "closed"})
}

/// Posts call charges of this many cents.
async fn use_up(db: &TestDb, session: &Session, cents: i64) {
    let account: AccountId = session.account_id.parse().unwrap();
    let spent = Money::from_minor(cents, Currency::EUR).unwrap();
    let entry = Entry::charge(account, Kind::Call, uuid().to_string(), &[(Book::Calls, spent)]).unwrap();
    let charged = db.tx(entry, |conn, entry| Box::pin(ledger::debit(conn, entry)));
    charged.await.unwrap();
}

/// The sum of all holds.
async fn held(db: &TestDb) -> i64 {
    count(db, "SELECT CAST(COALESCE(SUM(held), 0) AS BIGINT) FROM ledger_balances").await
}

async fn returned_by_the_provider(db: &TestDb) -> i64 {
    count(db, "SELECT CAST(COALESCE(SUM(refunded), 0) AS BIGINT) FROM sandbox_orders").await / 10_000_000
}

both! {
    async fn a_payment_is_refunded_in_parts_until_nothing_is_left(db) {
        let world = World::start(db).await;
        let (admin, cora, id) = paid(&world).await;
        let listed = admin.get("/admin/payments").await.ok()["data"][0].clone();
        assert_eq!((&listed["id"], &listed["status"], &listed["amount"]["amount_minor"]), (&json!(id), &json!("completed"), &json!(10_000)));
        assert!(listed["customer_id"].as_str().unwrap().contains('-') && listed["provider_order_id"].is_string());

        let first = refund(&admin, &id, part(2_500)).await.ok();
        assert_eq!((&first["status"], &first["refunded"]["amount_minor"]), (&json!("completed"), &json!(2_500)));
        assert_eq!(ledger_cents(db, &cora).await, 7_500);
        refund(&admin, &id, part(7_501)).await.problem(409, "state.conflict");
        assert_eq!(refund(&admin, &id, all()).await.ok()["status"], "refunded");
        refund(&admin, &id, all()).await.problem(409, "state.conflict");
        refund(&admin, &id, part(1)).await.problem(409, "state.conflict");
        assert_eq!((ledger_cents(db, &cora).await, held(db).await, returned_by_the_provider(db).await), (0, 0, 10_000));
        assert_eq!(cora.get("/payments/topups").await.ok()["data"][0]["status"], "completed");
        let notes: Vec<(Option<String>,)> = db.read().await.unwrap()
            .all("SELECT note FROM ledger_transactions WHERE kind = 'refund' ORDER BY number", params![]).await.unwrap();
        assert_eq!(notes, [(Some("goodwill".to_owned()),), (Some("closed".to_owned()),)]);
        world.end().await;
    }

    async fn ten_concurrent_refunds_return_no_more_than_was_paid(db) {
        let world = World::unlimited(db).await;
        let (admin, cora, id) = paid(&world).await;
        complete_topup(&world, &cora, 50_000).await;
        let answers = join_all((0..10).map(|_| refund(&admin, &id, part(3_000)))).await;
        let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 200, 200, 409, 409, 409, 409, 409, 409, 409]);
        let answers = join_all((0..10).map(|_| refund(&admin, &id, all()))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        assert_eq!((ledger_cents(db, &cora).await, held(db).await, returned_by_the_provider(db).await), (50_000, 0, 10_000));
        world.end().await;
    }

    async fn one_key_is_one_refund(db) {
        let world = World::unlimited(db).await;
        let (admin, cora, id) = paid(&world).await;
        let keyed = admin.with_key(fresh_key());
        let path = format!("/admin/payments/{id}/refund");
        let answers = join_all((0..10).map(|_| keyed.post(&path, part(1_000)))).await;
        for answer in &answers {
            assert_eq!((answer.status, &answer.bytes), (200, &answers[0].bytes), "{}", answer.body);
        }
        assert_eq!((ledger_cents(db, &cora).await, count(db, "SELECT COUNT(*) FROM refunds").await), (9_000, 1));
        keyed.post(&path, part(1_001)).await.problem(409, "idempotency.conflict");
        world.end().await;
    }

    async fn spent_money_is_refunded_only_if_the_balance_may_go_negative(db) {
        let world = World::start(db).await;
        let (admin, cora, id) = paid(&world).await;
        use_up(db, &cora, 4_000).await;
        let refused = refund(&admin, &id, all()).await.problem(402, "balance.insufficient");
        assert_eq!((&refused["required"]["amount_minor"], &refused["available"]["amount_minor"]), (&json!(10_000), &json!(6_000)));
        assert_eq!((ledger_cents(db, &cora).await, held(db).await, returned_by_the_provider(db).await), (6_000, 0, 0));
        assert_eq!(count(db, "SELECT COUNT(*) FROM refunds").await, 0);
        let negative = json!({"reason": "fraud", "allow_negative": true});
        assert_eq!(refund(&admin, &id, negative).await.ok()["status"], "refunded");
        assert_eq!((ledger_cents(db, &cora).await, returned_by_the_provider(db).await), (-4_000, 10_000));
        world.end().await;
    }

    async fn a_credit_line_cannot_be_refunded_to_a_card(db) {
        let world = World::start(db).await;
        let (admin, cora, id) = paid(&world).await;
        let limits = json!({"minimum": {"amount_minor": -50_000, "currency": "EUR"},
                            "soft_warn_threshold": {"amount_minor": 0, "currency": "EUR"}});
        let path = format!("/admin/customers/{}/balance-limits", cora.account_id);
        admin.call(reqwest::Method::PUT, &path, Some(limits)).await.ok();
        use_up(db, &cora, 4_000).await;
        let refused = refund(&admin, &id, all()).await.problem(402, "balance.insufficient");
        assert_eq!((&refused["required"]["amount_minor"], &refused["available"]["amount_minor"]), (&json!(10_000), &json!(6_000)));
        assert_eq!(
            refused["detail"],
            "The refund needs 100.00 EUR, but the customer has 60.00 EUR available. Refund no more than that, or send allow_negative: true."
        );
        assert_eq!((ledger_cents(db, &cora).await, held(db).await, returned_by_the_provider(db).await), (6_000, 0, 0));
        refund(&admin, &id, part(6_000)).await.ok();
        assert_eq!((ledger_cents(db, &cora).await, returned_by_the_provider(db).await), (0, 6_000));
        world.end().await;
    }

    async fn a_refund_the_provider_refuses_is_credited_back(db) {
        let world = World::start(db).await;
        let (admin, cora, id) = paid(&world).await;
        // Most of it was refunded in the provider's own dashboard.
        execute(db, "UPDATE sandbox_orders SET refunded = 80000000000").await;
        let (keyed, path) = (admin.with_key(fresh_key()), format!("/admin/payments/{id}/refund"));
        let refused = keyed.post(&path, part(5_000)).await.problem(409, "state.conflict");
        assert!(refused["detail"].as_str().unwrap().contains("provider rejected this refund"));
        assert_eq!(keyed.post(&path, part(5_000)).await.expect(409), refused);
        assert_eq!((ledger_cents(db, &cora).await, held(db).await), (10_000, 0));
        let listed = admin.get("/admin/payments").await.ok()["data"][0].clone();
        assert_eq!((&listed["status"], &listed["refunded"]["amount_minor"]), (&json!("completed"), &json!(0)));
        assert_eq!(refund(&admin, &id, part(2_000)).await.ok()["refunded"]["amount_minor"], 2_000);
        assert_eq!(ledger_cents(db, &cora).await, 8_000);
        let outcomes: Vec<String> = audit_rows(db, "payment.refund").await.into_iter().map(|(_, outcome)| outcome).collect();
        assert_eq!(outcomes, ["failure", "success"]);
        world.end().await;
    }

    async fn an_interrupted_refund_is_finished_by_a_job_and_answered_to_its_retry(db) {
        let world = World::start(db).await;
        let (admin, cora, id) = paid(&world).await;
        let keyed = admin.with_key(fresh_key());
        let path = format!("/admin/payments/{id}/refund");
        keyed.post(&path, part(4_000)).await.ok();
        // Back to where only the claim had been committed: the answer and the ledger's entry are put off.
        execute(db, "DELETE FROM idempotency_keys").await;
        execute(db, "UPDATE refunds SET status = 'pending', poll_at = 0").await;
        world.advance(120).await;
        assert_eq!(count(db, "SELECT COUNT(*) FROM refunds WHERE status = 'completed' AND poll_at IS NULL").await, 1);
        assert_eq!((ledger_cents(db, &cora).await, returned_by_the_provider(db).await), (6_000, 4_000));
        keyed.post(&path, part(4_001)).await.problem(409, "idempotency.conflict");
        assert_eq!(keyed.post(&path, part(4_000)).await.ok()["refunded"]["amount_minor"], 4_000);
        assert_eq!((ledger_cents(db, &cora).await, count(db, "SELECT COUNT(*) FROM refunds").await), (6_000, 1));
        assert_eq!(held(db).await, 0);
        world.end().await;
    }

    async fn only_paid_top_ups_are_refundable_and_only_by_admins(db) {
        let world = World::start(db).await;
        let (admin, cora, id) = paid(&world).await;
        begin_topup(&cora, 700).await;
        let pending = admin.get("/admin/payments?limit=1").await.ok()["data"][0].clone();
        assert_eq!(pending["status"], "pending");
        let refused = refund(&admin, pending["id"].as_str().unwrap(), all()).await.problem(409, "state.conflict");
        assert!(refused["detail"].as_str().unwrap().contains("pending"));
        for (body, wrong) in [
            (json!({}), "reason"),
            (json!({"reason": ""}), "reason"),
            (part(0), "amount"),
            (part(-5), "amount"),
            (json!({"reason": "x", "amount": {"amount_minor": 5, "currency": "USD"}}), "amount.currency"),
            (json!({"reason": "x", "amount": {"amount": "0.001", "currency": "EUR"}}), "amount"),
        ] {
            assert_eq!(refund(&admin, &id, body).await.invalid(), [wrong]);
        }
        refund(&cora, &id, all()).await.problem(403, "auth.forbidden");
        assert_eq!(ledger_cents(db, &cora).await, 10_000);
        world.end().await;
    }
}
