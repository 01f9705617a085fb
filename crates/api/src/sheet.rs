//! A sheet as the body of a request: CSV or XLSX, or a form (`multipart/form-data`) with the sheet as `file` and a JSON
//! part beside it. It is streamed to a temporary file of the file store.
//!
//! What the file is, its content decides when it is read, not its media type.

use std::sync::atomic::AtomicU64;

use aws_lc_rs::digest::{Context as Hashing, SHA256};
use futures_util::TryStreamExt;
use http_body_util::BodyExt;
use hyper::body::Body as _;
use hyper::header::CONTENT_TYPE;
use multer::{Field, Multipart};
use schemars::SchemaGenerator;
use serde_json::json;

use super::checks::Request;
use super::context::RequestCtx;
use super::csv::{CSV, Lines, MAX_TABLE_BYTES, TABLE_TIMEOUT, digest};
use super::faults::Faults;
use super::incoming_body::IncomingBody;
use super::input::{Description, IncomingRequest, Input, MAX_JSON_BYTES, media_type, parse_json};
use super::problem::{Code, Problem};
use super::upload::{Paced, add_processed, malformed};
use platform::outside::files::{Files, Received};

/// The media type of XLSX.
pub const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const FORM: &str = "multipart/form-data";
const FILE: &str = "file";
const MAPPING: &str = "mapping";
const ACCEPTED: &str = "text/csv, XLSX or multipart/form-data";

/// A received sheet.
pub struct Sheet<M> {
    pub file: Received,
    /// Of CSV, and approximate, since quoted text may contain line feeds.
    pub lines: u64,
    /// How to read it, if the form says so.
    pub mapping: Option<M>,
}

/// The sheet, if the request has one.
pub struct OptionalSheet<M>(pub Option<Sheet<M>>);

impl<M: Request> Input for OptionalSheet<M> {
    async fn read(ctx: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        receive(ctx, request).await.map(OptionalSheet)
    }

    fn describe(_: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
        describe::<M>(false, schemas, description);
    }
}

impl<M: Request> Input for Sheet<M> {
    async fn read(ctx: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        receive(ctx, request).await?.ok_or_else(|| Problem::malformed("Send the sheet as the body."))
    }

    fn describe(_: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
        describe::<M>(true, schemas, description);
    }
}

async fn receive<M: Request>(ctx: &RequestCtx, request: &mut IncomingRequest) -> Result<Option<Sheet<M>>, Problem> {
    let Some(body) = request.body.take().filter(|body| !body.is_end_stream()) else {
        request.body_digest = Some(digest(request, None));
        return Ok(None);
    };
    let media_type = media_type(&request.head.headers).unwrap_or_default();
    if ![CSV, XLSX, FORM].contains(&media_type.as_str()) {
        return Err(Problem::unsupported_media_type(ACCEPTED));
    }
    if body.size_hint().lower() > MAX_TABLE_BYTES + MAX_JSON_BYTES as u64 {
        return Err(Problem::too_large(usize::try_from(MAX_TABLE_BYTES).unwrap_or(usize::MAX)));
    }
    let content_type = request.head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let boundary = multer::parse_boundary(content_type.unwrap_or_default());
    let received = async {
        match media_type == FORM {
            true => receive_form(ctx, boundary.map_err(malformed)?, body).await,
            false => Ok(Parts { file: Some(receive_file(&ctx.app.files, body).await?), mapping: None }),
        }
    };
    let parts = tokio::time::timeout(TABLE_TIMEOUT, received).await.map_err(|_| Problem::request_timeout())??;
    let file = parts.file.as_ref().map(|(file, _)| file);
    request.body_digest = Some(with_mapping(digest(request, file), parts.mapping.as_deref()));
    let mapping = match &parts.mapping {
        Some(json) => Some(parse_json(json, &ctx.app.settings, ctx.now)?),
        None => None,
    };
    let file = parts.file.filter(|(file, _)| file.stored_as().size_bytes > 0);
    Ok(file.map(|(file, lines)| Sheet { file, lines, mapping }))
}

/// The parts of a form as they were sent.
#[derive(Default)]
struct Parts {
    file: Option<(Received, u64)>,
    mapping: Option<Vec<u8>>,
}

async fn receive_file(files: &Files, body: IncomingBody) -> Result<(Received, u64), Problem> {
    let lines = Lines::default();
    let counted = body.into_data_stream().inspect_ok(|chunk| lines.count(chunk));
    let file = files.receive(counted, MAX_TABLE_BYTES).await?;
    Ok((file, lines.total()))
}

async fn receive_form(ctx: &RequestCtx, boundary: String, body: IncomingBody) -> Result<Parts, Problem> {
    let mut body = Paced::new(body);
    let processed = body.processed.clone();
    let mut form = Multipart::new(&mut body, boundary);
    let (mut parts, mut faults) = (Parts::default(), Faults::default());
    while let Some(part) = form.next_field().await.map_err(malformed)? {
        let name: String = part.name().unwrap_or_default().chars().take(100).collect();
        match name.as_str() {
            FILE if parts.file.is_none() => {
                let lines = Lines::default();
                let content = part.inspect_ok(|piece| {
                    add_processed(&processed, piece);
                    lines.count(piece);
                });
                let file = ctx.app.files.receive(content, MAX_TABLE_BYTES).await?;
                parts.file = Some((file, lines.total()));
            }
            MAPPING if parts.mapping.is_none() => parts.mapping = Some(read_json(part, &processed).await?),
            FILE | MAPPING => {
                faults.add(name, "is given twice");
                break;
            }
            _ => {
                faults.add(name, "is not a part of this form");
                break;
            }
        }
    }
    if parts.file.is_none() && faults.is_empty() {
        faults.add(FILE, "is required");
    }
    faults.into_result()?;
    Ok(parts)
}

async fn read_json(mut part: Field<'_>, processed: &AtomicU64) -> Result<Vec<u8>, Problem> {
    let mut json = Vec::new();
    while let Some(piece) = part.chunk().await.map_err(malformed)? {
        add_processed(processed, &piece);
        json.extend_from_slice(&piece);
        if json.len() > MAX_JSON_BYTES {
            return Err(Problem::too_large(MAX_JSON_BYTES));
        }
    }
    Ok(json)
}

fn with_mapping(file: [u8; 32], mapping: Option<&[u8]>) -> [u8; 32] {
    let Some(mapping) = mapping else { return file };
    let mut hashing = Hashing::new(&SHA256);
    hashing.update(&file);
    hashing.update(mapping);
    let mut digest = [0; 32];
    digest.copy_from_slice(hashing.finish().as_ref());
    digest
}

fn describe<M: Request>(required: bool, schemas: &mut SchemaGenerator, description: &mut Description) {
    description.is_checked |= M::IS_CHECKED;
    let mapping = schemas.subschema_for::<M::Schema>();
    let file =
        |what: &str| json!({"type": "string", "contentMediaType": "application/octet-stream", "description": what});
    description.request_body = Some(json!({
        "required": required,
        "content": {
            CSV: {"schema": {"type": "string", "description": "CSV table, 256 MiB at most."}},
            XLSX: {"schema": file("Workbook, 64 MiB at most.")},
            FORM: {
                "schema": {
                    "type": "object",
                    "properties": {FILE: file("CSV table or workbook."), MAPPING: mapping},
                    "required": [FILE],
                },
                "encoding": {MAPPING: {"contentType": "application/json"}},
            },
        },
    }));
    description.problems.extend([
        Code::Malformed,
        Code::ValidationFailed,
        Code::UnsupportedMediaType,
        Code::TooLarge,
        Code::RequestTimeout,
    ]);
}
