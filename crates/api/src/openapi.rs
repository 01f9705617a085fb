//! OpenAPI 3.1, derived from the table and the handlers' types.
//!
//! Samples of request bodies come from `samples`; `alternatives` rewrites what generated clients would not understand.

mod alternatives;

use std::collections::{BTreeMap, BTreeSet};

use hyper::StatusCode;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::auth::Who;
use super::endpoint::{Endpoint, Idempotency, RecentSignIn, Tag};
use super::problem::{Code, ProblemBody};
use super::router::BASE;
use super::samples;
use alternatives::OneOfFields;
use platform::limits::Limit;

const KEY_REQUIRED: &str = "UUID v4 chosen by the caller for this operation. Repeating the request with the same key \
    within 24 hours returns the stored response instead of doing it twice.";
const KEY_HONOURED: &str = "Optional UUID v4 chosen by the caller for this operation. Repeating the request with the \
    same key within 24 hours returns the stored response instead of doing it twice.";
const KEY_EXAMPLE: &str = "7f0c9a52-3d4e-4b61-9c28-5a1e8d2b4770";
const UUID_V4: &str = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$";

const ABOUT: &str = "The API of Trunkline, a wholesale voice (SIP trunking) platform: accounts, prepaid balance, SIP \
    trunks, numbers (DIDs), rates, CDRs, and the administration of all of them.\n\n\
    Bodies are JSON. Errors are problem details (RFC 7807): branch on `type`, which names the problem code. Lists are \
    paged by `cursor` and `limit`. Repeat a lost request with the same `Idempotency-Key`.";

/// Headers of responses: name, description and example.
const HEADERS: [(&str, &str, &str); 12] = [
    (
        "X-Request-Id",
        "Id of the request: the caller's, or a new one. Quote it when you contact support.",
        "0198c3c27f5e7d2a9d0c5b8f",
    ),
    ("RateLimit-Policy", "Rate limit: requests (`q`) per window of seconds (`w`).", "\"reads\";q=600;w=60"),
    ("RateLimit", "Requests left (`r`), and seconds until the quota is full again (`t`).", "\"reads\";r=599;t=60"),
    ("ETag", "Version of the resource, for `If-None-Match` and `If-Match`.", "\"c2FtcGxl\""),
    ("Link", "Address of the next page; absent on the last page.", "</v1/trunks?cursor=…>; rel=\"next\""),
    ("Content-Disposition", "File name of the download.", "attachment; filename=\"invoice.pdf\""),
    ("Idempotent-Replayed", "`true` if this is the stored response to an earlier request with the same key.", "true"),
    (
        "Set-Cookie",
        "Refresh token of the session, as a cookie that scripts cannot read.",
        "__Secure-trunkline_refresh=…; Path=/v1/auth; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure",
    ),
    ("Retry-After", "Seconds to wait before the next try.", "1"),
    ("WWW-Authenticate", "Authentication scheme that the endpoint requires.", "Bearer"),
    ("Deprecation", "Since when the operation is deprecated (RFC 9745).", "@1788220800"),
    ("Sunset", "When the operation ends (RFC 8594).", "Mon, 01 Mar 2027 00:00:00 GMT"),
];

/// Schemas of request types, as they are deserialized.
pub fn request_schemas() -> SchemaGenerator {
    settings().for_deserialize().into_generator()
}

/// Schemas of response types, as they are serialized.
fn response_schemas() -> SchemaGenerator {
    settings().for_serialize().into_generator()
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        settings.transforms.push(Box::new(OneOfFields));
    })
}

/// The whole document.
pub fn describe<'t>(table: impl IntoIterator<Item = &'t Endpoint>) -> Value {
    let (mut requests, mut responses) = (request_schemas(), response_schemas());
    let problem = responses.subschema_for::<ProblemBody<'static>>().to_value();
    let mut used_headers = BTreeSet::new();
    let mut paths: Map<String, Value> = Map::new();
    let mut tags: Vec<Tag> = Vec::new();
    for endpoint in table {
        if !tags.contains(&endpoint.tag) {
            tags.push(endpoint.tag);
        }
        let operation = operation(endpoint, &mut requests, &mut responses, &problem);
        note_headers(&operation, &mut used_headers);
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_lowercase()] = operation;
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Trunkline",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": BASE}],
        "tags": tags.iter().map(described_tag).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "schemas": merged(requests, responses),
            "headers": HEADERS.iter().filter(|(name, ..)| used_headers.contains(*name)).map(described_header)
                .collect::<Map<String, Value>>(),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "Access token from sign-in, sent as `Authorization: Bearer …`. It expires after 15 \
                                    minutes; get the next one from `POST /auth/refresh`.",
                },
                "adminBearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "Access token of a team member, sent in the same way. Its `roles` must contain \
                                    `admin`, or `support` where the operation lists it in `x-roles`.",
                },
                "apiKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "tl_live_…",
                    "description": "API key from `POST /account/api-keys` or `POST /admin/api-keys`, sent in the same \
                                    way. It needs one of the scopes in `x-scopes` of the operation.",
                },
            },
        },
    });
    document["components"]["schemas"]["Problem"]["x-problems"] = Code::ALL.iter().map(described_problem).collect();
    describe_bodies(&mut document);
    samples::add_to(&mut document);
    document
}

/// Gives each request body the description of its schema.
fn describe_bodies(document: &mut Value) {
    let schemas = document["components"]["schemas"].clone();
    let described = |schema: &Value| {
        let named = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next());
        let schema = named.map_or(schema, |name| &schemas[name]);
        schema["description"].as_str().map(str::to_owned)
    };
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for operation in paths.filter_map(|(_, path)| path.as_object_mut()).flatten().map(|(_, operation)| operation) {
        let Some(body) = operation.get_mut("requestBody") else { continue };
        let contents = body["content"].as_object().into_iter().flatten();
        let found = contents.filter_map(|(_, media)| described(&media["schema"])).next();
        body["description"] = found.unwrap_or_else(|| "Defined by the sender.".to_owned()).into();
    }
}

/// A problem code, for the chapter of the reference.
fn described_problem(code: &Code) -> Value {
    json!({
        "code": code.as_str(), "status": code.status().as_u16(), "title": code.title(), "description": code.about(),
    })
}

fn described_header((name, description, example): &(&str, &str, &str)) -> (String, Value) {
    let header = json!({"description": description, "schema": {"type": "string"}, "example": example});
    ((*name).to_owned(), header)
}

/// Notes the headers of an operation's responses.
fn note_headers(operation: &Value, used: &mut BTreeSet<String>) {
    let responses = operation["responses"].as_object().into_iter().flatten();
    let headers = responses.filter_map(|(_, response)| response["headers"].as_object()).flatten();
    used.extend(headers.map(|(name, _)| name.clone()));
}

fn described_tag(tag: &Tag) -> Value {
    json!({"name": tag.name, "description": tag.description})
}

/// A type that is both request and response must have one schema, or two names.
fn merged(mut requests: SchemaGenerator, mut responses: SchemaGenerator) -> Map<String, Value> {
    let mut schemas = responses.take_definitions(true);
    for (name, schema) in requests.take_definitions(true) {
        let clash = schemas.get(&name).is_some_and(|known| *known != schema);
        debug_assert!(
            !clash,
            "{name} has another schema as a request than as a response: give the request its own name"
        );
        schemas.entry(name).or_insert(schema);
    }
    schemas.sort_keys();
    schemas
}

fn operation(
    endpoint: &Endpoint,
    requests: &mut SchemaGenerator,
    responses: &mut SchemaGenerator,
    problem: &Value,
) -> Value {
    let mut description = endpoint.handler.describe(endpoint.path, requests);
    header_parameters(endpoint, &mut description.parameters);
    let mut operation = json!({
        "operationId": endpoint.operation_id,
        "summary": endpoint.summary,
        "description": described(endpoint),
        "tags": [endpoint.tag.name],
        "x-roles": endpoint.who.roles(),
        "security": security(endpoint),
        "responses": answers(endpoint, &description.problems, responses, problem),
    });
    if endpoint.who.admits_customers() {
        operation["x-account-roles"] = json!(endpoint.account_roles());
    }
    if let Some(deprecation) = &endpoint.deprecation {
        operation["deprecated"] = true.into();
        operation["x-sunset"] = deprecation.sunset.into();
    }
    if !endpoint.scopes.is_empty() {
        operation["x-scopes"] = json!(endpoint.scopes);
    }
    match endpoint.recent_sign_in {
        RecentSignIn::NotNeeded => {}
        RecentSignIn::Needed => operation["x-recent-sign-in"] = true.into(),
        RecentSignIn::NeededFor(field) => operation["x-recent-sign-in"] = json!([field]),
    }
    if !description.parameters.is_empty() {
        operation["parameters"] = description.parameters.into();
    }
    if let Some(body) = description.request_body {
        operation["requestBody"] = body;
    }
    operation
}

/// Any one of these: a token, or an API key with one of the scopes in `x-scopes`. Scopes cannot be listed here: linters
/// take them for those of OAuth.
fn security(endpoint: &Endpoint) -> Value {
    let scheme = match endpoint.who {
        Who::Anyone => return json!([]),
        Who::SignedIn | Who::Holder | Who::Customer => json!({"bearer": []}),
        Who::Team | Who::Admin => json!({"adminBearer": []}),
    };
    let key = (!endpoint.scopes.is_empty()).then(|| json!({"apiKey": []}));
    [scheme].into_iter().chain(key).collect()
}

/// What the row says, whether the caller must have signed in a short time ago, and whether the operation ends.
fn described(endpoint: &Endpoint) -> String {
    let description = endpoint.description;
    let beginning = description.trim_end_matches('.');
    let described = match endpoint.recent_sign_in {
        RecentSignIn::NotNeeded => description.to_owned(),
        RecentSignIn::Needed => format!("{beginning}; needs a sign-in of the last 15 minutes."),
        RecentSignIn::NeededFor(field) => {
            format!("{beginning}; a change of `{field}` needs a sign-in of the last 15 minutes.")
        }
    };
    match &endpoint.deprecation {
        Some(deprecation) => format!("{described}\n\n{}", deprecation.notice()),
        None => described,
    }
}

fn header_parameters(endpoint: &Endpoint, parameters: &mut Vec<Value>) {
    let mut header = |name: &str, required: bool, schema: Value, description: &str| {
        parameters.push(
            json!({"name": name, "in": "header", "required": required, "schema": schema, "description": description}),
        );
    };
    // Without `format: uuid`, for which some generators demand a UUID object and then cannot send it as a header.
    let key = json!({"type": "string", "pattern": UUID_V4, "examples": [KEY_EXAMPLE]});
    match endpoint.idempotency {
        Idempotency::Required => header("Idempotency-Key", true, key, KEY_REQUIRED),
        Idempotency::Honoured => header("Idempotency-Key", false, key, KEY_HONOURED),
        Idempotency::None => {}
    }
    if endpoint.is_conditional() {
        let about = "ETag of the version to change; 412 if it has changed since. Without it the last write wins.";
        header("If-Match", false, json!({"type": "string"}), about);
    }
    if endpoint.handler.is_tagged() {
        let about = "ETag of the version that the caller has; 304 without a body if it is still current.";
        header("If-None-Match", false, json!({"type": "string"}), about);
    }
}

fn answers(endpoint: &Endpoint, of_inputs: &[Code], responses: &mut SchemaGenerator, problem: &Value) -> Value {
    let mut answers: BTreeMap<String, Value> = BTreeMap::new();
    let status = endpoint.handler.status();
    let mut success = json!({
        "description": meaning(status),
        "headers": headers(&headers_of_success(endpoint)),
    });
    if let Some(content) = endpoint.handler.content(responses) {
        success["content"] = content;
    }
    if let Some(refusal) = endpoint.handler.refusal() {
        let mut refused = success.clone();
        refused["description"] = "The request was rejected; the body has the same schema as that of a success.".into();
        answers.insert(refusal.as_str().to_owned(), refused);
    }
    answers.insert(status.as_str().to_owned(), success);
    if endpoint.handler.is_tagged() {
        let description = meaning(StatusCode::NOT_MODIFIED);
        answers.insert("304".to_owned(), json!({"description": description, "headers": headers(&["ETag"])}));
    }
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in endpoint.problems(of_inputs) {
        by_status.entry(code.status().as_u16()).or_default().push(code);
    }
    for (status, codes) in by_status {
        let titles: Vec<&str> = codes.iter().map(|code| code.title()).collect();
        let mut answer = json!({
            "description": format!("{}.", titles.join("; ")),
            "x-problem-codes": codes.iter().map(|code| code.as_str()).collect::<Vec<_>>(),
            "content": {"application/problem+json": {"schema": problem}},
        });
        match status {
            401 => answer["headers"] = headers(&["WWW-Authenticate"]),
            429 | 503 => answer["headers"] = headers(&["Retry-After"]),
            _ => {}
        }
        answers.insert(status.to_string(), answer);
    }
    json!(answers)
}

/// The description of a status without a problem.
fn meaning(status: StatusCode) -> &'static str {
    match status {
        StatusCode::OK => "The request succeeded.",
        StatusCode::CREATED => "The resource was created.",
        StatusCode::ACCEPTED => "The request was accepted; the work continues in the background.",
        StatusCode::NO_CONTENT => "The request succeeded; there is no body.",
        StatusCode::NOT_MODIFIED => "The resource has not changed since the version in `If-None-Match`.",
        status => status.canonical_reason().unwrap_or("The request succeeded."),
    }
}

/// Headers of a success. Problems have the request id in their body, so they list fewer headers.
fn headers_of_success(endpoint: &Endpoint) -> Vec<&'static str> {
    let mut names = vec!["X-Request-Id"];
    if endpoint.limit != Limit::None {
        names.extend(["RateLimit-Policy", "RateLimit"]);
    }
    if endpoint.has_etag() {
        names.push("ETag");
    }
    if endpoint.idempotency != Idempotency::None {
        names.push("Idempotent-Replayed");
    }
    if endpoint.deprecation.is_some() {
        names.extend(["Deprecation", "Sunset"]);
    }
    names.extend(endpoint.handler.headers());
    names
}

fn headers(names: &[&str]) -> Value {
    let reference = |name: &&str| ((*name).to_owned(), json!({"$ref": format!("#/components/headers/{name}")}));
    Value::Object(names.iter().map(reference).collect())
}
