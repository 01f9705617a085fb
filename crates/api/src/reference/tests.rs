#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE64;
use serde_json::json;

use super::schema::FieldName;
use super::*;

/// A document with every kind of operation and schema.
fn sample() -> Value {
    serde_json::from_str(include_str!("sample.json")).unwrap()
}

#[test]
fn every_operation_has_a_section_and_an_entry_in_the_contents() {
    let sample = sample();
    let page = render(&sample);
    let operations = Document(&sample).operations();
    assert_eq!(operations.len(), 8);
    for operation in &operations {
        assert_eq!(page.matches(&format!("id=\"{}\"", operation.anchor)).count(), 1, "{}", operation.anchor);
        assert!(page.contains(&format!("<li><a href=\"#{}\">", operation.anchor)));
        assert!(page.contains(&format!("<code>{}</code>", operation.path)));
    }
}

#[test]
fn operations_with_similar_paths_have_different_anchors() {
    let document =
        json!({"paths": {"/a/{b}": {"get": {}}, "/a/b": {"get": {}}, "/a": {"get": {}}, "/a/b/2": {"get": {}}}});
    let anchors: Vec<_> = Document(&document).operations().into_iter().map(|operation| operation.anchor).collect();
    let mut distinct = anchors.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 4, "{anchors:?}");
}

#[test]
fn every_link_leads_somewhere() {
    let page = render(&sample());
    for link in page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        let target = link.strip_prefix('#').expect("no link leaves the page");
        assert!(page.contains(&format!("id=\"{target}\"")), "{link}");
    }
}

#[test]
fn an_operation_shows_callers_parameters_and_problems() {
    let page = render(&sample());
    for text in [
        "<span class=\"chip\">customer</span>",
        "anyone, no token required",
        "Idempotency-Key",
        "<a href=\"#problem-insufficient_funds\">insufficient_funds</a>",
        "at least 100",
        "<small>one of <code>local</code> <code>tollfree</code> <code>mobile</code></small>",
        "<em>or</em> <strong>SignInTwoFaRequired</strong>",
        "array of Trunk",
        "string or null",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn operations_and_chapters_show_their_descriptions() {
    let page = render(&json!({
        "tags": [{"name": "Trunks", "description": "SIP trunks of the account."}],
        "paths": {"/trunks": {"get": {"tags": ["Trunks"], "summary": "List trunks", "description": "Newest first. See `cursor`."}}},
    }));
    assert!(page.contains("id=\"tag-Trunks\">Trunks</h2><p>SIP trunks of the account.</p>"));
    assert!(page.contains("<p>Newest first. See <code>cursor</code>.</p>"));
}

#[test]
fn nothing_of_the_document_becomes_markup() {
    let evil = "</style><script>alert('x')</script>\"><img src=x onerror=y>";
    let page = render(&json!({
        "info": {"title": evil, "version": evil, "description": evil},
        "tags": [{"name": evil, "description": evil}],
        "servers": [{"url": evil}],
        "components": {"securitySchemes": {evil: {"description": evil}}, "schemas": {evil: {"type": "object", "title": evil}}},
        "paths": {evil: {"post": {
            "tags": [evil], "summary": evil, "description": evil, "x-roles": [evil], "security": [{evil: []}],
            "parameters": [{"name": evil, "in": "header", "required": true, "description": evil,
                            "schema": {"type": evil, "format": evil, "pattern": evil, "enum": [evil], "default": evil}}],
            "requestBody": {"content": {evil: {"schema": {"type": "object", "properties": {evil: {"const": evil}}}}}},
            "responses": {evil: {"description": evil, "x-problem-codes": [evil], "headers": {evil: {"description": evil}},
                "content": {"application/problem+json": {"schema": {"$ref": format!("#/components/schemas/{}", evil.replace('/', "~1"))}}}}}
        }}}
    }));
    let body = page.split_once("</head>").unwrap().1;
    for markup in ["<script", "<img", "</style"] {
        assert!(!body.contains(markup), "{markup}");
    }
}

#[test]
fn a_recursive_schema_is_named_but_not_expanded_again() {
    let holder = json!({
        "zone": {"$ref": "#/components/schemas/Zone"},
        "components": {"schemas": {
            "Zone": {"type": "object", "properties": {
                "name": {"type": "string"},
                "parent": {"anyOf": [{"$ref": "#/components/schemas/Zone"}, {"type": "null"}]},
                "children": {"type": "array", "items": {"$ref": "#/components/schemas/Zone"}}}},
            "Loop": {"$ref": "#/components/schemas/Pool"},
            "Pool": {"$ref": "#/components/schemas/Loop"}}}
    });
    let document = Document(&holder);
    let fields = document.fields(&holder["zone"], &BTreeSet::new());
    let rows: Vec<_> = fields.iter().map(|field| (&field.name, field.kind.as_str(), field.depth)).collect();
    let named = |name: &str| FieldName::Named(name.to_owned());
    assert_eq!(
        rows,
        [
            (&named("name"), "string", 0),
            (&named("parent"), "Zone or null", 0),
            (&named("children"), "array of Zone", 0)
        ]
    );
    let unending = holder.pointer("/components/schemas/Loop").unwrap();
    assert_eq!(document.fields(unending, &BTreeSet::new()), []);
    assert_eq!(document.kind(unending), "Loop");
}

#[test]
fn nested_fields_follow_their_parent() {
    let sample = sample();
    let document = Document(&sample);
    let fields = document.fields(sample.pointer("/components/schemas/Topup").unwrap(), &BTreeSet::new());
    let rows: Vec<_> = fields.iter().map(|field| (&field.name, field.depth, field.required)).collect();
    let amount = rows.iter().position(|field| *field.0 == FieldName::Named("amount".to_owned())).unwrap();
    assert_eq!(rows[amount + 1], (&FieldName::Named("amount_minor".to_owned()), 1, true));
}

#[test]
fn curl_commands_can_be_pasted_into_a_shell() {
    let sample = sample();
    let document = Document(&sample);
    let operations = document.operations();
    let calls: Vec<_> = operations.iter().map(|operation| code::curl(&document.sample_request(operation))).collect();
    let topup = calls.iter().find(|call| call.contains("/payments/topups' \\\n  -X POST")).unwrap();
    assert_eq!(
        topup.lines().map(str::trim).collect::<Vec<_>>()[..5],
        [
            r"curl 'https://trunkline.example/v1/payments/topups' \",
            r"-X POST \",
            r#"-H "Authorization: Bearer $TOKEN" \"#,
            r"-H 'Idempotency-Key: 7f0c9a52-3d4e-4b61-9c28-5a1e8d2b4770' \",
            r"-H 'Content-Type: application/json' \",
        ]
    );
    assert!(calls.iter().any(|call| call.contains(r"Anna'\''s trunk")), "quotes are escaped");
    assert!(calls.iter().all(|call| !call.contains(['{', '}']) || call.contains("-d '{")), "paths are filled in");
}

#[test]
fn programs_say_the_same_as_the_command() {
    let description = json!({
        "servers": [{"url": "https://sip.example/v1"}],
        "paths": {"/trunks/{id}": {"patch": {
            "security": [{"bearer": []}],
            "parameters": [
                {"name": "id", "in": "path", "required": true, "example": "a/b"},
                {"name": "Idempotency-Key", "in": "header", "required": true, "example": "x"}],
            "requestBody": {"content": {"application/json": {"example": {"name": "It's \"A\"", "on": true, "to": null, "ips": [1]}}}},
            "responses": {"200": {"content": {"application/json": {"schema": {}}}}},
        }}},
    });
    let document = Document(&description);
    let request = document.sample_request(&document.operations()[0]);
    assert_eq!(
        code::typescript(&request),
        r#"const response = await fetch("https://sip.example/v1/trunks/a%2Fb", {
  method: "PATCH",
  headers: {
    Authorization: `Bearer ${process.env.TOKEN}`,
    "Idempotency-Key": crypto.randomUUID(),
    "Content-Type": "application/json",
  },
  body: JSON.stringify({
    "name": "It's \"A\"",
    "on": true,
    "to": null,
    "ips": [
      1
    ]
  }),
});
console.log(response.status, await response.json());"#
    );
    assert_eq!(
        code::python(&request),
        r#"import os
import uuid
import httpx

response = httpx.patch(
    "https://sip.example/v1/trunks/a%2Fb",
    headers={
        "Authorization": f"Bearer {os.environ['TOKEN']}",
        "Idempotency-Key": str(uuid.uuid4()),
    },
    json={
        "name": "It's \"A\"",
        "on": True,
        "to": None,
        "ips": [
            1,
        ],
    },
)
print(response.status_code, response.json())"#
    );
}

#[test]
fn every_problem_code_has_a_paragraph_with_an_anchor() {
    let page = render(&json!({
        "components": {"schemas": {"Problem": {"type": "object", "x-problems": [
            {"code": "state.conflict", "status": 409, "title": "State does not allow this", "description": "See `status`."}]}}},
        "paths": {"/a": {"get": {"responses": {"409": {
            "x-problem-codes": ["state.conflict", "unknown"],
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}}}}},
    }));
    assert!(page.contains(
        "<h3 id=\"problem-state-conflict\"><code>state.conflict</code> <span class=\"status\">409</span></h3>"
    ));
    assert!(page.contains("<strong>State does not allow this.</strong> See <code>status</code>."));
    assert!(page.contains("<dt>409<dd><a href=\"#problem-state-conflict\">state.conflict</a> <code>unknown</code>"));
}

#[test]
fn a_type_with_many_uses_is_shown_once() {
    let money: Value = (0..6).map(|n| (format!("price{n}"), json!({"$ref": "#/components/schemas/Money"}))).collect();
    let page = render(&json!({
        "components": {"schemas": {"Money": {"type": "object", "properties": {"amount_minor": {"type": "integer"}}}}},
        "paths": {"/a": {"get": {"responses": {"200": {
            "content": {"application/json": {"schema": {"type": "object", "properties": money}}}}}}}},
    }));
    assert_eq!(page.matches("<code>amount_minor</code>").count(), 1);
    assert_eq!(page.matches("<a href=\"#type-Money\">Money</a>").count(), 6);
    assert!(page.contains("<h3 id=\"type-Money\">Money</h3>"));
}

#[test]
fn a_type_that_an_operation_returns_is_shown_there() {
    let body = json!({"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Trunk"}}}}});
    let page = render(&json!({
        "components": {"schemas": {"Trunk": {"type": "object", "properties": {"zone": {"type": "string"}}}}},
        "paths": {"/trunks": {"get": {"responses": body}, "patch": {"responses": body}}},
    }));
    assert_eq!(page.matches("<td><code>zone</code>").count(), 1);
    assert_eq!(page.matches("<a href=\"#get-trunks\">Trunk</a>").count(), 2);
    assert!(!page.contains("type-Trunk"));
}

#[test]
fn what_operations_with_a_trait_have_in_common_is_said_once() {
    let limit = json!({"name": "limit", "in": "query", "description": "Items.", "schema": {"type": "integer"}});
    let problem = |codes: Value| json!({"x-problem-codes": codes, "content": {"application/problem+json": {}}});
    let paths = (0..20).map(|n| {
        let own = if n == 0 { json!(["rate.limited", "own"]) } else { json!(["rate.limited"]) };
        let operation = json!({"parameters": [limit], "responses": {"429": problem(own)}});
        (format!("/a{n}"), json!({"get": operation, "post": {"responses": {"409": problem(json!(["taken"]))}}}))
    });
    let page = render(&json!({"paths": paths.collect::<serde_json::Map<_, _>>()}));
    let said = "<p>Operations with query parameters can also respond with <code>rate.limited</code> </p>";
    assert_eq!((page.matches(said).count(), page.matches("rate.limited").count()), (1, 1));
    assert_eq!((page.matches("<code>own</code>").count(), page.matches("<code>taken</code>").count()), (1, 20));
    assert_eq!((page.matches("<a href=\"#parameter-limit\">").count(), page.matches("Items.").count()), (20, 1));
}

#[test]
fn the_policy_admits_exactly_the_style_and_the_script_of_the_page() {
    let page = render(&sample());
    for (tag, directive) in [("style", "style-src"), ("script", "script-src")] {
        assert_eq!(page.matches(&format!("<{tag}")).count(), 1);
        let rest = page.split_once(&format!("<{tag}")).unwrap().1.split_once('>').unwrap().1;
        let inside = rest.split_once(&format!("</{tag}>")).unwrap().0;
        let hash = BASE64.encode(digest(&SHA256, inside.as_bytes()).as_ref());
        assert!(content_security_policy().contains(&format!("{directive} 'sha256-{hash}'")));
    }
    assert!(!page.contains(" style=") && !page.contains("src="));
}

#[test]
fn an_empty_document_renders_a_page() {
    for empty in [json!({}), json!(null), json!({"paths": {"/a": {"get": {}}, "/b": null}})] {
        assert!(render(&empty).ends_with("</html>"));
    }
}
