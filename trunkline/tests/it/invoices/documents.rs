//! The PDF of an invoice: rendered once, reproducible, and fetched by a signed link.

use billing::invoices::{DOCUMENT, InvoiceId};
use db::params;
use platform::jobs;
use platform::ledger::{Book, Entry, Kind};
use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::engines::{TestDb, both, uuid};
use crate::world::fixtures::invoices::{
    call_charge, create_account, customer_with_invoice, eur, euros, issue_invoice, last_month, post_entry, topup_entry,
};
use crate::world::fixtures::key;

const HASH: &str = "SELECT content_hash FROM invoices";

/// What the document of an invoice says.
async fn facts(db: &TestDb, invoice: InvoiceId) -> Value {
    let sql = "SELECT facts FROM invoices WHERE id = $1";
    let (facts,): (String,) = db.read().await.unwrap().one(sql, params![invoice]).await.unwrap();
    serde_json::from_str(&facts).unwrap()
}

both! {
    async fn an_invoice_pdf_is_fetched_by_an_expiring_renewable_link(db) {
        let world = World::start(db).await;
        let (customer, invoice) = customer_with_invoice(&world, true).await;
        let shown = customer.get(&format!("/invoices/{invoice}")).await.ok();
        let link = shown["pdf_url"].as_str().unwrap().to_owned();
        let file = world.anyone().get(&link).await;
        assert_eq!((file.status, file.header("content-type")), (200, Some("application/pdf")));
        assert!(file.header("content-disposition").unwrap().ends_with(&format!("invoice-{}.pdf", shown["number"].as_str().unwrap())));
        let text = String::from_utf8_lossy(&file.bytes).into_owned();
        assert!(text.starts_with("%PDF-1.7") && text.contains("factur-x.xml"), "{text}");

        world.advance(800).await;
        let renewed = customer.get(&format!("/invoices/{invoice}/pdf")).await.ok();
        assert!(renewed["expires_at"].is_string());
        world.advance(200).await;
        world.anyone().get(&link).await.problem(404, "not_found");
        let again = world.anyone().get(renewed["pdf_url"].as_str().unwrap()).await;
        assert_eq!(again.bytes, file.bytes);
        world.end().await;
    }

    async fn an_invoice_pdf_rendered_again_is_identical(db) {
        let world = World::start(db).await;
        let (customer, invoice) = customer_with_invoice(&world, false).await;
        let hash = async || db.read().await.unwrap().one::<(Option<Vec<u8>>,)>(HASH, &[]).await.unwrap().0;
        let first = hash().await.unwrap();
        let forget = db.tx((), |conn, ()| Box::pin(conn.exec("UPDATE invoices SET content_hash = NULL", &[])));
        forget.await.unwrap();
        assert_eq!(customer.get(&format!("/invoices/{invoice}")).await.ok()["pdf_url"], json!(null));
        // A request before the job has run gets the same document.
        let link = customer.get(&format!("/invoices/{invoice}/pdf")).await.ok()["pdf_url"].as_str().unwrap().to_owned();
        assert_eq!(world.anyone().get(&link).await.status, 200);
        let payload = json!({"series": "invoice", "invoice": invoice});
        db.tx(payload, |conn, payload| Box::pin(jobs::enqueue(conn, DOCUMENT, payload.clone()))).await.unwrap();
        world.settle().await;
        assert_eq!(hash().await, Some(first));
        world.end().await;
    }

    async fn an_invoice_pdf_asks_only_for_what_the_balance_lacked(db) {
        let world = World::start(db).await;
        for (paid_in, lent, paid, due) in [
            // The balance covered nothing, all but a fraction of a cent, and all of it.
            (euros(0), euros(0), 0, 12_100),
            (euros(50), euros(0), 5_000, 7_100),
            (eur(120_999_999_999), euros(0), 12_099, 1),
            (euros(121), euros(0), 12_100, 0),
            // What is owed from before is not for this invoice.
            (euros(0), euros(30), 0, 12_100),
        ] {
            let account = create_account(&world).await;
            let at = last_month(&world);
            if paid_in.is_positive() {
                post_entry(&world, topup_entry(account, paid_in), at).await;
            }
            if lent.is_positive() {
                let taken = Entry::charge(account, Kind::Correction, uuid().to_string(), &[(Book::Credits, lent)]).unwrap();
                post_entry(&world, taken, at).await;
            }
            post_entry(&world, call_charge(account, euros(100)), at).await;
            let invoice = issue_invoice(&world, account).await.unwrap();
            let facts = facts(db, invoice).await;
            let total = facts["net"].as_i64().unwrap() + facts["vat"].as_i64().unwrap();
            assert_eq!((facts["paid"].as_i64().unwrap(), total - facts["paid"].as_i64().unwrap()), (paid, due));
        }
        world.end().await;
    }

    async fn the_pdf_of_a_void_invoice_says_so_and_asks_for_no_payment(db) {
        let world = World::start(db).await;
        let (customer, invoice) = customer_with_invoice(&world, false).await;
        let link = async || customer.get(&format!("/invoices/{invoice}")).await.ok()["pdf_url"].as_str().unwrap().to_owned();
        let title = async || String::from_utf8_lossy(&world.anyone().get(&link().await).await.bytes).contains("Void invoice");
        assert!(!title().await);
        let admin = world.minted(Role::Admin).await.with_key(key());
        admin.post(&format!("/admin/invoices/{invoice}/void"), json!({"reason": "wrong customer"})).await.ok();
        world.settle().await;
        assert!(title().await);
        let facts = facts(db, invoice).await;
        assert_eq!((&facts["paid"], &facts["is_void"]), (&json!(12_100), &json!(true)));
        assert!(facts["note"].as_str().unwrap().ends_with(": wrong customer"), "{facts}");
        world.end().await;
    }

    async fn the_orphan_cleanup_keeps_invoice_pdfs(db) {
        let world = World::start(db).await;
        let (_, _) = customer_with_invoice(&world, true).await;
        let file = async || {
            let (hash,): (Vec<u8>,) = db.read().await.unwrap().one(HASH, &[]).await.unwrap();
            let hash = platform::outside::files::ContentHash::new(hash.try_into().unwrap());
            world.node.app.files.exists(&hash).await.unwrap()
        };
        world.advance(3 * 24 * 3600).await;
        assert!(file().await);
        world.end().await;
    }
}
