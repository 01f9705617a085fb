//! Examples of the endpoints for onboarding: signup, documents, card and decisions of the team.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use platform::outside::payments::sandbox;
use reqwest::Method;
use serde_json::json;
use values::Role;

use super::examples::{Preparation, Request, Stranger, bodiless, request};
use crate::world::World;
use crate::world::client::{Client, Session};
use crate::world::fixtures::fresh_email;
use crate::world::fixtures::onboarding::{sign_up, signup_body, traffic_profile};
use crate::world::form::{self, Form, pdf};
use crate::world::payer::set_up_card;

#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("POST", "/signup", |world| Box::pin(async move {
        let body = json!({"email": fresh_email(), "company": "Prospect BV", "expected_volume": "10000"});
        request(world.anyone(), "/signup", body)
    })),
    ("POST", "/beta/signup", |world| Box::pin(async move {
        request(world.anyone(), "/beta/signup", signup_body(&fresh_email()))
    })),
    ("PATCH", "/me/account", |world| Box::pin(async move {
        request(new_prospect(world).await.into_client(), "/me/account", json!({"contact_name": "Paul Prospect"}))
    })),
    ("PUT", "/me/traffic-profile", |world| Box::pin(async move {
        request(new_prospect(world).await.into_client(), "/me/traffic-profile", traffic_profile())
    })),
    ("GET", "/me/traffic-profile", |world| Box::pin(async move {
        let session = new_prospect(world).await;
        session.call(Method::PUT, "/me/traffic-profile", Some(traffic_profile())).await.ok();
        bodiless(session.into_client(), "/me/traffic-profile")
    })),
    ("GET", "/me/payment-method", |world| Box::pin(async move {
        let session = new_prospect(world).await;
        set_up_card(&session).await;
        bodiless(session.into_client(), "/me/payment-method")
    })),
    ("POST", "/me/card-setup", |world| Box::pin(async move {
        request(new_prospect(world).await.into_client(), "/me/card-setup", json!({}))
    })),
    ("POST", "/me/kyb/documents", |world| Box::pin(async move {
        let session = new_prospect(world).await;
        intake(&session).await;
        upload(session.into_client(), "/me/kyb/documents")
    })),
    ("DELETE", "/me/kyb/documents/{id}", |world| Box::pin(async move {
        let (session, document) = with_document(world).await;
        bodiless(session.into_client(), &format!("/me/kyb/documents/{document}"))
    })),
    ("POST", "/me/kyb/submit", |world| Box::pin(async move {
        bodiless(with_documents(world).await.into_client(), "/me/kyb/submit")
    })),
    ("GET", "/compliance/intakes/{id}", |world| Box::pin(async move {
        let session = new_prospect(world).await;
        let path = format!("/compliance/intakes/{}", intake(&session).await);
        bodiless(session.into_client(), &path)
    })),
    ("POST", "/compliance/intakes/{id}/documents", |world| Box::pin(async move {
        let session = new_prospect(world).await;
        let path = format!("/compliance/intakes/{}/documents", intake(&session).await);
        upload(session.into_client(), &path)
    })),
    ("DELETE", "/compliance/intakes/{id}/documents/{doc_id}", |world| Box::pin(async move {
        let (session, document) = with_document(world).await;
        let path = format!("/compliance/intakes/{}/documents/{}", intake(&session).await, document.trim_start_matches("kybd_"));
        bodiless(session.into_client(), &path)
    })),
    ("POST", "/compliance/intakes/{id}/submit", |world| Box::pin(async move {
        let session = with_documents(world).await;
        let path = format!("/compliance/intakes/{}/submit", intake(&session).await);
        bodiless(session.into_client(), &path)
    })),
    ("POST", "/webhooks/payments/{provider}", |world| Box::pin(async move {
        let body = json!({"event": "order_completed", "order_id": fresh_email()});
        let app = &world.node.app;
        let signed = sandbox::sign(&app.keys, body.to_string().as_bytes(), app.clock.now());
        let caller = signed.iter().fold(world.anyone(), |caller, (name, value)| caller.header(name, value));
        request(caller, "/webhooks/payments/sandbox", body)
    })),
    ("GET", "/admin/beta/{id}", |world| Box::pin(async move {
        team(world, &format!("/admin/beta/{}", new_prospect(world).await.account_id)).await
    })),
    ("POST", "/admin/beta/{id}/approve", |world| Box::pin(async move {
        deciding(world, &format!("/admin/beta/{}/approve", new_prospect(world).await.account_id)).await
    })),
    ("POST", "/admin/beta/{id}/decline", |world| Box::pin(async move {
        deciding(world, &format!("/admin/beta/{}/decline", new_prospect(world).await.account_id)).await
    })),
    ("GET", "/admin/kyb/{id}", |world| Box::pin(async move {
        team(world, &format!("/admin/kyb/{}", submitted(world).await)).await
    })),
    ("POST", "/admin/kyb/{id}/approve", |world| Box::pin(async move {
        deciding(world, &format!("/admin/kyb/{}/approve", submitted(world).await)).await
    })),
    ("POST", "/admin/kyb/{id}/reject", |world| Box::pin(async move {
        deciding(world, &format!("/admin/kyb/{}/reject", submitted(world).await)).await
    })),
    ("GET", "/admin/compliance/intakes/{id}", |world| Box::pin(async move {
        team(world, &format!("/admin/compliance/intakes/{}", submitted(world).await)).await
    })),
    ("GET", "/admin/compliance/intakes/{id}/documents", |world| Box::pin(async move {
        team(world, &format!("/admin/compliance/intakes/{}/documents", submitted(world).await)).await
    })),
    ("POST", "/admin/compliance/intakes/{id}/review", |world| Box::pin(async move {
        let path = format!("/admin/compliance/intakes/{}/review", submitted(world).await);
        bodiless(world.minted(Role::Admin).await, &path)
    })),
    ("POST", "/admin/compliance/intakes/{id}/approve", |world| Box::pin(async move {
        deciding(world, &format!("/admin/compliance/intakes/{}/approve", submitted(world).await)).await
    })),
    ("POST", "/admin/compliance/intakes/{id}/reject", |world| Box::pin(async move {
        deciding(world, &format!("/admin/compliance/intakes/{}/reject", submitted(world).await)).await
    })),
    ("POST", "/admin/compliance/intakes/{id}/request-more", |world| Box::pin(async move {
        deciding(world, &format!("/admin/compliance/intakes/{}/request-more", submitted(world).await)).await
    })),
    ("PATCH", "/admin/compliance/intakes/{id}/documents/{doc_id}", |world| Box::pin(async move {
        let intake = submitted(world).await;
        let admin = world.minted(Role::Admin).await;
        let shown = admin.get(&format!("/admin/compliance/intakes/{intake}")).await.ok();
        let document = shown["documents"][0]["id"].as_str().unwrap();
        let path = format!("/admin/compliance/intakes/{intake}/documents/{document}");
        request(admin, &path, json!({"status": "accepted"}))
    })),
];

#[rustfmt::skip]
pub const STRANGERS: &[(&str, Stranger)] = &[
    ("/me/kyb/documents/{id}", |world| Box::pin(async move {
        format!("/me/kyb/documents/{}", with_document(world).await.1)
    })),
    ("/compliance/intakes/{id}", |world| Box::pin(async move {
        format!("/compliance/intakes/{}", intake(&new_prospect(world).await).await)
    })),
    ("/compliance/intakes/{id}/documents", |world| Box::pin(async move {
        format!("/compliance/intakes/{}/documents", intake(&new_prospect(world).await).await)
    })),
    ("/compliance/intakes/{id}/documents/{doc_id}", |world| Box::pin(async move {
        let (session, document) = with_document(world).await;
        format!("/compliance/intakes/{}/documents/{}", intake(&session).await, document.trim_start_matches("kybd_"))
    })),
    ("/compliance/intakes/{id}/submit", |world| Box::pin(async move {
        format!("/compliance/intakes/{}/submit", intake(&with_documents(world).await).await)
    })),
    // Providers have no owner: the stranger is an unknown provider.
    ("/webhooks/payments/{provider}", |_| Box::pin(async { "/webhooks/payments/another".to_owned() })),
];

async fn new_prospect(world: &World) -> Session {
    sign_up(world, &fresh_email()).await
}

/// The id of the customer's KYB intake, which the first read opens.
async fn intake(session: &Session) -> String {
    let id = session.get("/me/kyb").await.ok()["id"].as_str().unwrap().to_owned();
    id.strip_prefix("kyb_").unwrap().to_owned()
}

fn upload(caller: Client, path: &str) -> Request {
    let body = Form::document("director_id", "passport.pdf", &pdf("")).finish();
    Request { form: Some(body), ..bodiless(caller, path) }
}

async fn with_document(world: &World) -> (Session, String) {
    let session = new_prospect(world).await;
    let body = Form::document("director_id", "passport.pdf", &pdf("")).finish();
    let uploaded = form::post_bytes(&session, "/me/kyb/documents", body).await.expect(201);
    (session, uploaded["id"].as_str().unwrap().to_owned())
}

async fn with_documents(world: &World) -> Session {
    let session = new_prospect(world).await;
    for kind in ["company_registration", "proof_of_address", "director_id"] {
        Form::document(kind, "paper.pdf", &pdf(kind)).post(&session, "/me/kyb/documents").await.expect(201);
    }
    session
}

/// The id of a KYB intake that waits for review.
async fn submitted(world: &World) -> String {
    let session = with_documents(world).await;
    session.send(session.request(Method::POST, "/me/kyb/submit")).await.expect(200);
    intake(&session).await
}

async fn team(world: &World, path: &str) -> Request {
    bodiless(world.minted(Role::Admin).await, path)
}

async fn deciding(world: &World, path: &str) -> Request {
    request(world.minted(Role::Admin).await, path, json!({}))
}
