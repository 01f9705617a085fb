//! The arguments of handlers: each reads itself from the request and describes itself to OpenAPI.

use std::str::FromStr;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::http::request::Parts;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::checks::Request;
use super::context::RequestCtx;
use super::faults::Faults;
use super::incoming_body::IncomingBody;
use super::problem::{Code, Problem};
use super::{json as json_text, schema};
use platform::config::Settings;
use values::Time;

/// The largest JSON body, unless an endpoint takes longer lists; uploads and tables have their own limits.
pub const MAX_JSON_BYTES: usize = 64 * 1024;
/// What is allocated for a body before it arrives.
const MAX_RESERVED_BYTES: usize = 4096;
/// How long a body may take to arrive.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A request as inputs read it.
pub struct IncomingRequest {
    pub head: Parts,
    pub path_values: Vec<String>,
    pub body: Option<IncomingBody>,
    /// Digest of the body once it was read; distinguishes a replay from another request with the same key.
    pub body_digest: Option<[u8; 32]>,
}

/// What inputs contribute to the OpenAPI operation.
#[derive(Default)]
pub struct Description {
    pub parameters: Vec<Value>,
    pub request_body: Option<Value>,
    pub problems: Vec<Code>,
    /// Whether an input has rules behind its schema.
    pub is_checked: bool,
}

/// An argument of a handler.
pub trait Input: Sized + Send + 'static {
    fn read(ctx: &RequestCtx, request: &mut IncomingRequest) -> impl Future<Output = Result<Self, Problem>> + Send;
    fn describe(path: &str, schemas: &mut SchemaGenerator, description: &mut Description);
}

/// The JSON body, of at most `MAX` bytes.
pub struct Body<T, const MAX: usize = MAX_JSON_BYTES>(pub T);

impl<T: Request, const MAX: usize> Input for Body<T, MAX> {
    async fn read(ctx: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        if request.has_no_body() {
            // Names the missing fields; a body without required fields must be sent as `{}`.
            let mut faults = Faults::default();
            faults.add("body", "is required");
            return Err(parse_json::<T>(b"{}", &ctx.app.settings, ctx.now).err().unwrap_or_else(|| faults.into()));
        }
        if media_type(&request.head.headers).as_deref() != Some("application/json") {
            return Err(Problem::unsupported_media_type("application/json"));
        }
        let bytes = request.take_body(MAX).await?;
        request.body_digest = Some(sha256(&bytes));
        parse_json(&bytes, &ctx.app.settings, ctx.now).map(Body)
    }

    fn describe(_: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
        describe_json::<T>(true, schemas, description);
    }
}

/// An optional JSON body; without one, the default.
pub struct OptionalBody<T>(pub T);

impl<T: Request + Default> Input for OptionalBody<T> {
    async fn read(ctx: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        let is_json = media_type(&request.head.headers).as_deref() == Some("application/json");
        let bytes = request.take_body(MAX_JSON_BYTES).await?;
        request.body_digest = Some(sha256(&bytes));
        match bytes.is_empty() {
            true => Ok(OptionalBody(T::default())),
            false if is_json => parse_json(&bytes, &ctx.app.settings, ctx.now).map(OptionalBody),
            false => Err(Problem::unsupported_media_type("application/json")),
        }
    }

    fn describe(_: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
        describe_json::<T>(false, schemas, description);
    }
}

/// Parses a JSON body into its type, or names every field that fails.
pub fn parse_json<T: Request>(bytes: &[u8], settings: &Settings, now: Time) -> Result<T, Problem> {
    let value = json_text::parse(bytes).map_err(|error| match error.is_data() {
        true => Problem::malformed(format!("The body is ambiguous: {error}.")),
        false => Problem::malformed(format!("The body is not JSON: {error}.")),
    })?;
    schema::read_request(value, Faults::default(), settings, now)
}

fn describe_json<T: Request>(required: bool, schemas: &mut SchemaGenerator, description: &mut Description) {
    let schema = schemas.subschema_for::<T::Schema>();
    description.is_checked |= T::IS_CHECKED;
    description.request_body = Some(json!({"required": required, "content": {"application/json": {"schema": schema}}}));
    description.problems.extend(NO_BODY_PROBLEMS);
}

/// Headers and the raw body, for requests with a signature.
pub struct Signed {
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Input for Signed {
    async fn read(_: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        let body = request.take_body(MAX_JSON_BYTES).await?;
        Ok(Signed { headers: request.head.headers.clone(), body })
    }

    fn describe(_: &str, _: &mut SchemaGenerator, description: &mut Description) {
        description.request_body =
            Some(json!({"required": true, "content": {"application/json": {"schema": {"type": "object"}}}}));
        description.problems.extend([Code::Malformed, Code::TooLarge, Code::RequestTimeout]);
    }
}

pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(digest(&SHA256, bytes).as_ref());
    out
}

/// The `Content-Type` without its parameters.
pub(super) fn media_type(headers: &HeaderMap) -> Option<String> {
    let essence = headers.get(CONTENT_TYPE)?.to_str().ok()?.split(';').next()?;
    Some(essence.trim().to_ascii_lowercase())
}

/// The body of an operation without one.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Problems of an unexpected body.
pub const NO_BODY_PROBLEMS: [Code; 5] =
    [Code::Malformed, Code::ValidationFailed, Code::UnsupportedMediaType, Code::TooLarge, Code::RequestTimeout];

impl IncomingRequest {
    /// Neither a body nor a type of one.
    pub fn has_no_body(&self) -> bool {
        !self.head.headers.contains_key(CONTENT_TYPE) && self.body.as_ref().is_none_or(|body| body.is_end_stream())
    }

    /// Rejects the fields of a body that no input reads, instead of ignoring them.
    pub async fn expect_no_body(&mut self, ctx: &RequestCtx) -> Result<(), Problem> {
        if self.body.as_ref().is_some_and(|body| !body.is_end_stream()) {
            OptionalBody::<Nothing>::read(ctx, self).await?;
        }
        Ok(())
    }

    async fn take_body(&mut self, limit_bytes: usize) -> Result<Bytes, Problem> {
        match self.body.take() {
            Some(body) => read_body(body, limit_bytes).await,
            None => Ok(Bytes::new()),
        }
    }
}

pub async fn read_body(body: IncomingBody, limit_bytes: usize) -> Result<Bytes, Problem> {
    if body.size_hint().lower() > limit_bytes as u64 {
        return Err(Problem::too_large(limit_bytes));
    }
    tokio::time::timeout(BODY_TIMEOUT, gather(body, limit_bytes)).await.map_err(|_| Problem::request_timeout())?
}

/// Copies the frames of a body together. A frame is never kept: however small it is, it holds on to the buffer of some
/// kilobytes that it was read into.
async fn gather<B>(body: B, limit_bytes: usize) -> Result<Bytes, Problem>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Problem>,
{
    let mut body = std::pin::pin!(body);
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(limit_bytes);
    let mut bytes = BytesMut::with_capacity(announced.min(limit_bytes).min(MAX_RESERVED_BYTES));
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Into::into)?.into_data() else { continue };
        if bytes.len() + data.len() > limit_bytes {
            return Err(Problem::too_large(limit_bytes));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

/// The value in the path; 404 if it cannot be parsed.
pub struct Path<T>(pub T);

impl<T: FromStr + JsonSchema + Send + 'static> Input for Path<T> {
    async fn read(_: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        let value = request.path_values.first().and_then(|value| value.parse().ok());
        value.map(Path).ok_or_else(Problem::not_found)
    }

    fn describe(path: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
        let schema = schemas.subschema_for::<T>().to_value();
        description.parameters.extend(names_in(path).next().map(|name| parameter(name, "path", true, schema, schemas)));
        description.problems.push(Code::NotFound);
    }
}

/// Both values of a path with two.
pub struct PathPair<A, B>(pub A, pub B);

impl<A, B> Input for PathPair<A, B>
where
    A: FromStr + JsonSchema + Send + 'static,
    B: FromStr + JsonSchema + Send + 'static,
{
    async fn read(_: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        let [first, second] = request.path_values.as_slice() else { return Err(Problem::not_found()) };
        match (first.parse(), second.parse()) {
            (Ok(first), Ok(second)) => Ok(PathPair(first, second)),
            _ => Err(Problem::not_found()),
        }
    }

    fn describe(path: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
        let both = [schemas.subschema_for::<A>(), schemas.subschema_for::<B>()];
        for (name, schema) in names_in(path).zip(both) {
            description.parameters.push(parameter(name, "path", true, schema.to_value(), schemas));
        }
        description.problems.push(Code::NotFound);
    }
}

/// The header `Last-Event-ID`, with which a stream resumes.
pub struct LastEventId<T>(pub Option<T>);

impl<T: FromStr + JsonSchema + Send + 'static> Input for LastEventId<T> {
    async fn read(_: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        let Some(value) = request.head.headers.get(LAST_EVENT_ID) else { return Ok(LastEventId(None)) };
        let id = value.to_str().ok().and_then(|text| text.parse().ok());
        id.map(|id| LastEventId(Some(id))).ok_or_else(unknown_event)
    }

    fn describe(_: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
        let mut schema = schemas.subschema_for::<T>().to_value();
        if let Some(schema) = schema.as_object_mut() {
            schema.shift_remove("description");
        }
        description.parameters.push(json!({
            "name": LAST_EVENT_ID, "in": "header", "required": false, "schema": schema,
            "description": "Id of the last event that the caller has seen; the stream resumes after it.",
        }));
        description.problems.push(Code::ValidationFailed);
    }
}

const LAST_EVENT_ID: &str = "Last-Event-ID";

/// The problem of a `Last-Event-ID` that names no event of the caller.
pub fn unknown_event() -> Problem {
    let mut faults = Faults::default();
    faults.add(LAST_EVENT_ID, "must be the id of an event of the last 30 days");
    faults.into()
}

fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// A parameter, with the description of its schema or of the schema it refers to.
fn parameter(name: &str, place: &str, required: bool, mut schema: Value, schemas: &SchemaGenerator) -> Value {
    let own = schema.as_object_mut().and_then(|schema| schema.shift_remove("description"));
    let text = own.or_else(|| {
        let reference = schema.get("$ref")?.as_str()?.rsplit('/').next()?;
        schemas.definitions().get(reference)?.get("description").cloned()
    });
    let mut parameter = json!({"name": name, "in": place, "required": required});
    if let Some(text) = text {
        parameter["description"] = text;
    }
    parameter["schema"] = schema;
    parameter
}

/// The query string as a type.
pub struct Query<T>(pub T);

impl<T: Request> Input for Query<T> {
    async fn read(ctx: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        let mut faults = Faults::default();
        let pairs = query_pairs(request, &mut faults)?;
        read_query(pairs, faults, ctx).map(Query)
    }

    fn describe(_: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
        describe_query::<T>(schemas, description);
    }
}

/// The decoded pairs of the query string; of a name that is repeated, the first.
pub fn query_pairs(request: &IncomingRequest, faults: &mut Faults) -> Result<Vec<(String, String)>, Problem> {
    let query = request.head.uri.query().unwrap_or_default();
    if percent_encoding::percent_decode_str(query).decode_utf8().is_err() {
        return Err(Problem::malformed("The query string is not UTF-8."));
    }
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if pairs.iter().any(|(known, _)| *known == name) {
            faults.add(name, "is given twice");
        } else {
            pairs.push((name.into_owned(), value.into_owned()));
        }
    }
    Ok(pairs)
}

/// Reads pairs of names and texts that have these faults so far.
pub fn read_query<T: Request>(
    pairs: Vec<(String, String)>,
    mut faults: Faults,
    ctx: &RequestCtx,
) -> Result<T, Problem> {
    let compiled = schema::compiled::<T::Schema>()?;
    let mut fields = Map::new();
    for (name, text) in pairs {
        faults.unless(!text.contains('\0'), name.as_str(), "must not contain NUL");
        let value = compiled.coerce(&name, text);
        fields.insert(name, value);
    }
    schema::read_request(Value::Object(fields), faults, &ctx.app.settings, ctx.now)
}

pub fn describe_query<T: Request>(schemas: &mut SchemaGenerator, description: &mut Description) {
    description.is_checked |= T::IS_CHECKED;
    let object = T::Schema::json_schema(schemas).to_value();
    let required: Vec<&str> = object["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, schema) in object["properties"].as_object().into_iter().flatten() {
        let required = required.contains(&name.as_str());
        description.parameters.push(parameter(name, "query", required, without_null(schema.clone()), schemas));
    }
    description.problems.extend([Code::Malformed, Code::ValidationFailed]);
}

/// A parameter is absent or has a value; it is never `null`.
fn without_null(mut schema: Value) -> Value {
    let Some(fields) = schema.as_object_mut() else { return schema };
    if fields.get("default") == Some(&Value::Null) {
        fields.shift_remove("default");
    }
    if let Some(Value::Array(kinds)) = fields.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            fields["type"] = only.clone();
        }
    }
    if let Some(Value::Array(forms)) = fields.get_mut("anyOf") {
        forms.retain(|form| form["type"] != "null");
        if let [Value::Object(only)] = forms.as_slice() {
            let only = only.clone();
            fields.shift_remove("anyOf");
            for (key, value) in only {
                fields.entry(key).or_insert(value);
            }
        }
    }
    schema
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    impl From<Infallible> for Problem {
        fn from(never: Infallible) -> Problem {
            match never {}
        }
    }

    #[test]
    fn a_parameter_that_may_be_absent_does_not_claim_null() {
        for (of_type, of_parameter) in [
            (json!({"type": ["string", "null"], "default": null}), json!({"type": "string"})),
            (json!({"anyOf": [{"$ref": "#/Leg"}, {"type": "null"}], "default": null}), json!({"$ref": "#/Leg"})),
            (json!({"type": "integer", "default": 50}), json!({"type": "integer", "default": 50})),
            (json!({"type": ["string", "integer", "null"]}), json!({"type": ["string", "integer"]})),
        ] {
            assert_eq!(without_null(of_type), of_parameter);
        }
    }

    struct ReadBuffer {
        _counted: Arc<()>,
    }

    impl AsRef<[u8]> for ReadBuffer {
        fn as_ref(&self) -> &[u8] {
            b"x"
        }
    }

    #[tokio::test]
    async fn a_small_frame_does_not_keep_the_buffer_it_was_read_into() {
        let buffers = Arc::new(());
        let frames = (0..1000).map(|_| {
            assert_eq!(Arc::strong_count(&buffers), 1, "an earlier frame is still kept");
            Ok::<_, Infallible>(Frame::data(Bytes::from_owner(ReadBuffer { _counted: buffers.clone() })))
        });
        let body = StreamBody::new(stream::iter(frames));
        assert_eq!(gather(body, 1000).await.unwrap(), "x".repeat(1000));
    }
}
