//! A prospect from signup to live customer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use reqwest::Method;
use serde_json::json;

use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::onboarding::{sign_up, traffic_profile};
use crate::world::form::{Form, pdf};
use crate::world::payer::{Payer, set_up_card};

both! {
    async fn a_prospect_becomes_a_customer(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let petra = sign_up(&world, "petra@prospect.example").await;

        // The traffic profile, and the KYB documents.
        petra.call(Method::PUT, "/me/traffic-profile", Some(traffic_profile())).await.ok();
        for kind in ["company_registration", "proof_of_address", "director_id"] {
            Form::document(kind, "paper.pdf", &pdf(kind)).post(&petra, "/me/kyb/documents").await.expect(201);
        }
        let intake = petra.call(Method::POST, "/me/kyb/submit", None).await.ok();
        assert_eq!(intake["status"], "submitted");
        assert_eq!(petra.get("/me/waitlist").await.ok()["position"], json!(null));

        // A card, paid at the sandbox's checkout page: the last of the three conditions.
        let opened = set_up_card(&petra).await;
        assert_eq!(petra.get("/me/account").await.ok()["status"], "beta_card_pending");
        Payer::at(&opened).choose(&world, &[("action", "pay"), ("card", "4242424242424242")]).await;
        assert_eq!(petra.get("/me/payment-method").await.ok()["status"], "verified");
        let waitlist = petra.get("/me/waitlist").await.ok();
        assert_eq!(waitlist, json!({"position": 1, "total": 1, "status": "beta_waitlist"}));

        // The team approves it.
        let listed = admin.get("/admin/beta?status=beta_waitlist").await.ok()["items"][0].clone();
        assert_eq!((&listed["kyb_status"], &listed["card_status"]), (&json!("submitted"), &json!("verified")));
        let approve = format!("/admin/beta/{}/approve", petra.account_id);
        admin.post(&approve, json!({"reviewer_note": "Looks good."})).await.ok();
        assert_eq!(petra.get("/me/waitlist").await.ok()["position"], json!(null));

        // The mail's link signs it in.
        let mails = world.mails().await;
        let mail = mails.iter().find(|mail| mail.text.contains("Looks good.")).unwrap();
        let tokens = world.anyone().post("/auth/magic-link/redeem", json!({"token": mail.token()})).await.ok();
        let petra = world.session(&tokens);
        assert_eq!(petra.get("/me").await.ok()["account"]["onboarding_status"], "under_review");

        // The KYB intake is approved too.
        let detail = admin.get(&format!("/admin/kyb/{}", intake["id"].as_str().unwrap())).await.ok();
        let link = detail["documents"][0]["download_url"].as_str().unwrap();
        assert_eq!(world.anyone().get(link).await.header("content-type"), Some("application/pdf"));
        let approve = format!("/admin/kyb/{}/approve", intake["id"].as_str().unwrap());
        admin.post(&approve, json!({})).await.ok();
        assert_eq!(petra.get("/me").await.ok()["account"]["onboarding_status"], "approved");
        world.end().await;
    }
}
