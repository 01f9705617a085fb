//! The document of an invoice: made once, the same whenever it is made again, and fetched by a signed link.

use serde_json::json;
use trunkline::features::invoices::DOCUMENT;
use trunkline::jobs::{self, NewJob};

use super::{invoiced, now};
use crate::world::World;
use crate::world::engines::{both, uuid};

const HASH: &str = "SELECT content_hash FROM invoices";

both! {
    async fn a_document_is_fetched_by_a_link_that_ends_and_can_be_renewed(db) {
        let world = World::start(db).await;
        let (customer, invoice) = invoiced(&world, true).await;
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

    async fn a_document_that_is_made_again_is_the_same_to_the_byte(db) {
        let world = World::start(db).await;
        let (customer, invoice) = invoiced(&world, false).await;
        let hash = async || db.read().await.unwrap().one::<(Option<Vec<u8>>,)>(HASH, &[]).await.unwrap().0;
        let first = hash().await.unwrap();
        let forget = db.tx((), |conn, ()| Box::pin(conn.exec("UPDATE invoices SET content_hash = NULL", &[])));
        forget.await.unwrap();
        assert_eq!(customer.get(&format!("/invoices/{invoice}")).await.ok()["pdf_url"], json!(null));
        // Whoever asks before the job has run is given the same document.
        let link = customer.get(&format!("/invoices/{invoice}/pdf")).await.ok()["pdf_url"].as_str().unwrap().to_owned();
        assert_eq!(world.anyone().get(&link).await.status, 200);
        let payload = json!({"series": "invoice", "invoice": invoice});
        let job = NewJob { id: uuid(), kind: DOCUMENT, payload, run_at: now(&world) };
        db.tx(job, |conn, job| Box::pin(async move { jobs::enqueue(conn, job).await })).await.unwrap();
        world.settle().await;
        assert_eq!(hash().await, Some(first));
        world.end().await;
    }

    async fn the_sweep_of_files_leaves_documents_alone(db) {
        let world = World::start(db).await;
        let (_, _) = invoiced(&world, true).await;
        let file = async || {
            let (hash,): (Vec<u8>,) = db.read().await.unwrap().one(HASH, &[]).await.unwrap();
            let hash = trunkline::outside::files::ContentHash::new(hash.try_into().unwrap());
            world.node.app.files.exists(&hash).await.unwrap()
        };
        world.advance(3 * 24 * 3600).await;
        assert!(file().await);
        world.end().await;
    }
}
