//! What a handler returns: the type determines the status and the schema, so the table does not repeat them.

use std::io;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use hyper::header::{CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, LINK};
use hyper::{StatusCode, header};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};

use super::conditional;
use super::page::{HotPage, Items, Page, Rows, TotalledPage, WrittenPage};
use super::problem::Problem;
use super::response::{Body, Response, full};

/// Initial capacity: the usual number of headers of a response.
const HEADERS: usize = 16;
/// Initial capacity of a body: most resources are shorter.
const BODY_BYTES: usize = 1024;

/// A finished response, before the headers that every response gets.
pub struct Rendered {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub payload: Payload,
}

pub enum Payload {
    Whole(Bytes),
    Stream(BoxStream<'static, io::Result<Bytes>>),
}

impl Rendered {
    pub fn json(status: StatusCode, body: &impl Serialize) -> Result<Rendered, Problem> {
        let mut text = Vec::with_capacity(BODY_BYTES);
        serde_json::to_writer(&mut text, body).map_err(Problem::internal)?;
        Ok(Rendered::json_text(status, text))
    }

    fn json_text(status: StatusCode, text: Vec<u8>) -> Rendered {
        let mut headers = HeaderMap::with_capacity(HEADERS);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Rendered { status, headers, payload: Payload::Whole(text.into()) }
    }

    pub fn into_response(self) -> Response {
        let mut response = match self.payload {
            Payload::Whole(bytes) => full(self.status, bytes),
            Payload::Stream(stream) => {
                let mut response = Response::new(Body::Stream(stream));
                *response.status_mut() = self.status;
                response
            }
        };
        *response.headers_mut() = self.headers;
        response
    }
}

pub trait Answer: Send + 'static {
    const STATUS: StatusCode;

    /// Whether a GET has an ETag: single resources do, lists and streams do not.
    const TAGGED: bool = false;

    /// Additional headers of a success, as OpenAPI names them.
    const HEADERS: &'static [&'static str] = &[];

    /// The status of an error response with this schema instead of a problem.
    const REFUSAL: Option<StatusCode> = None;

    /// The OpenAPI `content` of the success response.
    fn content(schemas: &mut SchemaGenerator) -> Option<Value>;

    fn render(self) -> Result<Rendered, Problem>;
}

fn json_content<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Option<Value> {
    Some(json!({"application/json": {"schema": schemas.subschema_for::<T>()}}))
}

/// 200 with a resource.
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> Answer for Json<T> {
    const STATUS: StatusCode = StatusCode::OK;
    const TAGGED: bool = true;

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        json_content::<T>(schemas)
    }

    fn render(self) -> Result<Rendered, Problem> {
        Rendered::json(Self::STATUS, &self.0)
    }
}

/// A resource with fields that change by themselves, such as a balance. They make no new version of it, so that a change
/// which was prepared before is still good.
pub trait Volatile: Serialize {
    const FIELDS: &'static [&'static str];

    /// All other fields.
    fn version(&self) -> Result<Value, Problem> {
        let mut version = serde_json::to_value(self).map_err(Problem::internal)?;
        if let Some(fields) = version.as_object_mut() {
            for name in Self::FIELDS {
                fields.shift_remove(*name);
            }
        }
        Ok(version)
    }
}

/// 200 with such a resource.
pub struct VolatileJson<T>(pub T);

impl<T: Volatile + JsonSchema + Send + 'static> Answer for VolatileJson<T> {
    const STATUS: StatusCode = StatusCode::OK;
    const TAGGED: bool = true;

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        json_content::<T>(schemas)
    }

    fn render(self) -> Result<Rendered, Problem> {
        let mut rendered = Rendered::json(Self::STATUS, &self.0)?;
        if let Payload::Whole(body) = &rendered.payload {
            let tag = conditional::etag_with_version(&self.0.version()?, body)?;
            rendered.headers.insert(ETAG, HeaderValue::from_str(&tag).map_err(Problem::internal)?);
        }
        Ok(rendered)
    }
}

/// 200 with a result computed for this moment, so without an ETag.
pub struct Report<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> Answer for Report<T> {
    const STATUS: StatusCode = StatusCode::OK;

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        json_content::<T>(schemas)
    }

    fn render(self) -> Result<Rendered, Problem> {
        Rendered::json(Self::STATUS, &self.0)
    }
}

/// 201 with what was created.
pub struct Created<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> Answer for Created<T> {
    const STATUS: StatusCode = StatusCode::CREATED;

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        json_content::<T>(schemas)
    }

    fn render(self) -> Result<Rendered, Problem> {
        Rendered::json(Self::STATUS, &self.0)
    }
}

/// 202: the work continues in the background.
pub struct Accepted<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> Answer for Accepted<T> {
    const STATUS: StatusCode = StatusCode::ACCEPTED;

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        json_content::<T>(schemas)
    }

    fn render(self) -> Result<Rendered, Problem> {
        Rendered::json(Self::STATUS, &self.0)
    }
}

/// 204.
pub struct NoContent;

impl Answer for NoContent {
    const STATUS: StatusCode = StatusCode::NO_CONTENT;

    fn content(_: &mut SchemaGenerator) -> Option<Value> {
        None
    }

    fn render(self) -> Result<Rendered, Problem> {
        Ok(Rendered { status: Self::STATUS, headers: HeaderMap::new(), payload: Payload::Whole(Bytes::new()) })
    }
}

/// An answer that sets a cookie.
pub struct SetCookie<A> {
    pub answer: A,
    pub cookie: HeaderValue,
}

impl<A: Answer> Answer for SetCookie<A> {
    const STATUS: StatusCode = A::STATUS;
    const HEADERS: &'static [&'static str] = &["Set-Cookie"];

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        A::content(schemas)
    }

    fn render(self) -> Result<Rendered, Problem> {
        let mut rendered = self.answer.render()?;
        rendered.headers.insert(header::SET_COOKIE, self.cookie);
        Ok(rendered)
    }
}

impl<T: Serialize + JsonSchema + Send + 'static> Answer for Page<T> {
    const STATUS: StatusCode = StatusCode::OK;
    const HEADERS: &'static [&'static str] = &["Link"];

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        json_content::<Page<T>>(schemas)
    }

    fn render(self) -> Result<Rendered, Problem> {
        with_next(Rendered::json(Self::STATUS, &self)?, self.next_link())
    }
}

impl<T: JsonSchema + 'static> Answer for WrittenPage<T> {
    const STATUS: StatusCode = StatusCode::OK;
    const HEADERS: &'static [&'static str] = &["Link"];

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        json_content::<HotPage<T>>(schemas)
    }

    fn render(mut self) -> Result<Rendered, Problem> {
        let body = std::mem::take(&mut self.body);
        with_next(Rendered::json_text(Self::STATUS, body), self.next_link())
    }
}

impl<T: Serialize + JsonSchema + Send + 'static> Answer for TotalledPage<T> {
    const STATUS: StatusCode = StatusCode::OK;
    const HEADERS: &'static [&'static str] = &["Link"];

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        json_content::<TotalledPage<T>>(schemas)
    }

    fn render(self) -> Result<Rendered, Problem> {
        with_next(Rendered::json(Self::STATUS, &self)?, self.next_link())
    }
}

impl<T: Serialize + JsonSchema + Send + 'static> Answer for HotPage<T> {
    const STATUS: StatusCode = StatusCode::OK;
    const HEADERS: &'static [&'static str] = &["Link"];

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        json_content::<HotPage<T>>(schemas)
    }

    fn render(self) -> Result<Rendered, Problem> {
        with_next(Rendered::json(Self::STATUS, &self)?, self.next_link())
    }
}

impl<T: Serialize + JsonSchema + Send + 'static> Answer for Items<T> {
    const STATUS: StatusCode = StatusCode::OK;
    const HEADERS: &'static [&'static str] = &["Link"];

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        json_content::<Items<T>>(schemas)
    }

    fn render(self) -> Result<Rendered, Problem> {
        with_next(Rendered::json(Self::STATUS, &self)?, self.next_link())
    }
}

impl<T: Serialize + JsonSchema + Send + 'static> Answer for Rows<T> {
    const STATUS: StatusCode = StatusCode::OK;
    const HEADERS: &'static [&'static str] = &["Link"];

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        json_content::<Rows<T>>(schemas)
    }

    fn render(self) -> Result<Rendered, Problem> {
        with_next(Rendered::json(Self::STATUS, &self)?, self.next_link())
    }
}

fn with_next(mut rendered: Rendered, next: Option<&str>) -> Result<Rendered, Problem> {
    if let Some(next) = next {
        let link = HeaderValue::from_str(&format!("<{next}>; rel=\"next\"")).map_err(Problem::internal)?;
        rendered.headers.insert(LINK, link);
    }
    Ok(rendered)
}

/// Server-sent events, until the stream ends.
pub struct EventStream(pub BoxStream<'static, io::Result<Bytes>>);

impl Answer for EventStream {
    const STATUS: StatusCode = StatusCode::OK;

    fn content(_: &mut SchemaGenerator) -> Option<Value> {
        Some(json!({"text/event-stream": {"schema": {"type": "string"}}}))
    }

    fn render(self) -> Result<Rendered, Problem> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        Ok(Rendered { status: Self::STATUS, headers, payload: Payload::Stream(self.0) })
    }
}

/// A file download.
pub struct Attachment {
    pub content_type: HeaderValue,
    pub disposition: HeaderValue,
    /// Absent if the file is generated while it is sent.
    pub length: Option<u64>,
    pub body: BoxStream<'static, io::Result<Bytes>>,
}

/// Media types of stored files: invoices, exports, and what was uploaded.
const FILE_TYPES: [&str; 6] =
    ["application/pdf", "text/csv", "application/x-ndjson", "application/gzip", "image/jpeg", "image/png"];

impl Answer for Attachment {
    const STATUS: StatusCode = StatusCode::OK;
    const HEADERS: &'static [&'static str] = &["Content-Disposition"];

    fn content(_: &mut SchemaGenerator) -> Option<Value> {
        let file = json!({"schema": {"type": "string", "format": "binary"}});
        Some(FILE_TYPES.iter().map(|media_type| ((*media_type).to_owned(), file.clone())).collect())
    }

    fn render(self) -> Result<Rendered, Problem> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, self.content_type);
        headers.insert(header::CONTENT_DISPOSITION, self.disposition);
        if let Some(length) = self.length {
            headers.insert(header::CONTENT_LENGTH, length.into());
        }
        Ok(Rendered { status: Self::STATUS, headers, payload: Payload::Stream(self.body) })
    }
}

/// A CSV file that is generated while it is sent.
pub struct CsvFile(pub Attachment);

impl Answer for CsvFile {
    const STATUS: StatusCode = StatusCode::OK;
    const HEADERS: &'static [&'static str] = Attachment::HEADERS;

    fn content(_: &mut SchemaGenerator) -> Option<Value> {
        Some(json!({"text/csv": {"schema": {"type": "string"}}}))
    }

    fn render(self) -> Result<Rendered, Problem> {
        self.0.render()
    }
}

/// A table as a stored file, in CSV or as a workbook.
pub struct SheetFile(pub Attachment);

impl Answer for SheetFile {
    const STATUS: StatusCode = StatusCode::OK;
    const HEADERS: &'static [&'static str] = Attachment::HEADERS;

    fn content(_: &mut SchemaGenerator) -> Option<Value> {
        Some(json!({
            "text/csv": {"schema": {"type": "string"}},
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":
                {"schema": {"type": "string", "format": "binary"}},
        }))
    }

    fn render(self) -> Result<Rendered, Problem> {
        self.0.render()
    }
}

/// A page of a list, or the whole list as CSV, as the caller asks.
pub enum PageOrCsv<P> {
    Page(P),
    Csv(CsvFile),
}

impl<P: Answer> Answer for PageOrCsv<P> {
    const STATUS: StatusCode = StatusCode::OK;
    const HEADERS: &'static [&'static str] = &["Link", "Content-Disposition"];

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        let both = [P::content(schemas), CsvFile::content(schemas)];
        let types = both.into_iter().flatten().filter_map(|content| match content {
            Value::Object(types) => Some(types),
            _ => None,
        });
        Some(Value::Object(types.flatten().collect()))
    }

    fn render(self) -> Result<Rendered, Problem> {
        match self {
            PageOrCsv::Page(page) => page.render(),
            PageOrCsv::Csv(file) => file.render(),
        }
    }
}
