//! Examples of the endpoints for VAT and invoices.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;
use values::Role;

use super::examples::{Preparation, Request, Stranger, bodiless, request};
use crate::world::World;
use crate::world::fixtures::invoices::customer_with_invoice;
use crate::world::form::{Form, pdf};

#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("POST", "/account/vat/check", |world| Box::pin(async move {
        let customer = world.minted(Role::Customer).await;
        customer.patch("/account", json!({"vat_id": "NL123456782B90"})).await.ok();
        bodiless(customer, "/account/vat/check")
    })),
    ("POST", "/account/vat/proof-documents", |world| Box::pin(async move {
        let form = Form::default().file("file", "proof.pdf", &pdf("")).finish();
        let caller = world.minted(Role::Customer).await;
        Request { form: Some(form), ..bodiless(caller, "/account/vat/proof-documents") }
    })),
    ("GET", "/invoices/{id}", |world| Box::pin(async move {
        let (customer, invoice) = customer_with_invoice(world, true).await;
        bodiless(customer, &format!("/invoices/{invoice}"))
    })),
    ("GET", "/invoices/{id}/pdf", |world| Box::pin(async move {
        let (customer, invoice) = customer_with_invoice(world, true).await;
        bodiless(customer, &format!("/invoices/{invoice}/pdf"))
    })),
    ("GET", "/admin/invoices/{id}", |world| Box::pin(async move {
        let (_, invoice) = customer_with_invoice(world, true).await;
        bodiless(world.minted(Role::Support).await, &format!("/admin/invoices/{invoice}"))
    })),
    ("POST", "/admin/invoices/{id}/void", |world| Box::pin(async move {
        cancelling(world, "void").await
    })),
    ("POST", "/admin/invoices/{id}/credit", |world| Box::pin(async move {
        cancelling(world, "credit").await
    })),
];

#[rustfmt::skip]
pub const STRANGERS: &[(&str, Stranger)] = &[
    ("/invoices/{id}", |world| Box::pin(async move {
        format!("/invoices/{}", customer_with_invoice(world, true).await.1)
    })),
    ("/invoices/{id}/pdf", |world| Box::pin(async move {
        format!("/invoices/{}/pdf", customer_with_invoice(world, true).await.1)
    })),
];

async fn cancelling(world: &World, what: &str) -> Request {
    let (_, invoice) = customer_with_invoice(world, false).await;
    let path = format!("/admin/invoices/{invoice}/{what}");
    request(world.minted(Role::Admin).await, &path, json!({"reason": "wrong customer"}))
}
