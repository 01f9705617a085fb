//! Compliance intakes: the documents of a number order, and KYB intakes under the same endpoints.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::DbError;
use identity::compliance::open_regulatory;
use serde_json::{Value, json};
use uuid::Uuid;
use values::{AccountId, DocKind, IntakeId};

use crate::world::client::Session;
use crate::world::engines::{both, uuid};
use crate::world::fixtures::documents::upload_document;
use crate::world::form::{Form, pdf};
use crate::world::{PASSWORD, World};

/// Opens the intake of a number order that needs documents.
async fn open(world: &World, session: &Session, order: Uuid) -> String {
    let account: AccountId = session.account_id.parse().unwrap();
    let id: IntakeId = world
        .node
        .app
        .db
        .tx((account, order), |conn, (account, order)| {
            Box::pin(async move {
                let kinds = ["address_proof", "identity"].map(DocKind::named);
                open_regulatory(conn, *account, *order, &kinds).await
            })
        })
        .await
        .map_err(|error: DbError| error)
        .unwrap();
    id.to_string()
}

both! {
    async fn the_documents_of_a_number_order_are_reviewed_until_approved(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let cora = world.customer("cora@customer.example").await;
        let order = uuid();
        let id = open(&world, &cora, order).await;
        let intake = cora.get(&format!("/compliance/intakes/{id}")).await.ok();
        assert_eq!((&intake["purpose"], &intake["status"]), (&json!("regulatory_did"), &json!("draft")));
        assert_eq!(intake["related_resource_id"], json!(order));
        assert!(intake["created_at"].as_str().unwrap().ends_with('Z'));
        let submit = format!("/compliance/intakes/{id}/submit");
        assert_eq!(cora.post(&submit, json!({})).await.invalid(), ["address_proof", "identity"]);
        upload_document(&cora, &id, "address_proof").await;
        let document = upload_document(&cora, &id, "identity").await;
        assert_eq!((&document["status"], &document["filename"]), (&json!("pending"), &json!("scan.pdf")));
        assert!(document.get("download_url").is_none());
        cora.post(&submit, json!({})).await.ok();

        let act = |action: &str, body: Value| {
            let (admin, path) = (admin.clone(), format!("/admin/compliance/intakes/{id}/{action}"));
            async move { admin.post(&path, body).await }
        };
        assert_eq!(act("review", json!({})).await.ok()["status"], "under_review");
        act("review", json!({})).await.problem(409, "state.conflict");
        let detail = format!("/admin/compliance/intakes/{id}");
        let links = admin.get(&format!("{detail}/documents")).await.ok();
        let link = links["data"][1]["download_url"].as_str().unwrap();
        let file = world.anyone().get(&format!("/files/{}", link.rsplit('/').next().unwrap())).await;
        assert_eq!((file.status, file.bytes), (200, pdf("/identity 1")));
        let judge = format!("/admin/compliance/intakes/{id}/documents/{}", document["id"].as_str().unwrap());
        for (status, reason) in [("rejected", Value::Null), ("accepted", json!("Blurred")), ("pending", json!("Blurred"))] {
            let verdict = json!({"status": status, "reject_reason": reason});
            assert_eq!(admin.patch(&judge, verdict).await.invalid(), ["reject_reason"], "{status}");
        }
        assert_eq!(admin.patch(&judge, json!({"status": "rejected"})).await.invalid(), ["reject_reason"]);
        let stale = admin.header("If-Match", "\"stale\"").patch(&judge, json!({"status": "accepted"})).await;
        stale.problem(412, "precondition.failed");
        let rejected = json!({"status": "rejected", "reject_reason": "Blurred"});
        let version = admin.get(&detail).await.header("etag").unwrap().to_owned();
        let judged = admin.header("If-Match", &version).patch(&judge, rejected.clone()).await.ok();
        assert_eq!(judged["documents"][1]["reject_reason"], "Blurred");
        let elsewhere = format!("/admin/compliance/intakes/{id}/documents/{}", uuid());
        admin.patch(&elsewhere, json!({"status": "accepted"})).await.problem(404, "not_found");
        let more = act("request-more", json!({"note": "A sharper copy, please."})).await.ok();
        assert_eq!(more["status"], "more_info_requested");
        assert!(world.mails().await.pop().unwrap().text.contains("A sharper copy, please."));
        admin.patch(&judge, rejected).await.problem(409, "state.conflict");

        // The rejected document does not count.
        assert_eq!(cora.post(&submit, json!({})).await.invalid(), ["identity"]);
        upload_document(&cora, &id, "identity").await;
        cora.post(&submit, json!({})).await.ok();
        let approved = act("approve", json!({})).await.ok();
        assert_eq!((&approved["status"], &approved["account_id"]), (&json!("approved"), &json!(cora.account_id)));
        act("reject", json!({})).await.problem(409, "state.conflict");
        cora.post(&submit, json!({})).await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn a_document_can_be_deleted_while_the_intake_is_open(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let cora = world.customer("cora@customer.example").await;
        let carl = world.customer("carl@customer.example").await;
        let (id, other) = (open(&world, &cora, uuid()).await, open(&world, &cora, uuid()).await);
        let mut first = None;
        for number in 0..20 {
            let form = Form::document("identity", "scan.pdf", &pdf(&format!("/N {number}")));
            let document = form.post(&cora, &format!("/compliance/intakes/{id}/documents")).await.expect(201);
            first.get_or_insert(document["id"].as_str().unwrap().to_owned());
        }
        let first = first.unwrap();
        let full = Form::document("identity", "scan.pdf", &pdf("/One 1"));
        full.post(&cora, &format!("/compliance/intakes/{id}/documents")).await.problem(409, "state.conflict");
        let remove = format!("/compliance/intakes/{id}/documents/{first}");
        carl.delete(&remove).await.problem(404, "not_found");
        cora.delete(&format!("/compliance/intakes/{other}/documents/{first}")).await.problem(404, "not_found");
        cora.delete(&remove).await.expect(204);
        cora.delete(&remove).await.problem(404, "not_found");
        upload_document(&cora, &id, "address_proof").await;
        let intake = cora.post(&format!("/compliance/intakes/{id}/submit"), json!({})).await.ok();
        let second = intake["documents"][0]["id"].as_str().unwrap();
        assert_ne!(second, first);
        let remove = format!("/compliance/intakes/{id}/documents/{second}");
        let refused = cora.delete(&remove).await.problem(409, "state.conflict");
        assert!(refused["detail"].as_str().unwrap().contains("submitted"), "{refused}");
        admin.post(&format!("/admin/compliance/intakes/{id}/request-more"), json!({})).await.ok();
        cora.delete(&remove).await.expect(204);
        world.end().await;
    }

    async fn customers_list_their_own_intakes_and_the_team_filters_all(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let cora = world.customer("cora@customer.example").await;
        let carl = world.customer("carl@customer.example").await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(open(&world, &cora, uuid()).await);
            world.advance(1).await;
        }
        open(&world, &carl, uuid()).await;
        carl.get("/me/kyb").await.ok();
        let mut seen = Vec::new();
        let mut path = "/compliance/intakes?limit=2".to_owned();
        loop {
            let page = cora.get(&path).await.ok();
            let intakes = page["data"].as_array().unwrap().iter();
            seen.extend(intakes.map(|intake| intake["id"].as_str().unwrap().to_owned()));
            let Some(cursor) = page["meta"]["next_cursor"].as_str() else { break };
            path = format!("/compliance/intakes?limit=2&cursor={cursor}");
        }
        ids.reverse();
        assert_eq!(seen, ids);
        let total = |filter: &str| {
            let (admin, path) = (admin.clone(), format!("/admin/compliance/intakes{filter}"));
            async move { admin.get(&path).await.ok()["data"].as_array().unwrap().len() }
        };
        assert_eq!(total("").await, 5);
        assert_eq!(total("?purpose=kyb").await, 1);
        assert_eq!(total("?purpose=regulatory_did&status=draft").await, 4);
        assert_eq!(total("?status=approved").await, 0);
        assert_eq!(admin.get("/admin/compliance/intakes?status=open").await.invalid(), ["status"]);
        world.end().await;
    }

    async fn every_listed_intake_has_its_own_documents(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let cora = world.customer("cora@customer.example").await;
        let mut expected = Vec::new();
        for kinds in [&["identity", "address_proof", "identity"][..], &[], &["identity"]] {
            let id = open(&world, &cora, uuid()).await;
            for kind in kinds {
                upload_document(&cora, &id, kind).await;
                world.advance(1).await;
            }
            world.advance(1).await;
            expected.insert(0, (id, kinds.to_vec()));
        }
        for (session, list) in [(&cora, "/compliance/intakes"), (&admin, "/admin/compliance/intakes")] {
            let all = session.get(list).await.ok();
            for (listed, (id, kinds)) in all["data"].as_array().unwrap().iter().zip(&expected) {
                let shown = session.get(&format!("{list}/{id}")).await.ok();
                assert_eq!(listed, &shown);
                let documents = listed["documents"].as_array().unwrap().iter();
                assert_eq!(documents.map(|document| document["kind"].as_str().unwrap()).collect::<Vec<_>>(), *kinds);
            }
            let first = session.get(&format!("{list}?limit=2")).await.ok();
            assert_eq!(first["data"].as_array().unwrap()[..], all["data"].as_array().unwrap()[..2]);
            let cursor = first["meta"]["next_cursor"].as_str().unwrap();
            let rest = session.get(&format!("{list}?limit=2&cursor={cursor}")).await.ok();
            assert_eq!(rest["data"].as_array().unwrap()[..], all["data"].as_array().unwrap()[2..]);
        }
        world.end().await;
    }

    async fn a_rejected_kyb_intake_can_be_submitted_again(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let signup = json!({
            "legal_name": "Prospect BV", "country": "NL", "contact_name": "Petra Prospect",
            "contact_email": "petra@prospect.example", "password": PASSWORD,
        });
        world.anyone().post("/beta/signup", signup).await.expect(202);
        let petra = world.sign_in("petra@prospect.example").await;
        let kyb = petra.get("/me/kyb").await.ok()["id"].as_str().unwrap().to_owned();
        let id = Uuid::parse_str(kyb.strip_prefix("kyb_").unwrap()).unwrap().to_string();
        for kind in ["company_registration", "proof_of_address", "director_id"] {
            upload_document(&petra, &id, kind).await;
        }
        let submit = format!("/compliance/intakes/{id}/submit");
        petra.post(&submit, json!({})).await.ok();
        assert_eq!(petra.get("/account").await.ok()["onboarding_status"], "under_review");
        admin.post(&format!("/admin/compliance/intakes/{id}/request-more"), json!({})).await.ok();
        assert_eq!(petra.get("/me/kyb").await.ok()["status"], "open");
        assert_eq!(petra.get("/account").await.ok()["onboarding_status"], "docs_requested");
        petra.post("/me/kyb/submit", json!({})).await.ok();
        admin.post(&format!("/admin/compliance/intakes/{id}/approve"), json!({})).await.ok();
        assert_eq!(petra.get("/account").await.ok()["onboarding_status"], "approved");
        // The intake of a number order is not a KYB intake.
        let order = open(&world, &petra, uuid()).await;
        admin.get(&format!("/admin/kyb/{order}")).await.problem(404, "not_found");
        admin.post(&format!("/admin/kyb/{order}/approve"), json!({})).await.problem(404, "not_found");
        world.end().await;
    }
}
