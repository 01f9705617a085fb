//! OpenAPI 3.1, derived from the table and the handlers' types.

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::auth::Who;
use super::endpoint::{Endpoint, Idempotency};
use super::problem::{Code, ProblemBody, URN_PREFIX};
use super::router::BASE;
use platform::limits::Limit;

const UUID_V4: &str = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$";

/// Headers of responses, what they say, and an example.
const HEADERS: [(&str, &str, &str); 9] = [
    (
        "X-Request-Id",
        "Names the request in our log: the one that was sent, or one of ours.",
        "0198c3c27f5e7d2a9d0c5b8f",
    ),
    ("RateLimit-Policy", "How many requests a window of seconds allows.", "\"reads\";q=600;w=60"),
    ("RateLimit", "How many of them are left, and in how many seconds all are again.", "\"reads\";r=599;t=60"),
    ("ETag", "The version of the resource, for `If-None-Match` and `If-Match`.", "\"c2FtcGxl\""),
    ("Link", "Where the next page is, unless this is the last.", "</v1/trunks?cursor=…>; rel=\"next\""),
    ("Content-Disposition", "The name to keep the file under.", "attachment; filename=\"invoice.pdf\""),
    ("Idempotent-Replayed", "This was answered before to the same `Idempotency-Key`.", "true"),
    ("Retry-After", "In how many seconds to try again.", "1"),
    ("WWW-Authenticate", "The scheme that is asked for.", "Bearer"),
];

/// How request types are described: as they are read.
pub fn request_schemas() -> SchemaGenerator {
    settings().for_deserialize().into_generator()
}

/// How response types are described: as they are written.
fn response_schemas() -> SchemaGenerator {
    settings().for_serialize().into_generator()
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    })
}

/// The whole description.
pub fn describe<'t>(table: impl IntoIterator<Item = &'t Endpoint>) -> Value {
    let (mut requests, mut responses) = (request_schemas(), response_schemas());
    let problem = responses.subschema_for::<ProblemBody<'static>>().to_value();
    let mut paths: Map<String, Value> = Map::new();
    let mut tags: Vec<&str> = Vec::new();
    for endpoint in table {
        if !tags.contains(&endpoint.tag) {
            tags.push(endpoint.tag);
        }
        let operation = operation(endpoint, &mut requests, &mut responses, &problem);
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Trunkline",
            "version": "0.0.0",
            "description": "Wholesale voice: accounts, prepaid balance, SIP trunks, numbers, calls and rates.",
        },
        "servers": [{"url": BASE}],
        "tags": tags.iter().map(|tag| json!({"name": tag})).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "schemas": merged(requests, responses),
            "headers": HEADERS.map(|(name, description, example)| {
                (name.to_owned(), json!({"description": description, "schema": {"type": "string"}, "example": example}))
            }).into_iter().collect::<Map<String, Value>>(),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "The access token of a sign-in, as `Authorization: Bearer …`. It lasts 15 minutes; \
                                    `POST /auth/refresh` gives the next.",
                },
                "adminBearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "The same token, of one of the carrier's team: its `roles` name `admin`, or `support` \
                                    where that may do it too.",
                },
            },
        },
    })
}

/// Types that are both read and written must look the same, or carry two names.
fn merged(mut requests: SchemaGenerator, mut responses: SchemaGenerator) -> Map<String, Value> {
    let mut schemas = responses.take_definitions(true);
    for (name, schema) in requests.take_definitions(true) {
        let clash = schemas.get(&name).is_some_and(|known| *known != schema);
        debug_assert!(!clash, "{name} is read in another form than it is written: give the request a name of its own");
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
        "operationId": operation_id(endpoint),
        "summary": endpoint.summary,
        "tags": [endpoint.tag],
        "x-roles": endpoint.who.roles(),
        "security": match endpoint.who {
            Who::Anyone => json!([]),
            Who::SignedIn | Who::Holder | Who::Customer => json!([{"bearer": []}]),
            Who::Team | Who::Admin => json!([{"adminBearer": []}]),
        },
        "responses": answers(endpoint, &description.problems, responses, problem),
    });
    if !description.parameters.is_empty() {
        operation["parameters"] = description.parameters.into();
    }
    if let Some(body) = description.request_body {
        operation["requestBody"] = body;
    }
    operation
}

fn header_parameters(endpoint: &Endpoint, parameters: &mut Vec<Value>) {
    let mut header = |name: &str, required: bool, schema: Value, description: &str| {
        parameters.push(
            json!({"name": name, "in": "header", "required": required, "schema": schema, "description": description}),
        );
    };
    let uuid = json!({"type": "string", "format": "uuid", "pattern": UUID_V4});
    match endpoint.idempotency {
        Idempotency::Required => header("Idempotency-Key", true, uuid, "A UUID v4 of this logical operation."),
        Idempotency::Honoured => {
            header("Idempotency-Key", false, uuid, "A UUID v4; a retry with it is answered alike.")
        }
        Idempotency::None => {}
    }
    if endpoint.is_conditional() {
        header("If-Match", false, json!({"type": "string"}), "The ETag of the version to change.");
    }
    if endpoint.handler.is_tagged() {
        header("If-None-Match", false, json!({"type": "string"}), "The ETag of the version you have.");
    }
}

fn answers(endpoint: &Endpoint, of_inputs: &[Code], responses: &mut SchemaGenerator, problem: &Value) -> Value {
    let mut answers: BTreeMap<String, Value> = BTreeMap::new();
    let status = endpoint.handler.status();
    let mut success = json!({
        "description": status.canonical_reason().unwrap_or("Success"),
        "headers": headers(&headers_of_success(endpoint)),
    });
    if let Some(content) = endpoint.handler.content(responses) {
        success["content"] = content;
    }
    if let Some(refusal) = endpoint.handler.refusal() {
        let mut refused = success.clone();
        refused["description"] = refusal.canonical_reason().unwrap_or("Refused").into();
        answers.insert(refusal.as_str().to_owned(), refused);
    }
    answers.insert(status.as_str().to_owned(), success);
    if endpoint.handler.is_tagged() {
        answers.insert("304".to_owned(), json!({"description": "Not Modified", "headers": headers(&["ETag"])}));
    }
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in endpoint.problems(of_inputs) {
        by_status.entry(code.status().as_u16()).or_default().push(code);
    }
    for (status, codes) in by_status {
        let titles: Vec<&str> = codes.iter().map(|code| code.title()).collect();
        let urns: Vec<String> = codes.iter().map(|code| format!("{URN_PREFIX}{}", code.as_str())).collect();
        let mut answer = json!({
            "description": titles.join("; "),
            "x-problem-codes": codes.iter().map(|code| code.as_str()).collect::<Vec<_>>(),
            "content": {"application/problem+json": {"schema": {
                "allOf": [problem, {"properties": {"type": {"enum": urns}}}],
            }}},
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

/// A problem names its request in its body; what else every response carries is told with the success.
fn headers_of_success(endpoint: &Endpoint) -> Vec<&'static str> {
    let mut names = vec!["X-Request-Id"];
    if endpoint.limit != Limit::None {
        names.extend(["RateLimit-Policy", "RateLimit"]);
    }
    if endpoint.handler.is_tagged() {
        names.push("ETag");
    }
    if endpoint.idempotency != Idempotency::None {
        names.push("Idempotent-Replayed");
    }
    names.extend(endpoint.handler.headers());
    names
}

fn headers(names: &[&str]) -> Value {
    let reference = |name: &&str| ((*name).to_owned(), json!({"$ref": format!("#/components/headers/{name}")}));
    Value::Object(names.iter().map(reference).collect())
}

/// `POST /auth/sign-in` is `postAuthSignIn`.
fn operation_id(endpoint: &Endpoint) -> String {
    let mut id = endpoint.method.as_str().to_lowercase();
    for word in endpoint.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let (first, rest) = word.split_at(1);
        id.push_str(&first.to_uppercase());
        id.push_str(rest);
    }
    id
}
