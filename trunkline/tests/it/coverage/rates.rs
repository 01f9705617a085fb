//! Examples of the endpoints for upstreams, decks and rates.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use reqwest::Method;
use serde_json::{Value, json};
use values::Role;

use super::examples::{Preparation, Request, Stranger, bodiless, request};
use crate::world::World;
use crate::world::client::Client;
use crate::world::fixtures::rate_plans::{assign_plan, create_plan, fixed_rule, plan_body};
use crate::world::fixtures::rates::{DECK, import_deck};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};
use crate::world::fixtures::{fresh_email, key};

/// Reads with required query parameters.
pub const ASKING: &[&str] = &["/rates/lookup", "/rates/diff", "/admin/routes", "/admin/search"];

#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("POST", "/admin/upstreams", |world| Box::pin(async move {
        request(world.minted(Role::Admin).await, "/admin/upstreams", upstream_body())
    })),
    ("GET", "/admin/upstreams/{id}", |world| Box::pin(async move {
        of_upstream(world, "").await
    })),
    ("PATCH", "/admin/upstreams/{id}", |world| Box::pin(async move {
        Request { body: Some(json!({"markup_percent": 7.5})), ..of_upstream(world, "").await }
    })),
    ("DELETE", "/admin/upstreams/{id}", |world| Box::pin(async move {
        of_upstream(world, "").await
    })),
    ("POST", "/admin/upstreams/{id}/rates/import", |world| Box::pin(async move {
        of_upstream(world, "/rates/import").await
    })),
    ("GET", "/admin/upstreams/{id}/imports", |world| Box::pin(async move {
        of_upstream(world, "/imports").await
    })),
    ("GET", "/admin/upstreams/{id}/imports/{import_id}", |world| Box::pin(async move {
        let admin = world.minted(Role::Admin).await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let report = import_deck(world, &admin, &upstream, "", DECK).await;
        bodiless(admin, &format!("/admin/upstreams/{upstream}/imports/{}", report["id"].as_str().unwrap()))
    })),
    ("POST", "/admin/upstreams/{id}/rates/preview", |world| Box::pin(async move {
        Request { table: Some(DECK.to_owned()), ..of_upstream(world, "/rates/preview").await }
    })),
    ("GET", "/admin/upstreams/{id}/sheet-mapping", |world| Box::pin(async move {
        let request = of_upstream(world, "/sheet-mapping").await;
        request.caller.with_key(key()).call(Method::PUT, &request.path, Some(sheet_mapping())).await.ok();
        request
    })),
    ("PUT", "/admin/upstreams/{id}/sheet-mapping", |world| Box::pin(async move {
        Request { body: Some(sheet_mapping()), ..of_upstream(world, "/sheet-mapping").await }
    })),
    ("GET", "/admin/upstreams/{id}/hold-policy", |world| Box::pin(async move {
        of_upstream(world, "/hold-policy").await
    })),
    ("PUT", "/admin/upstreams/{id}/hold-policy", |world| Box::pin(async move {
        Request { body: Some(json!({"changed_percent": 20, "increase_percent": 50, "below_cost": true})), ..of_upstream(world, "/hold-policy").await }
    })),
    ("GET", "/admin/upstreams/{id}/deck-mail", |world| Box::pin(async move {
        with_deck_mail(world).await
    })),
    ("PUT", "/admin/upstreams/{id}/deck-mail", |world| Box::pin(async move {
        Request { body: Some(deck_mail()), ..of_upstream(world, "/deck-mail").await }
    })),
    ("DELETE", "/admin/upstreams/{id}/deck-mail", |world| Box::pin(async move {
        with_deck_mail(world).await
    })),
    ("PUT", "/admin/routing-policies", |world| Box::pin(async move {
        let rules = json!({"routing_policy": "balanced", "min_asr_pct": 30, "min_acd_seconds": 10, "max_pdd_ms": 8000, "min_attempts": 50});
        let policies = json!({"default": rules, "destinations": [{"prefix": "31", "rules": rules}]});
        Request { body: Some(policies), ..bodiless(world.minted(Role::Admin).await, "/admin/routing-policies") }
    })),
    ("GET", "/admin/upstreams/{id}/imports/{import_id}/impact", |world| Box::pin(async move {
        let admin = world.minted(Role::Admin).await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let report = import_deck(world, &admin, &upstream, "", DECK).await;
        bodiless(admin, &format!("/admin/upstreams/{upstream}/imports/{}/impact", report["id"].as_str().unwrap()))
    })),
    ("POST", "/admin/upstreams/{id}/imports/{import_id}/apply", |world| Box::pin(async move {
        Request { body: Some(json!({"waive_notice": true, "reason": "agreed by mail"})), ..held(world, "apply").await }
    })),
    ("POST", "/admin/upstreams/{id}/imports/{import_id}/reject", |world| Box::pin(async move {
        held(world, "reject").await
    })),
    ("GET", "/admin/upstreams/{id}/statement-mapping", |world| Box::pin(async move {
        let request = of_upstream(world, "/statement-mapping").await;
        request.caller.with_key(key()).call(Method::PUT, &request.path, Some(statement_mapping())).await.ok();
        request
    })),
    ("PUT", "/admin/upstreams/{id}/statement-mapping", |world| Box::pin(async move {
        Request { body: Some(statement_mapping()), ..of_upstream(world, "/statement-mapping").await }
    })),
    ("GET", "/admin/upstreams/{id}/statements", |world| Box::pin(async move {
        of_upstream(world, "/statements").await
    })),
    ("POST", "/admin/upstreams/{id}/statements", |world| Box::pin(async move {
        Request { table: Some(STATEMENT.to_owned()), ..of_upstream(world, "/statements").await }
    })),
    ("GET", "/admin/upstreams/{id}/statements/{statement_id}", |world| Box::pin(async move {
        of_statement(world, "").await
    })),
    ("GET", "/admin/upstreams/{id}/statements/{statement_id}/lines", |world| Box::pin(async move {
        of_statement(world, "/lines").await
    })),
    ("GET", "/rates/lookup", |world| Box::pin(async move {
        priced(world, Role::Customer, "/rates/lookup?number=%2B31201234567").await
    })),
    ("GET", "/rates/diff", |world| Box::pin(async move {
        priced(world, Role::Customer, "/rates/diff?from=2026-01-01T00:00:00Z&to=2030-01-01T00:00:00Z").await
    })),
    ("GET", "/price-notices/{id}", |world| Box::pin(async move {
        let (customer, notice) = with_notice(world).await;
        bodiless(customer, &notice)
    })),
    ("GET", "/price-notices/{id}/file", |world| Box::pin(async move {
        let (customer, notice) = with_notice(world).await;
        bodiless(customer, &format!("{notice}/file"))
    })),
    ("GET", "/admin/search", |world| Box::pin(async move {
        bodiless(world.minted(Role::Support).await, "/admin/search?q=customer")
    })),
    ("GET", "/admin/routes", |world| Box::pin(async move {
        priced(world, Role::Admin, "/admin/routes?number=31201234567").await
    })),
    ("POST", "/admin/rate-plans", |world| Box::pin(async move {
        request(world.minted(Role::Admin).await, "/admin/rate-plans", plan_body(json!({})))
    })),
    ("GET", "/admin/rate-plans/{id}", |world| Box::pin(async move {
        of_plan(world, "").await
    })),
    ("PATCH", "/admin/rate-plans/{id}", |world| Box::pin(async move {
        Request { body: Some(json!({"markup_pct": -7.5})), ..of_plan(world, "").await }
    })),
    ("DELETE", "/admin/rate-plans/{id}", |world| Box::pin(async move {
        of_plan(world, "").await
    })),
    ("GET", "/admin/rate-plans/{id}/preview", |world| Box::pin(async move {
        priced(world, Role::Admin, "").await;
        of_plan(world, "/preview?number=31201234567").await
    })),
    ("GET", "/admin/rate-plans/{id}/impact", |world| Box::pin(async move {
        of_plan(world, "/impact").await
    })),
    ("GET", "/admin/customers/{id}/rate-plan", |world| Box::pin(async move {
        let customer = world.customer(&fresh_email()).await.account_id;
        bodiless(world.minted(Role::Support).await, &format!("/admin/customers/{customer}/rate-plan"))
    })),
    ("PUT", "/admin/customers/{id}/rate-plan", |world| Box::pin(async move {
        let customer = world.customer(&fresh_email()).await.account_id;
        let admin = world.minted(Role::Admin).await;
        let plan = create_plan(&admin, json!({})).await;
        request(admin, &format!("/admin/customers/{customer}/rate-plan"), json!({"rate_plan_id": plan}))
    })),
];

#[rustfmt::skip]
pub const STRANGERS: &[(&str, Stranger)] = &[
    ("/price-notices/{id}", |world| Box::pin(async move { with_notice(world).await.1 })),
    ("/price-notices/{id}/file", |world| Box::pin(async move { format!("{}/file", with_notice(world).await.1) })),
];

/// A customer and the path of a price notice of its own.
async fn with_notice(world: &World) -> (Client, String) {
    let admin = priced(world, Role::Admin, "").await.caller;
    let customer = world.customer(&fresh_email()).await;
    let plan = create_plan(&admin, json!({"markup_pct": -50})).await;
    assign_plan(&admin, &customer.account_id, Some(&plan), json!({})).await.ok();
    world.settle().await;
    let notices = customer.get("/price-notices").await.ok();
    (customer.into_client(), format!("/price-notices/{}", notices["data"][0]["id"].as_str().unwrap()))
}

async fn of_plan(world: &World, rest: &str) -> Request {
    let admin = world.minted(Role::Admin).await;
    let plan = create_plan(&admin, json!({"rules": [fixed_rule("3161", "0.02")]})).await;
    bodiless(admin, &format!("/admin/rate-plans/{plan}{rest}"))
}

/// A request about an upstream that has an address to pull from, though not one that may be asked.
async fn of_upstream(world: &World, rest: &str) -> Request {
    let admin = world.minted(Role::Admin).await;
    let mut wanted = upstream_body();
    wanted["rate_import_url"] = json!("https://127.0.0.1/rates.csv");
    let upstream = create_upstream(&admin, wanted).await;
    bodiless(admin, &format!("/admin/upstreams/{upstream}{rest}"))
}

const STATEMENT: &str = "called_number,started_at,duration_seconds,cost\n+31201234567,2026-01-01T12:00:00Z,60,0.0045\n";

fn statement_mapping() -> Value {
    json!({
        "columns": {"called_number": "Called", "started_at": "Start", "duration_seconds": "Duration", "cost": "Amount"},
        "date_format": "DD/MM/YYYY HH:mm:ss",
    })
}

/// A request about a statement that was reconciled.
async fn of_statement(world: &World, rest: &str) -> Request {
    let admin = world.minted(Role::Admin).await;
    let upstream = create_upstream(&admin, upstream_body()).await;
    let path = format!("/admin/upstreams/{upstream}/statements");
    let request = admin.with_key(key()).request(Method::POST, &path).header("content-type", "text/csv");
    let accepted = admin.send(request.body(STATEMENT)).await.expect(202);
    world.settle().await;
    bodiless(admin, &format!("{path}/{}{rest}", accepted["id"].as_str().unwrap()))
}

fn deck_mail() -> Value {
    json!({"senders": ["rates@carrier.example"], "subject_contains": "Rates", "file_types": ["xlsx"], "mode": "merge"})
}

/// A request about the deck mail policy of an upstream that has one.
async fn with_deck_mail(world: &World) -> Request {
    let request = of_upstream(world, "/deck-mail").await;
    request.caller.with_key(key()).call(Method::PUT, &request.path, Some(deck_mail())).await.ok();
    request
}

fn sheet_mapping() -> Value {
    json!({
        "columns": {"prefix": "Dial Code", "destination_name": "Destination", "rate_per_minute": "Rate"},
        "date_format": "DD/MM/YYYY",
    })
}

/// A decision about an import that is held.
async fn held(world: &World, decision: &str) -> Request {
    let admin = world.minted(Role::Admin).await;
    let upstream = create_upstream(&admin, upstream_body()).await;
    import_deck(world, &admin, &upstream, "", DECK).await;
    let policy = json!({"changed_percent": 0, "increase_percent": null});
    let path = format!("/admin/upstreams/{upstream}/hold-policy");
    admin.with_key(key()).call(Method::PUT, &path, Some(policy)).await.ok();
    let report = import_deck(world, &admin, &upstream, "", &DECK.replace("0.0045", "0.005")).await;
    assert_eq!(report["status"], "held", "{report}");
    bodiless(admin, &format!("/admin/upstreams/{upstream}/imports/{}/{decision}", report["id"].as_str().unwrap()))
}

async fn priced(world: &World, role: Role, path: &str) -> Request {
    let admin = world.minted(Role::Admin).await;
    let upstream = create_upstream(&admin, upstream_body()).await;
    import_deck(world, &admin, &upstream, "", DECK).await;
    bodiless(world.minted(role).await, path)
}
