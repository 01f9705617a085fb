//! One response names every failing field, whichever layer finds it: the schema, or the rules behind it.
//!
//! An endpoint whose input is `Checked` needs a line in `BREACHES`, with fields that break one of its rules and nothing
//! else. The tests of this file fail with a hint if a line is missing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use api::endpoint::Endpoint;
use api::openapi;
use hyper::Method;
use serde_json::{Value, json};
use server::routes;

use super::conditions::readable;
use super::document::description;
use super::examples::{Request, example, send};
use super::name;
use crate::world::World;
use crate::world::client::Answer;
use crate::world::engines::both;
use crate::world::form::Form;

/// How a rule of an endpoint is broken.
enum Breach {
    /// By these fields of the body.
    Body(fn() -> Value),
    /// By this query.
    Query(&'static str),
    /// By a file of another type than is accepted.
    File,
}

use Breach::{Body, File, Query};

/// A breach by endpoint, and the field that is refused.
#[rustfmt::skip]
const BREACHES: &[(&str, &str, Breach, &str)] = &[
    ("POST", "/account/vat/proof-documents", File, "file"),
    ("POST", "/me/kyb/documents", File, "file"),
    ("POST", "/compliance/intakes/{id}/documents", File, "file"),
    ("POST", "/beta/signup", Body(|| json!({"contact_email": "somebody@long.example", "password": "somebody-2026!"})), "password"),
    ("POST", "/admin/bootstrap", Body(|| json!({"contact_email": "somebody@long.example", "password": "somebody-2026!"})), "password"),
    ("PATCH", "/account/users/{id}", Body(|| json!({"revoke_keys": true, "status": "active"})), "revoke_keys"),
    ("PATCH", "/admin/users/{id}", Body(|| json!({"revoke_keys": true, "is_active": true})), "revoke_keys"),
    ("POST", "/account/api-keys", Body(|| json!({"expires_at": "2001-01-01T00:00:00Z"})), "expires_at"),
    ("PATCH", "/account/api-keys/{id}", Body(|| json!({"expires_at": "2001-01-01T00:00:00Z"})), "expires_at"),
    ("POST", "/admin/api-keys", Body(|| json!({"expires_at": "2001-01-01T00:00:00Z"})), "expires_at"),
    ("PATCH", "/admin/api-keys/{id}", Body(|| json!({"expires_at": "2001-01-01T00:00:00Z"})), "expires_at"),
    ("POST", "/admin/credits", Body(|| json!({"amount": {"amount_minor": 0, "currency": "EUR"}})), "amount"),
    ("POST", "/admin/disputes/{id}/resolve", Body(|| json!({"outcome": "reject", "amount": {"amount_minor": 1, "currency": "EUR"}})), "amount"),
    ("POST", "/admin/credit-requests", Body(|| json!({"amount": {"amount_minor": -1, "currency": "EUR"}})), "amount"),
    ("PUT", "/admin/customers/{id}/balance-limits", Body(|| json!({"minimum": {"amount_minor": 1, "currency": "USD"}})), "minimum.currency"),
    ("PUT", "/account/auto-recharge", Body(|| json!({"enabled": true, "payment_method_id": null})), "payment_method_id"),
    ("POST", "/payments/topups", Body(|| json!({"return_url": "https://elsewhere.example/"})), "return_url"),
    ("POST", "/me/card-setup", Body(|| json!({"return_url": "https://elsewhere.example/"})), "return_url"),
    ("POST", "/payments/methods", Body(|| json!({"return_url": "https://elsewhere.example/"})), "return_url"),
    ("GET", "/account/balance/history", Query("from=2026-02-01&to=2026-01-01"), "from"),
    ("POST", "/sandbox/checkouts/{order_id}", Body(|| json!({"card_number": "4242424242424241"})), "card_number"),
    ("POST", "/admin/payments/{id}/refund", Body(|| json!({"amount": {"amount_minor": -1, "currency": "EUR"}})), "amount"),
    ("PUT", "/admin/routing-policies", Body(|| json!({"destinations": [{"rules": {"routing_policy": "cheapest"}}]})), "destinations.0.prefix"),
    ("PUT", "/fraud-caps", Body(|| json!({"max_spend_per_day": {"amount": "0.001", "currency": "EUR"}})), "max_spend_per_day"),
    ("POST", "/trunks", Body(|| json!({"zone": "atlantis"})), "zone"),
    ("PATCH", "/trunks/{id}", Body(|| json!({"zone": "atlantis"})), "zone"),
    ("PUT", "/admin/trunks/{id}/inbound-host", Body(|| json!({"host": "sip:pbx@customer"})), "host"),
    ("POST", "/trunks/{id}/ip-allow-list", Body(|| json!({"cidr": "10.0.0.1"})), "cidr"),
    ("PUT", "/admin/customers/{id}/quotas", Body(|| json!({"data": [{"zone": "atlantis", "limit": 1}]})), "data.0.zone"),
    ("POST", "/admin/upstreams", Body(|| json!({"rate_import_url": null, "rate_import_schedule": "0 4 * * *"})), "rate_import_schedule"),
    ("PATCH", "/admin/upstreams/{id}", Body(|| json!({"rate_import_url": "http://rates.example/deck.csv"})), "rate_import_url"),
    ("POST", "/admin/upstreams/{id}/rates/import", Query("waive_notice=true"), "waive_notice"),
    ("POST", "/admin/upstreams/{id}/imports/{import_id}/apply", Body(|| json!({"waive_notice": false})), "reason"),
    ("POST", "/admin/rate-plans", Body(|| json!({"effective_at": "2001-01-01T00:00:00Z"})), "effective_at"),
    ("PATCH", "/admin/rate-plans/{id}", Body(|| json!({"effective_at": "2001-01-01T00:00:00Z"})), "effective_at"),
    ("PUT", "/admin/customers/{id}/rate-plan", Body(|| json!({"effective_at": "2001-01-01T00:00:00Z"})), "effective_at"),
    ("PUT", "/admin/upstreams/{id}/statement-mapping", Body(|| json!({"date_format": "DD/MM/YYYY"})), "date_format"),
    ("POST", "/admin/upstreams/{id}/statements", Query("period_from=2026-02-01T00:00:00Z&period_to=2026-01-01T00:00:00Z"), "period_to"),
    ("PUT", "/admin/fx-rates", Body(|| json!({"base": "USD"})), "base"),
    ("GET", "/rates/diff", Query("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z"), "to"),
    ("GET", "/cdrs", Query("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z"), "to"),
    ("GET", "/admin/cdrs", Query("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z"), "to"),
    ("POST", "/cdrs/exports", Body(|| json!({"from": "2026-02-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"})), "to"),
    ("POST", "/admin/cdrs/exports", Body(|| json!({"from": "2026-02-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"})), "to"),
    ("GET", "/usage", Query("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z"), "to"),
    ("GET", "/admin/traffic", Query("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z"), "to"),
    ("GET", "/admin/reports/margin", Query("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z"), "to"),
    ("PATCH", "/admin/customers/{id}", Body(|| json!({"onboarding_status": "approved", "reason": "Unpaid"})), "reason"),
    ("PUT", "/me/notification-preferences", Body(|| json!({"data": [{"code": "rates.changed", "mail": true}, {"code": "rates.changed", "mail": false}]})), "data"),
    ("POST", "/webhook-endpoints", Body(|| json!({"url": "http://erp.example/"})), "url"),
    ("PATCH", "/webhook-endpoints/{id}", Body(|| json!({"url": "https://10.0.0.1/"})), "url"),
    ("POST", "/webhook-endpoints/{id}/replay", Body(|| json!({"from": "2026-02-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"})), "to"),
    ("POST", "/admin/webhook-endpoints", Body(|| json!({"url": "https://[::1]/"})), "url"),
    ("PATCH", "/admin/webhook-endpoints/{id}", Body(|| json!({"url": "https://127.0.0.1/"})), "url"),
    ("POST", "/admin/webhook-endpoints/{id}/replay", Body(|| json!({"from": "2026-02-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"})), "to"),
    ("POST", "/admin/notices", Body(|| json!({"starts_at": "2026-02-01T00:00:00Z", "ends_at": "2026-01-01T00:00:00Z"})), "ends_at"),
    ("PATCH", "/admin/notices/{id}", Body(|| json!({"starts_at": "2026-02-01T00:00:00Z", "ends_at": "2026-01-01T00:00:00Z"})), "ends_at"),
];

/// A field that no request has.
const UNKNOWN: &str = "no_such_field";

fn is_checked(endpoint: &Endpoint) -> bool {
    endpoint.handler.describe(endpoint.path, &mut openapi::request_schemas()).is_checked
}

fn breach(endpoint: &Endpoint) -> (&'static Breach, &'static str) {
    let found = BREACHES.iter().find(|(method, path, ..)| endpoint.method == *method && endpoint.path == *path);
    let (_, _, breach, field) = found.unwrap_or_else(|| {
        panic!(
            "{} has rules: add a line to BREACHES in trunkline/tests/it/coverage/faults.rs that breaks one",
            name(endpoint)
        )
    });
    (breach, field)
}

#[test]
fn every_line_of_breaches_is_of_an_endpoint_with_rules() {
    let table = routes::table();
    for (method, path, ..) in BREACHES {
        let endpoint = table.iter().find(|endpoint| endpoint.method == *method && endpoint.path == *path);
        assert!(endpoint.is_some_and(is_checked), "{method} {path} has no rules: remove its line from BREACHES");
    }
}

both! {
    async fn faults_of_the_schema_and_of_the_rules_are_named_together(db) {
        let world = World::unlimited(db).await;
        for endpoint in routes::table().iter().filter(|endpoint| is_checked(endpoint)) {
            match breach(endpoint) {
                (Body(fields), field) => break_body(&world, endpoint, &fields(), field).await,
                (Query(query), field) => break_query(&world, endpoint, query, field).await,
                (File, field) => break_file(&world, endpoint, field).await,
            }
        }
        world.end().await;
    }
}

/// Breaks the rule alone, then together with every other field.
async fn break_body(world: &World, endpoint: &Endpoint, breach: &Value, field: &str) {
    let mut request = example(world, endpoint).await;
    let mut body = request.body.clone().unwrap();
    body.as_object_mut().unwrap().extend(breach.as_object().unwrap().clone());
    request.body = Some(body.clone());
    expect_faults(endpoint, send(&request, &endpoint.method).await, &[field]);
    let is_other = |name: &&String| breach.get(name.as_str()).is_none();
    for other in fields_of(endpoint).iter().filter(is_other) {
        let mut body = body.clone();
        // No field is a list of lists.
        body[other] = json!([[]]);
        request.body = Some(body);
        expect_faults(endpoint, send(&request, &endpoint.method).await, &[other, field]);
    }
}

/// The fields of the body, and one that it does not have.
fn fields_of(endpoint: &Endpoint) -> Vec<String> {
    let description = description();
    let operation = &description["paths"][endpoint.path][endpoint.method.as_str().to_lowercase()];
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let schema = description.pointer(schema["$ref"].as_str().unwrap().trim_start_matches('#')).unwrap();
    let known = schema["properties"].as_object().unwrap().keys().cloned();
    known.chain([UNKNOWN.to_owned()]).collect()
}

async fn break_query(world: &World, endpoint: &Endpoint, query: &str, field: &str) {
    if endpoint.method != Method::GET {
        let request = example(world, endpoint).await;
        let path = format!("{}?{query}&{UNKNOWN}=1", request.path);
        let answer = send(&Request { path, ..request }, &endpoint.method).await;
        return expect_faults(endpoint, answer, &[UNKNOWN, field]);
    }
    let request = readable(world, endpoint).await;
    let ask = async |query: String| {
        let path = format!("{}?{query}", endpoint.path);
        send(&Request { path, ..request.clone() }, &Method::GET).await
    };
    expect_faults(endpoint, ask(query.to_owned()).await, &[field]);
    let several = ask(format!("{query}&{UNKNOWN}=1&limit=0&cursor=none")).await;
    expect_faults(endpoint, several, &[UNKNOWN, "limit", "cursor", field]);
}

async fn break_file(world: &World, endpoint: &Endpoint, field: &str) {
    let form = Form::default().text(UNKNOWN, "1").file("file", "scan.pdf", b"not a PDF").finish();
    let request = Request { form: Some(form), ..example(world, endpoint).await };
    expect_faults(endpoint, send(&request, &endpoint.method).await, &[UNKNOWN, field]);
}

/// Each of these fields is named, or one inside it.
#[track_caller]
fn expect_faults(endpoint: &Endpoint, answer: Answer, fields: &[&str]) {
    assert_eq!(answer.status, 422, "{}: {}", name(endpoint), answer.body);
    let named = answer.invalid();
    for field in fields {
        let inside = format!("{field}.");
        let is_named = named.iter().any(|name| name == field || name.starts_with(&inside));
        assert!(is_named, "{} names {named:?}, not {field}", name(endpoint));
    }
}
