//! The beta queue as the team sees it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use identity::onboarding::Event;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Session;
use crate::world::engines::both;
use crate::world::fixtures::onboarding::{apply_event, sign_up, submit_kyb_and_card, traffic_profile};
use crate::world::form::{Form, pdf};
use crate::world::payer::{Payer, set_up_card};

/// A decision sent as a client without a body to send: no bytes, no type.
async fn decide(admin: &Session, prospect: &Session, action: &str) -> Value {
    let path = format!("/admin/beta/{}/{action}", prospect.account_id);
    admin.call(Method::POST, &path, None).await.ok()
}

both! {
    async fn a_beta_decision_needs_no_body(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        assert_eq!(decide(&admin, &petra, "decline").await["account"]["status"], "beta_declined");
        let approved = decide(&admin, &petra, "approve").await;
        assert_eq!((&approved["account"]["status"], &approved["account"]["reviewer_note"]), (&json!("beta_approved"), &Value::Null));

        let paul = sign_up(&world, "paul@prospect.example").await;
        let path = format!("/admin/beta/{}/approve", paul.account_id);
        let typed = admin.request(Method::POST, &path).header("content-type", "text/plain").body("{}");
        admin.send(typed).await.problem(415, "request.unsupported_media_type");
        let broken = admin.request(Method::POST, &path).header("content-type", "application/json").body("{");
        admin.send(broken).await.problem(400, "request.malformed");
        assert_eq!(admin.post(&path, json!({"note": "x"})).await.invalid(), ["note"]);
        // Some clients send a content type even without a body.
        admin.send(admin.request(Method::POST, &path).header("content-type", "application/json")).await.ok();
        world.end().await;
    }

    async fn every_prospect_decided_on_this_week_is_counted_whatever_its_status(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let (petra, paul) = (sign_up(&world, "petra@prospect.example").await, sign_up(&world, "paul@prospect.example").await);
        decide(&admin, &petra, "decline").await;
        decide(&admin, &petra, "approve").await;
        decide(&admin, &paul, "approve").await;
        for event in [Event::KybSubmitted, Event::KybApproved, Event::ToppedUp] {
            apply_event(&world, &paul, event).await;
        }
        assert_eq!(paul.get("/me/account").await.ok()["status"], "live");
        let stats = |total: i64, pending: i64, approved: i64, declined: i64| {
            json!({"total": total, "pending": pending, "approved_this_week": approved, "declined_this_week": declined})
        };
        assert_eq!(admin.get("/admin/beta/stats").await.ok(), stats(2, 0, 2, 1));
        world.advance(7 * 24 * 3600 + 1).await;
        let admin = world.sign_in("admin@carrier.example").await;
        let late = sign_up(&world, "late@prospect.example").await;
        decide(&admin, &late, "decline").await;
        assert_eq!(admin.get("/admin/beta/stats").await.ok(), stats(3, 0, 0, 1));
        world.end().await;
    }

    async fn the_operators_own_account_is_not_in_the_beta_queue(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        admin.get(&format!("/admin/beta/{}", admin.account_id)).await.problem(404, "not_found");
        for action in ["approve", "decline"] {
            let path = format!("/admin/beta/{}/{action}", admin.account_id);
            admin.post(&path, json!({})).await.problem(404, "not_found");
        }
        assert_eq!(admin.get("/me/account").await.ok()["status"], "live");
        world.end().await;
    }

    async fn the_beta_queue_shows_the_steps_each_prospect_has_done(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let mut prospects = Vec::new();
        for name in ["new", "first", "second", "carded"] {
            prospects.push(sign_up(&world, &format!("{name}@prospect.example")).await);
            world.advance(1).await;
        }
        let [_, first, second, carded] = prospects.as_slice() else { panic!("four prospects") };
        // Tickets may be large and have gaps.
        let moved = db.tx((), |conn, ()| Box::pin(conn.exec("UPDATE waitlist_tail SET ticket = 65534", &[])));
        moved.await.unwrap();
        for waiting in [first, second] {
            submit_kyb_and_card(db, &waiting.account_id).await;
            waiting.call(Method::PUT, "/me/traffic-profile", Some(traffic_profile())).await.ok();
        }
        // A card that is verified counts, whatever is tried after it.
        Payer::at(&set_up_card(carded).await).pay(&world, "4242424242424242").await;
        world.advance(1).await;
        Payer::at(&set_up_card(carded).await).choose(&world, &[("action", "cancel")]).await;
        carded.get("/me/kyb").await.ok();

        let listed = admin.get("/admin/beta").await.ok();
        let row = |item: &Value| {
            let columns = ["contact_email", "status", "waitlist_position", "kyb_status", "card_status", "traffic_profile_present"];
            Value::from(columns.map(|column| item[column].clone()).to_vec())
        };
        let rows: Vec<Value> = listed["items"].as_array().unwrap().iter().map(row).collect();
        assert_eq!(
            rows,
            [
                json!(["carded@prospect.example", "beta_card_pending", null, "open", "verified", false]),
                json!(["second@prospect.example", "beta_waitlist", 2, "submitted", "verified", true]),
                json!(["first@prospect.example", "beta_waitlist", 1, "submitted", "verified", true]),
                json!(["new@prospect.example", "beta_signup", null, "none", "none", false]),
            ]
        );
        let waiting = admin.get("/admin/beta?status=beta_waitlist&limit=1").await.ok();
        assert_eq!(waiting["items"].as_array().unwrap().iter().map(row).collect::<Vec<_>>(), rows[1..2]);
        let detail = admin.get(&format!("/admin/beta/{}", carded.account_id)).await.ok();
        assert_eq!(detail["payment_method"], json!({"status": "verified", "brand": "visa", "last4": "4242"}));
        assert_eq!((&detail["kyb_intake"]["status"], &detail["traffic_profile"]), (&json!("open"), &Value::Null));
        let detail = admin.get(&format!("/admin/beta/{}", second.account_id)).await.ok();
        assert_eq!(detail["account"]["waitlist_position"], 2);
        assert_eq!(detail["user_emails"], json!(["second@prospect.example"]));
        world.end().await;
    }

    async fn a_rejected_document_does_not_count_in_the_beta_queue(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let mut documents = Vec::new();
        for kind in ["company_registration", "director_id", "proof_of_address"] {
            let form = Form::document(kind, "scan.pdf", &pdf(kind));
            documents.push(form.post(&petra, "/me/kyb/documents").await.expect(201)["id"].as_str().unwrap().to_owned());
        }
        let kyb = petra.post("/me/kyb/submit", json!({})).await.ok()["id"].as_str().unwrap().to_owned();
        let document = documents[1].strip_prefix("kybd_").unwrap();
        let judge = format!("/admin/compliance/intakes/{}/documents/{document}", kyb.strip_prefix("kyb_").unwrap());
        admin.patch(&judge, json!({"status": "rejected", "reject_reason": "Blurred"})).await.ok();
        let intake = &admin.get(&format!("/admin/beta/{}", petra.account_id)).await.ok()["kyb_intake"];
        assert_eq!(intake["required_docs"], json!(["company_registration", "director_id", "proof_of_address"]));
        assert_eq!(intake["uploaded_docs"], json!(["company_registration", "proof_of_address"]));
        assert_eq!(intake["uploaded_docs"], admin.get(&format!("/admin/kyb/{kyb}")).await.ok()["uploaded_docs"]);
        world.end().await;
    }
}
