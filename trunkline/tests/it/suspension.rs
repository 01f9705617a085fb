//! A suspended account can only read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use identity::onboarding::Event;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Answer;
use crate::world::engines::both;
use crate::world::fixtures::onboarding::{apply_event, sign_up, traffic_profile};
use crate::world::form::{Form, pdf};
use crate::world::payer::{Payer, fresh_key, set_up_card};

const UPLOAD: &str = "/me/kyb/documents";

both! {
    async fn a_suspended_account_can_read_but_uploads_nothing(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let document = Form::document("other", "scan.pdf", &pdf("")).post(&petra, UPLOAD).await.expect(201);
        let kyb = petra.get("/me/kyb").await.ok()["id"].as_str().unwrap().to_owned();
        let intake = format!("/compliance/intakes/{}", kyb.strip_prefix("kyb_").unwrap());
        let checkout = set_up_card(&petra).await;
        apply_event(&world, &petra, Event::Suspended).await;

        let refused: [Answer; 8] = [
            petra.call(Method::PATCH, "/account", Some(json!({"company_name": "Other BV"}))).await,
            petra.call(Method::PUT, "/me/traffic-profile", Some(traffic_profile())).await,
            petra.with_key(fresh_key()).post("/me/card-setup", json!({})).await,
            Form::document("other", "scan.pdf", &pdf("/More 1")).post(&petra, UPLOAD).await,
            petra.delete(&format!("{UPLOAD}/{}", document["id"].as_str().unwrap())).await,
            petra.post("/me/kyb/submit", json!({})).await,
            Form::document("other", "scan.pdf", &pdf("/More 2")).post(&petra, &format!("{intake}/documents")).await,
            petra.post(&format!("{intake}/submit"), json!({})).await,
        ];
        for answer in refused {
            answer.problem(403, "account.not_active");
        }
        for path in ["/me/account", "/me/waitlist", "/me/kyb", "/me/payment-method", "/account", &intake] {
            petra.get(path).await.ok();
        }
        assert_eq!(petra.get(&intake).await.ok()["documents"].as_array().unwrap().len(), 1);

        // What others do meanwhile counts.
        Payer::at(&checkout).pay(&world, "4242424242424242").await;
        assert_eq!(petra.get("/me/payment-method").await.ok()["status"], "verified");
        apply_event(&world, &petra, Event::Reinstated).await;
        petra.call(Method::PUT, "/me/traffic-profile", Some(traffic_profile())).await.ok();
        assert_eq!(petra.get("/me/account").await.ok()["waitlist_position"], Value::Null);
        world.end().await;
    }
}
