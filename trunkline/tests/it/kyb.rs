//! KYB: documents from the first upload to the decision.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use billing::vat::{self, Category};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::client::{Answer, Session};
use crate::world::engines::{TestDb, both, uuid};
use crate::world::fixtures::key;
use crate::world::fixtures::onboarding::sign_up;
use crate::world::form::{Form, jpeg, pdf, png};

const KINDS: [&str; 3] = ["company_registration", "director_id", "proof_of_address"];
const UPLOAD: &str = "/me/kyb/documents";

async fn upload(session: &Session, kind: &str, file_name: &str, content: &[u8]) -> Value {
    Form::document(kind, file_name, content).post(session, UPLOAD).await.expect(201)
}

/// Uploads all required documents and submits the intake.
async fn submitted(session: &Session) -> String {
    for kind in KINDS {
        upload(session, kind, "scan.pdf", &pdf(&format!("/{kind} 1"))).await;
    }
    let intake = session.post("/me/kyb/submit", json!({})).await.ok();
    assert_eq!(intake["status"], "submitted");
    intake["id"].as_str().unwrap().to_owned()
}

async fn onboarding_status(session: &Session) -> Value {
    session.get("/account").await.ok()["onboarding_status"].clone()
}

fn stored_files(world: &World) -> Vec<PathBuf> {
    fn below(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
    }
    below(&world.data_folder().join("files"))
}

async fn count(db: &TestDb, sql: &'static str) -> i64 {
    let (count,): (i64,) = db.read().await.unwrap().one(sql, &[]).await.unwrap();
    count
}

/// Actions of the audit log that begin so, with their outcomes.
async fn audited(db: &TestDb, prefix: &str) -> Vec<(String, String)> {
    let mut conn = db.read().await.unwrap();
    let rows: Vec<(String, String)> =
        conn.all("SELECT action, outcome FROM audit_log ORDER BY seq", &[]).await.unwrap();
    rows.into_iter().filter(|(action, _)| action.starts_with(prefix)).collect()
}

both! {
    async fn documents_are_uploaded_rejected_and_uploaded_again(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let opened = petra.get("/me/kyb").await.ok();
        assert_eq!((&opened["status"], &opened["required_docs"]), (&json!("open"), &json!(KINDS)));
        assert!(opened["id"].as_str().unwrap().starts_with("kyb_") && opened["created_at"].is_i64());
        assert_eq!(onboarding_status(&petra).await, "docs_requested");

        let document = upload(&petra, "director_id", "passport.jpg", &jpeg(600, 800)).await;
        assert!(document["id"].as_str().unwrap().starts_with("kybd_"));
        assert_eq!((&document["doc_kind"], &document["content_type"]), (&json!("director_id"), &json!("image/jpeg")));
        assert_eq!(petra.get("/me/kyb").await.ok()["uploaded_docs"], json!(["director_id"]));
        let missing = petra.post("/me/kyb/submit", json!({})).await.invalid();
        assert_eq!(missing, ["company_registration", "proof_of_address"]);
        let first = submitted(&petra).await;
        assert_eq!(first, opened["id"].as_str().unwrap());
        assert_eq!(onboarding_status(&petra).await, "under_review");

        let note = json!({"reviewer_note": "The passport cannot be read."});
        let rejected = admin.post(&format!("/admin/kyb/{first}/reject"), note).await.ok();
        assert_eq!(rejected["status"], "rejected");
        assert_eq!(rejected["reviewer_note"], "The passport cannot be read.");
        assert!(rejected["reviewed_at"].is_i64());
        assert_eq!(onboarding_status(&petra).await, "docs_requested");
        assert!(world.mails().await.pop().unwrap().text.contains("The passport cannot be read."));

        world.advance(1).await;
        let second = petra.get("/me/kyb").await.ok();
        assert_ne!(second["id"], rejected["id"]);
        assert_eq!((&second["status"], &second["uploaded_docs"]), (&json!("open"), &json!([])));
        let second = submitted(&petra).await;
        let approved = admin.post(&format!("/admin/kyb/{second}/approve"), json!({})).await.ok();
        assert_eq!((&approved["status"], &approved["reviewer_note"]), (&json!("approved"), &Value::Null));
        assert_eq!(onboarding_status(&petra).await, "approved");
        assert_eq!(petra.get("/me/kyb").await.ok()["status"], "approved");
        admin.post(&format!("/admin/kyb/{second}/approve"), json!({})).await.problem(409, "state.conflict");

        let listed = admin.get("/admin/kyb").await.ok();
        let statuses: Vec<&Value> = listed["items"].as_array().unwrap().iter().map(|item| &item["status"]).collect();
        assert_eq!(statuses, ["approved", "rejected"]);
        let open = admin.get("/admin/kyb?status=open").await.ok();
        assert_eq!(open, json!({"items": []}));
        let item = &admin.get("/admin/kyb?status=rejected").await.ok()["items"][0];
        assert_eq!((&item["document_count"], &item["account_legal_name"]), (&json!(4), &json!("Prospect BV")));
        let success = |action: &str| (action.to_owned(), "success".to_owned());
        let trail = audited(db, "kyb.").await;
        for action in ["kyb.open", "kyb.upload", "kyb.submit", "kyb.reject", "kyb.approve"] {
            assert!(trail.contains(&success(action)), "{action}: {trail:?}");
        }
        world.end().await;
    }

    async fn the_country_of_a_company_is_fixed_when_kyb_is_submitted(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let address = |country: &str| json!({"line1": "Street 1", "city": "City", "postal_code": "1000", "country": country});
        for (email, before, after) in [("with@prospect.example", Some("BE"), "BE"), ("without@prospect.example", None, "ZZ")] {
            let signup = json!({"email": email, "company": "Prospect BV", "expected_volume": "much"});
            let id = world.anyone().post("/signup", signup).await.expect(202)["signup_id"].as_str().unwrap().to_owned();
            admin.post(&format!("/admin/beta/{id}/approve"), json!({})).await.ok();
            let token = world.mails().await.pop().unwrap().token();
            let petra = world.session(&world.anyone().post("/auth/first-login", json!({"token": token})).await.ok());
            if let Some(country) = before {
                petra.patch("/account", json!({"postal_address": address(country)})).await.ok();
            }
            let intake = submitted(&petra).await;
            admin.post(&format!("/admin/kyb/{intake}/approve"), json!({})).await.ok();
            // A new address, or a country that nobody has looked at, would switch VAT off.
            petra.patch("/account", json!({"postal_address": address("US")})).await.ok();
            assert_eq!(petra.get("/me/account").await.ok()["country"], after);
            petra.patch("/me/account", json!({"country": "US"})).await.problem(409, "state.conflict");
            let (app, account) = (&world.node.app, petra.account_id.parse().unwrap());
            let mut conn = app.db.read().await.unwrap();
            let (decision, _) = vat::assess(&mut conn, &app.settings.tax, account).await.unwrap();
            assert_eq!(decision.category, Category::Standard, "{email}");
        }
        world.end().await;
    }

    async fn a_file_type_is_detected_from_its_content_and_not_its_name(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let document = upload(&petra, "other", "scan.pdf", &png(100, 100)).await;
        assert_eq!(document["content_type"], "image/png");
        for harmless in ["../../x", "..\\..\\x", "/etc/passwd", "", "x\u{202e}fdp.exe", &"n".repeat(400)] {
            upload(&petra, "other", harmless, &pdf(harmless)).await;
        }
        let mut conn = db.read().await.unwrap();
        let names: Vec<(String,)> = conn.all("SELECT file_name FROM intake_documents", &[]).await.unwrap();
        assert!(names.iter().all(|(name,)| !name.contains(['/', '\\']) && name.len() <= 150), "{names:?}");
        assert!(stored_files(&world).iter().all(|file| file.file_name().unwrap().len() == 64));
        world.end().await;
    }

    async fn dangerous_files_are_refused_and_leave_nothing_behind(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let files: [(&str, Vec<u8>); 10] = [
            ("run.sh", b"#!/bin/sh\nrm -rf /\n".to_vec()),
            ("logo.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>".to_vec()),
            ("scan.pdf", b"<!DOCTYPE html><script>alert(1)</script>".to_vec()),
            ("archive.zip", b"PK\x03\x04 a zip archive of something".to_vec()),
            ("locked.pdf", pdf("/Encrypt 5 0 R")),
            ("scripted.pdf", pdf("/OpenAction << /S /JavaScript /JS (app.alert(1)) >>")),
            ("disguised.pdf", pdf("/OpenAction << /S /J#61vaScript >>")),
            ("launching.pdf", pdf("/A << /S /Launch /F (calc.exe) >>")),
            ("huge.png", png(41_000, 1_000)),
            ("empty.pdf", Vec::new()),
        ];
        for (name, content) in files {
            let answer = Form::document("other", name, &content).post(&petra, UPLOAD).await;
            assert_eq!(answer.invalid(), ["file"], "{name}");
        }
        assert_eq!(stored_files(&world), Vec::<PathBuf>::new());
        assert_eq!(count(db, "SELECT COUNT(*) FROM intake_documents").await, 0);
        world.end().await;
    }

    async fn a_file_over_the_limit_is_refused_and_leaves_nothing_behind(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let mut content = pdf("");
        content.resize(16 * 1024 * 1024, b' ');
        upload(&petra, "other", "largest.pdf", &content).await;
        assert_eq!(stored_files(&world).len(), 1);
        for excess in [1, 1024 * 1024] {
            content.resize(16 * 1024 * 1024 + excess, b'\n');
            let answer = Form::document("other", "too-large.pdf", &content).post(&petra, UPLOAD).await;
            answer.problem(413, "request.too_large");
        }
        assert_eq!(stored_files(&world).len(), 1);
        world.end().await;
    }

    async fn an_open_intake_holds_twenty_files_that_can_be_deleted(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let mut ids = Vec::new();
        for number in 0..20 {
            let kind = KINDS[number % 3];
            let document = upload(&petra, kind, "scan.pdf", &pdf(&format!("/N {number}"))).await;
            ids.push(document["id"].as_str().unwrap().to_owned());
        }
        let one_more = || Form::document("other", "scan.pdf", &pdf("/N 21")).post(&petra, UPLOAD);
        one_more().await.problem(409, "state.conflict");
        assert_eq!(stored_files(&world).len(), 20);
        petra.delete(&format!("{UPLOAD}/{}", ids[0])).await.expect(204);
        petra.delete(&format!("{UPLOAD}/{}", ids[0])).await.problem(404, "not_found");
        one_more().await.expect(201);
        // The same id as a plain UUID.
        let plain = ids[1].strip_prefix("kybd_").unwrap();
        petra.delete(&format!("{UPLOAD}/{plain}")).await.expect(204);
        petra.post("/me/kyb/submit", json!({})).await.ok();
        petra.delete(&format!("{UPLOAD}/{}", ids[2])).await.problem(409, "state.conflict");
        one_more().await.problem(409, "state.conflict");
        petra.post("/me/kyb/submit", json!({})).await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn an_intake_submitted_several_times_at_once_gives_one_answer(db) {
        let world = World::unlimited(db).await;
        for round in 0..5 {
            let petra = sign_up(&world, &format!("petra{round}@prospect.example")).await;
            for kind in KINDS {
                upload(&petra, kind, "scan.pdf", &pdf(&format!("/{kind} {round}"))).await;
            }
            let caller = petra.with_key(key());
            let answers = join_all((0..4).map(|_| caller.post("/me/kyb/submit", json!({})))).await;
            for answer in &answers {
                assert_eq!((answer.status, &answer.body), (200, &answers[0].body), "round {round}");
            }
        }
        world.end().await;
    }

    async fn a_document_of_a_rejected_intake_cannot_be_deleted(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let document = upload(&petra, "other", "scan.pdf", &pdf("/Extra 1")).await;
        let remove = format!("{UPLOAD}/{}", document["id"].as_str().unwrap());
        let id = submitted(&petra).await;
        let reject = format!("/admin/kyb/{id}/reject");
        // A decision needs no body.
        assert_eq!(admin.call(Method::POST, &reject, None).await.ok()["reviewer_note"], Value::Null);
        petra.delete(&remove).await.problem(409, "state.conflict");
        petra.delete(&format!("{UPLOAD}/{}", uuid())).await.problem(404, "not_found");
        assert_eq!(count(db, "SELECT COUNT(*) FROM intakes").await, 1);
        assert_eq!(count(db, "SELECT COUNT(*) FROM intake_documents").await, 4);
        world.end().await;
    }

    async fn an_intake_without_an_accepted_document_cannot_be_approved(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        upload(&petra, "other", "scan.pdf", &pdf("/other 1")).await;
        let kyb = submitted(&petra).await;
        let intake = format!("/admin/compliance/intakes/{}", kyb.strip_prefix("kyb_").unwrap());
        let documents = admin.get(&intake).await.ok()["documents"].clone();
        let judge = async |kind: &str, verdict: Value| {
            let document = documents.as_array().unwrap().iter().find(|document| document["kind"] == kind).unwrap();
            admin.patch(&format!("{intake}/documents/{}", document["id"].as_str().unwrap()), verdict).await.ok();
        };
        let rejected = json!({"status": "rejected", "reject_reason": "Blurred"});
        judge("other", rejected.clone()).await;
        judge("director_id", rejected).await;
        for path in [format!("/admin/kyb/{kyb}/approve"), format!("{intake}/approve")] {
            let refused = admin.post(&path, json!({})).await.problem(409, "state.conflict");
            let detail = refused["detail"].as_str().unwrap();
            assert!(detail.contains("director_id") && !detail.contains("other"), "{detail}");
        }
        assert_eq!(onboarding_status(&petra).await, "under_review");
        judge("director_id", json!({"status": "accepted"})).await;
        // A document that is not required need not be accepted.
        admin.post(&format!("/admin/kyb/{kyb}/approve"), json!({})).await.ok();
        assert_eq!(onboarding_status(&petra).await, "approved");
        world.end().await;
    }

    async fn a_kyb_refusal_names_the_status_and_the_allowed_ones(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let document = upload(&petra, "other", "scan.pdf", &pdf("")).await["id"].as_str().unwrap().to_owned();
        let kyb = petra.get("/me/kyb").await.ok()["id"].as_str().unwrap().to_owned();
        let words = |answer: Answer| answer.problem(409, "state.conflict")["detail"].as_str().unwrap().to_owned();
        let decide = async |verdict: &str| words(admin.post(&format!("/admin/kyb/{kyb}/{verdict}"), json!({})).await);
        let early = decide("approve").await;
        assert!(early.contains("is open") && early.contains("submitted") && !early.contains("draft"), "{early}");
        submitted(&petra).await;
        let hand_in = async || {
            let form = Form::document("other", "scan.pdf", &pdf("/More 1"));
            [
                words(form.post(&petra, UPLOAD).await),
                words(petra.delete(&format!("{UPLOAD}/{document}")).await),
                words(petra.post("/me/kyb/submit", json!({})).await),
            ]
        };
        for late in hand_in().await {
            assert!(late.contains("is submitted") && late.contains("open"), "{late}");
        }
        admin.post(&format!("/admin/kyb/{kyb}/approve"), json!({})).await.ok();
        for late in hand_in().await {
            assert!(late.contains("is approved") && late.contains("Nothing more"), "{late}");
        }
        let again = decide("reject").await;
        assert!(again.contains("is approved") && again.contains("final"), "{again}");
        world.end().await;
    }

    async fn another_account_does_not_find_the_documents(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let sam = sign_up(&world, "sam@stranger.example").await;
        let document = upload(&petra, "other", "scan.pdf", &pdf("")).await;
        let kyb = petra.get("/me/kyb").await.ok()["id"].as_str().unwrap().to_owned();
        let intake = kyb.strip_prefix("kyb_").unwrap();
        sam.delete(&format!("{UPLOAD}/{}", document["id"].as_str().unwrap())).await.problem(404, "not_found");
        sam.get(&format!("/compliance/intakes/{intake}")).await.problem(404, "not_found");
        sam.post(&format!("/compliance/intakes/{intake}/submit"), json!({})).await.problem(404, "not_found");
        let path = format!("/compliance/intakes/{intake}/documents");
        Form::document("other", "scan.pdf", &pdf("/Sam 1")).post(&sam, &path).await.problem(404, "not_found");
        assert_eq!(stored_files(&world).len(), 1);
        for path in ["/admin/kyb", "/admin/kyb/{}", "/admin/compliance/intakes", "/admin/compliance/intakes/{}"] {
            sam.get(&path.replace("{}", intake)).await.problem(403, "auth.forbidden");
        }
        assert_ne!(sam.get("/me/kyb").await.ok()["id"], json!(kyb));
        world.end().await;
    }

    async fn the_team_reads_documents_by_expiring_links_and_support_cannot_decide(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        world.user("sid@carrier.example", Role::Support).await;
        let support = world.sign_in("sid@carrier.example").await;
        upload(&petra, "other", "../Scan März.pdf", &png(10, 10)).await;
        let id = submitted(&petra).await;
        let detail = support.get(&format!("/admin/kyb/{id}")).await.ok();
        assert_eq!(detail["account_summary"]["contact_email"], "petra@prospect.example");
        assert_eq!(detail["documents"].as_array().unwrap().len(), 4);
        let link = detail["documents"][0]["download_url"].as_str().unwrap();
        let path = format!("/files/{}", link.rsplit('/').next().unwrap());
        let file = world.anyone().get(&path).await;
        assert_eq!((file.status, file.header("content-type")), (200, Some("image/png")));
        assert_eq!(file.header("content-disposition"), Some("attachment; filename*=UTF-8''Scan%20M%C3%A4rz.pdf.png"));
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(file.bytes, png(10, 10));
        for action in ["approve", "reject"] {
            support.post(&format!("/admin/kyb/{id}/{action}"), json!({})).await.problem(403, "auth.forbidden");
        }
        let shown = ("kyb.documents_shown".to_owned(), "success".to_owned());
        assert!(audited(db, "kyb.documents_shown").await.contains(&shown));
        support.get("/admin/kyb").await.ok();
        assert_eq!(audited(db, "kyb.documents_shown").await.len(), 1);
        support.get(&format!("/admin/kyb/{}", uuid())).await.problem(404, "not_found");
        world.advance(361).await;
        world.anyone().get(&path).await.problem(404, "not_found");
        world.end().await;
    }

    async fn twenty_concurrent_first_reads_open_one_intake(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let answers = join_all((0..20).map(|_| petra.get("/me/kyb"))).await;
        let mut ids: Vec<Value> = answers.into_iter().map(|answer| answer.ok()["id"].clone()).collect();
        ids.dedup();
        assert_eq!(ids.len(), 1);
        assert_eq!(count(db, "SELECT COUNT(*) FROM intakes").await, 1);
        assert_eq!(audited(db, "kyb.open").await.len(), 1);
        world.end().await;
    }

    async fn a_read_only_token_opens_no_intake(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let path = format!("/admin/customers/{}/impersonate", petra.account_id);
        let given = world.admin().await.post(&path, json!({"reason": "Ticket 7"})).await.ok();
        let reader = world.bearing(given["access_token"].as_str().unwrap());
        reader.get("/me/kyb").await.problem(404, "not_found");
        assert_eq!(count(db, "SELECT COUNT(*) FROM intakes").await, 0);
        let opened = petra.get("/me/kyb").await.ok();
        assert_eq!(reader.get("/me/kyb").await.ok(), opened);
        reader.post("/me/kyb/submit", json!({})).await.problem(403, "auth.forbidden");
        world.end().await;
    }

    async fn one_of_many_concurrent_submissions_or_decisions_succeeds(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        for kind in KINDS {
            upload(&petra, kind, "scan.pdf", &pdf("")).await;
        }
        let submits = join_all((0..5).map(|_| petra.post("/me/kyb/submit", json!({})))).await;
        let mut outcomes: Vec<u16> = submits.iter().map(|answer| answer.status).collect();
        outcomes.sort_unstable();
        assert_eq!(outcomes, [200, 409, 409, 409, 409]);
        let id = petra.get("/me/kyb").await.ok()["id"].as_str().unwrap().to_owned();
        let decide = |number: usize| {
            let path = format!("/admin/kyb/{id}/{}", ["approve", "reject"][number % 2]);
            let admin = admin.clone();
            async move { admin.post(&path, json!({})).await.status }
        };
        let mut outcomes = join_all((0..4).map(decide)).await;
        outcomes.sort_unstable();
        assert_eq!(outcomes, [200, 409, 409, 409]);
        world.end().await;
    }

    async fn an_upload_repeated_under_its_key_is_one_document(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let keyed = petra.with_key(uuid::Uuid::from_u128(0x1234_5678_1234_4678_9234_5678_9abc_def0));
        let first = Form::document("other", "scan.pdf", &pdf("/A 1")).post(&keyed, UPLOAD).await;
        let same = Form::default().file("file", "scan.pdf", &pdf("/A 1")).text("doc_kind", "other");
        let again = same.post(&keyed, UPLOAD).await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(first.expect(201), again.expect(201));
        let another = Form::document("other", "scan.pdf", &pdf("/A 2")).post(&keyed, UPLOAD).await;
        another.problem(409, "idempotency.conflict");
        assert_eq!(count(db, "SELECT COUNT(*) FROM intake_documents").await, 1);
        assert_eq!(stored_files(&world).len(), 1);
        world.end().await;
    }

    async fn only_orphaned_files_are_deleted_after_a_day(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let kept = upload(&petra, "other", "kept.pdf", &pdf("/Kept 1")).await;
        // The same content under two rows, one of which goes.
        let shared = upload(&petra, "other", "shared.pdf", &pdf("/Shared 1")).await;
        upload(&petra, "tax_certificate", "shared-too.pdf", &pdf("/Shared 1")).await;
        let removed = upload(&petra, "other", "removed.pdf", &pdf("/Removed 1")).await;
        for document in [&shared, &removed] {
            petra.delete(&format!("{UPLOAD}/{}", document["id"].as_str().unwrap())).await.expect(204);
        }
        assert_eq!(stored_files(&world).len(), 3);
        world.advance(2 * 86_400).await;
        assert_eq!(stored_files(&world).len(), 2, "{kept}");
        assert_eq!(world.sign_in("petra@prospect.example").await.get("/me/kyb").await.ok()["status"], "open");
        world.end().await;
    }
}
