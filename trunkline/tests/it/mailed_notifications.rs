//! Urgent notifications that also go by mail, and who gets them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::DbError;
use reqwest::Method;
use serde_json::{Value, json};
use values::{AccountId, Role};

use crate::world::World;
use crate::world::accounts;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::invoices::{account_id, call_charge, euros, issue_invoice, last_month, post_entry};
use crate::world::fixtures::rates::import_deck;
use crate::world::fixtures::switch::{CALL_DECK, Scene};
use crate::world::outbox::Mail;

const CORA: &str = "cora@customer.example";
const CARL: &str = "carl@customer.example";
const PATH: &str = "/me/notification-preferences";

/// A second user of the account.
async fn add_carl(world: &World, account: AccountId) -> Client {
    let hash = world.node.app.passwords.hash(crate::world::PASSWORD).await.unwrap();
    let now = world.node.app.clock.now();
    let added = world.node.app.db.tx((account, hash, now), |conn, (account, hash, now)| {
        Box::pin(async move {
            accounts::user_of(conn, *account, CARL, Role::Customer, Some(hash.clone()), *now).await?;
            Ok::<_, DbError>(())
        })
    });
    added.await.unwrap();
    world.sign_in(CARL).await.into_client()
}

async fn want(caller: &Client, code: &str, mail: bool) -> Value {
    let body = json!({"data": [{"code": code, "mail": mail}]});
    caller.call(Method::PUT, PATH, Some(body)).await.ok()
}

/// Who got mails whose subject begins like this, sorted.
fn recipients(mails: &[Mail], subject: &str) -> Vec<String> {
    let mut to: Vec<String> =
        mails.iter().filter(|mail| mail.subject.starts_with(subject)).map(|mail| mail.to.clone()).collect();
    to.sort();
    to
}

both! {
    async fn a_user_chooses_which_notifications_it_gets_by_mail(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let codes = ["balance.exhausted", "fraud.cap_reached", "fraud.spend_jump", "invoice.issued", "number.released", "rates.changed"];
        let all = |mail: bool| json!({"data": codes.map(|code| json!({"code": code, "mail": mail}))});
        assert_eq!(cora.get(PATH).await.ok(), all(true));
        assert_eq!(cora.call(Method::PUT, PATH, Some(all(false))).await.ok(), all(false));
        assert_eq!(cora.get(PATH).await.ok(), all(false));
        // What is left out is mailed.
        let set = want(&cora, "rates.changed", false).await;
        assert_eq!(set["data"].as_array().unwrap().iter().filter(|one| one["mail"] == false).count(), 1);
        let unknown = cora.call(Method::PUT, PATH, Some(json!({"data": [{"code": "balance.low", "mail": true}]}))).await;
        assert_eq!(unknown.invalid(), ["data.0.code"]);
        world.end().await;
    }

    async fn an_exhausted_balance_is_mailed_to_every_user_who_wants_it(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let carl = add_carl(&world, account_id(&cora)).await;
        let exhaust = async || {
            world.top_up(&cora.account_id, 1000).await;
            world.use_up(&cora.account_id, 1000).await;
            recipients(&world.mails().await, "Your balance has run out").len()
        };
        exhaust().await;
        assert_eq!(recipients(&world.mails().await, "Your balance has run out"), [CARL, CORA]);
        want(&cora, "balance.exhausted", false).await;
        exhaust().await;
        assert_eq!(recipients(&world.mails().await, "Your balance has run out"), [CARL, CARL, CORA]);
        want(&carl, "balance.exhausted", false).await;
        assert_eq!(exhaust().await, 3);
        world.end().await;
    }

    async fn an_invoice_is_mailed_once_with_its_pdf(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        post_entry(&world, call_charge(account_id(&cora), euros(10)), last_month(&world)).await;
        issue_invoice(&world, account_id(&cora)).await.unwrap();
        world.settle().await;
        let invoice = cora.get("/invoices").await.ok()["data"][0].clone();
        let mails = world.mails().await;
        let mails: Vec<&Mail> = mails.iter().filter(|mail| mail.subject.starts_with("Invoice ")).collect();
        assert_eq!((mails.len(), &*mails[0].to), (1, CORA));
        assert!(mails[0].subject.contains(invoice["number"].as_str().unwrap()));
        let [file] = mails[0].files.as_slice() else { panic!("{} files", mails[0].files.len()) };
        assert_eq!((file.kind.as_str(), file.name.ends_with(".pdf")), ("application/pdf", true));
        let pdf = cora.get(invoice["pdf_url"].as_str().unwrap()).await;
        assert_eq!(pdf.bytes, file.bytes);
        // Voiding renders the PDF again and mails nothing.
        let admin = world.admin().await;
        let path = format!("/admin/invoices/{}/void", invoice["id"].as_str().unwrap());
        admin.with_key(crate::world::fixtures::key()).post(&path, json!({"reason": "Wrong address"})).await.ok();
        assert_eq!(recipients(&world.mails().await, "Invoice "), [CORA]);
        world.end().await;
    }

    async fn a_fraud_cap_and_changed_rates_are_mailed(db) {
        let scene = Scene::start(db, 100_000).await;
        let (world, cora) = (&scene.world, &scene.customer);
        let caps = json!({
            "max_spend_per_day": {"amount_minor": 1, "currency": "EUR"}, "max_rate_per_minute": {"amount_minor": 50, "currency": "EUR"},
        });
        cora.call(Method::PUT, "/fraud-caps", Some(caps)).await.ok();
        while scene.authorize(json!({})).await["decision"] == "allow" {}
        scene.denied(json!({})).await;
        assert_eq!(recipients(&world.mails().await, "Your calls are refused"), [CORA]);
        let before = recipients(&world.mails().await, "Our rates change").len();
        let dearer = CALL_DECK.replace("0.06", "0.07");
        import_deck(world, &scene.admin, &scene.upstream, "", &dearer).await;
        assert_eq!(recipients(&world.mails().await, "Our rates change").len(), before + 1);
        want(cora, "rates.changed", false).await;
        import_deck(world, &scene.admin, &scene.upstream, "", CALL_DECK).await;
        assert_eq!(recipients(&world.mails().await, "Our rates change").len(), before + 1);
        scene.end().await;
    }
}
