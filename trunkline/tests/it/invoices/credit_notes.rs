//! Void and credited invoices.

use serde_json::json;
use tokio::task::JoinSet;
use values::{Role, Time};

use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::invoices::{
    balance, customer_with_invoice, dunning_reasons, eur, euros, invoice_numbers, invoice_owner,
};
use crate::world::fixtures::key;

const NOTE_NUMBERS: &str = "SELECT number FROM credit_notes ORDER BY number";

/// Sends ten requests concurrently and returns how many succeed; the others must be state conflicts.
async fn ten_at_once(world: &World, paths: &[String]) -> usize {
    let admin = world.minted(Role::Admin).await;
    let mut tasks = JoinSet::new();
    for path in paths.iter().cycle().take(10) {
        let (admin, path) = (admin.with_key(key()), path.clone());
        tasks.spawn(async move { admin.post(&path, json!({"reason": "wrong customer"})).await });
    }
    let answers = tasks.join_all().await;
    let succeeded = answers.iter().filter(|answer| answer.status == 200).count();
    for answer in answers.into_iter().filter(|answer| answer.status != 200) {
        answer.problem(409, "state.conflict");
    }
    succeeded
}

both! {
    async fn a_void_invoice_keeps_its_number_and_gives_the_vat_back(db) {
        let world = World::start(db).await;
        let (customer, invoice) = customer_with_invoice(&world, false).await;
        let account = invoice_owner(&world, invoice).await;
        assert_eq!(balance(&world, account).await, euros(-121));
        assert!(dunning_reasons(&world, account).await.contains(&"unpaid_invoice".to_owned()));
        let before = customer.get(&format!("/invoices/{invoice}")).await.ok();
        let admin = world.minted(Role::Admin).await;
        let path = format!("/admin/invoices/{invoice}/void");
        let reasonless = admin.with_key(key()).post(&path, json!({})).await;
        assert_eq!(reasonless.invalid(), ["reason"]);
        let void = admin.with_key(key()).post(&path, json!({"reason": "wrong customer"})).await.ok();
        assert_eq!((&void["status"], &void["number"]), (&json!("void"), &before["number"]));
        assert_eq!((&void["reason"], &void["credit_note"]), (&json!("wrong customer"), &json!(null)));
        assert_eq!(balance(&world, account).await, euros(-100));
        assert!(!dunning_reasons(&world, account).await.contains(&"unpaid_invoice".to_owned()));
        let credit = format!("/admin/invoices/{invoice}/credit");
        let refused = admin.with_key(key()).post(&credit, json!({"reason": "once more"})).await;
        let problem = refused.problem(409, "state.conflict");
        assert_eq!(problem["detail"], "The invoice is void. This is allowed only while it is issued or paid.");
        world.end().await;
    }

    async fn a_paid_invoice_cannot_be_voided_but_gets_a_credit_note(db) {
        let world = World::start(db).await;
        let (customer, invoice) = customer_with_invoice(&world, true).await;
        let account = invoice_owner(&world, invoice).await;
        assert_eq!(balance(&world, account).await, euros(879));
        let admin = world.minted(Role::Admin).await;
        let void = format!("/admin/invoices/{invoice}/void");
        admin.with_key(key()).post(&void, json!({"reason": "no"})).await.problem(409, "state.conflict");
        let credit = format!("/admin/invoices/{invoice}/credit");
        let credited = admin.with_key(key()).post(&credit, json!({"reason": "bad lines all month"})).await.ok();
        assert_eq!(credited["status"], "credited");
        assert_eq!(balance(&world, account).await, euros(1000));
        world.settle().await;
        let shown = customer.get(&format!("/invoices/{invoice}")).await.ok();
        let note = &shown["credit_note"];
        let year = &credited["issue_date"].as_str().unwrap()[..4];
        assert_eq!(note["number"], format!("CN-{year}-000001"));
        let document = world.anyone().get(note["pdf_url"].as_str().unwrap()).await;
        assert!(document.bytes.starts_with(b"%PDF-1.7"));
        let (facts,): (String,) = db.read().await.unwrap().one("SELECT facts FROM credit_notes", &[]).await.unwrap();
        assert!(facts.contains("bad lines all month") && facts.contains(shown["number"].as_str().unwrap()), "{facts}");
        world.end().await;
    }

    async fn one_of_ten_concurrent_voids_succeeds(db) {
        let world = World::unlimited(db).await;
        let (_, invoice) = customer_with_invoice(&world, false).await;
        assert_eq!(ten_at_once(&world, &[format!("/admin/invoices/{invoice}/void")]).await, 1);
        assert_eq!(balance(&world, invoice_owner(&world, invoice).await).await, euros(-100));
        world.end().await;
    }

    async fn one_of_ten_concurrent_credit_notes_succeeds(db) {
        let world = World::unlimited(db).await;
        let (_, invoice) = customer_with_invoice(&world, true).await;
        assert_eq!(ten_at_once(&world, &[format!("/admin/invoices/{invoice}/credit")]).await, 1);
        assert_eq!(balance(&world, invoice_owner(&world, invoice).await).await, euros(1000));
        assert_eq!(invoice_numbers(&world, NOTE_NUMBERS).await.len(), 1);
        world.end().await;
    }

    async fn one_of_concurrent_voids_and_credits_succeeds_without_number_gaps(db) {
        let world = World::unlimited(db).await;
        let mut credited = 0;
        for _ in 0..4 {
            let (_, invoice) = customer_with_invoice(&world, false).await;
            let paths = ["void", "credit"].map(|what| format!("/admin/invoices/{invoice}/{what}"));
            assert_eq!(ten_at_once(&world, &paths).await, 1);
            let is_credited = invoice_numbers(&world, NOTE_NUMBERS).await.len() > credited;
            credited += usize::from(is_credited);
            let left = if is_credited { eur(0) } else { euros(-100) };
            assert_eq!(balance(&world, invoice_owner(&world, invoice).await).await, left);
        }
        let year = values::Date::from(Time::from_seconds(world.seconds())).civil().year();
        let expected: Vec<String> = (1..=credited).map(|number| format!("CN-{year}-{number:06}")).collect();
        assert_eq!(invoice_numbers(&world, NOTE_NUMBERS).await, expected);
        world.end().await;
    }

    async fn a_repeated_credit_is_answered_alike_and_happens_once(db) {
        let world = World::start(db).await;
        let (_, invoice) = customer_with_invoice(&world, true).await;
        let admin = world.minted(Role::Admin).await.with_key(key());
        let path = format!("/admin/invoices/{invoice}/credit");
        let first = admin.post(&path, json!({"reason": "twice"})).await;
        let again = admin.post(&path, json!({"reason": "twice"})).await;
        assert_eq!((first.status, &first.bytes), (200, &again.bytes));
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(balance(&world, invoice_owner(&world, invoice).await).await, euros(1000));
        world.end().await;
    }
}
