//! Uploads: a form with one file (`multipart/form-data`), streamed to the file store.
//!
//! The part `file` is written to a temporary file of the store and must be of a type that is accepted; the handler keeps
//! it, or drops it and it is deleted. The other parts are short texts: the fields of the form's type.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use aws_lc_rs::digest::{Context as Hashing, SHA256};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt};
use http_body_util::{BodyDataStream, BodyExt};
use hyper::body::Body as _;
use hyper::header::CONTENT_TYPE;
use multer::{Field, Multipart};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::json;

use super::checks::Request;
use super::context::RequestCtx;
use super::faults::Faults;
use super::incoming_body::{BodyError, IncomingBody};
use super::input::{Description, IncomingRequest, Input, read_query};
use super::problem::{Code, Problem};
use platform::outside::clamd::Verdict;
use platform::outside::files::{Files, Received};
use platform::outside::sniff::{FileType, sniff};

/// The largest file.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// All parts but the file.
const MAX_OTHER_PARTS_BYTES: u64 = 64 * 1024;
const MAX_TEXT_BYTES: usize = 1024;
const MAX_PARTS: usize = 8;
/// What the parser may buffer while it looks for the end of a part's headers.
const MAX_BUFFERED_BYTES: u64 = 128 * 1024;
/// Enough for the largest file at 0.5 Mbit/s.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(300);

const FILE: &str = "file";

/// A file and the fields beside it.
pub struct Upload<F> {
    pub fields: F,
    /// The name that the client gave it; only for display.
    pub file_name: String,
    pub file: Received,
    pub file_type: FileType,
}

impl<F: Request> Input for Upload<F> {
    async fn read(ctx: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        if request.has_no_body() {
            return Parts::default().complete(ctx).await;
        }
        let content_type = request.head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let boundary = multer::parse_boundary(content_type.unwrap_or_default()).map_err(|error| match error {
            multer::Error::NoBoundary => malformed(error),
            _ => Problem::unsupported_media_type("multipart/form-data"),
        })?;
        let Some(body) = request.body.take() else { return Err(Problem::malformed("The body is missing.")) };
        if body.size_hint().lower() > MAX_FILE_BYTES + MAX_OTHER_PARTS_BYTES {
            return Err(too_large());
        }
        let mut body = Paced::new(body);
        let parts = Parts::read(&ctx.app.files, &mut body, boundary);
        let parts = tokio::time::timeout(UPLOAD_TIMEOUT, parts).await.map_err(|_| Problem::request_timeout())??;
        request.body_digest = Some(parts.digest());
        parts.complete(ctx).await
    }

    fn describe(_: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
        description.is_checked = true;
        let mut schema = F::Schema::json_schema(schemas).to_value();
        schema["properties"][FILE] = json!({
            "type": "string", "contentMediaType": "application/octet-stream",
            "description": format!("The file, {} MiB at most.", MAX_FILE_BYTES / 1024 / 1024),
        });
        match schema["required"].as_array_mut() {
            Some(required) => required.push(FILE.into()),
            None => schema["required"] = json!([FILE]),
        }
        let content = json!({"multipart/form-data": {"schema": schema}});
        description.request_body = Some(json!({"required": true, "content": content}));
        description.problems.extend([
            Code::Malformed,
            Code::ValidationFailed,
            Code::UnsupportedMediaType,
            Code::TooLarge,
            Code::RequestTimeout,
        ]);
    }
}

fn too_large() -> Problem {
    Problem::too_large(usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX))
}

/// The parts read so far.
#[derive(Default)]
struct Parts {
    texts: Vec<(String, String)>,
    file: Option<(String, Received)>,
    faults: Faults,
}

impl Parts {
    async fn read(files: &Files, body: &mut Paced, boundary: String) -> Result<Parts, Problem> {
        let processed = body.processed.clone();
        let mut form = Multipart::new(body, boundary);
        let (mut parts, mut count) = (Parts::default(), 0);
        while let Some(part) = form.next_field().await.map_err(malformed)? {
            let name: String = part.name().unwrap_or_default().chars().take(100).collect();
            count += 1;
            if count > MAX_PARTS {
                return Err(Problem::malformed(format!("The form must not have more than {MAX_PARTS} parts.")));
            }
            if name == FILE {
                parts.read_file(files, part, &processed).await?;
            } else {
                parts.read_text(name, part, &processed).await?;
            }
        }
        Ok(parts)
    }

    async fn read_file(&mut self, files: &Files, part: Field<'_>, processed: &AtomicU64) -> Result<(), Problem> {
        if self.file.is_some() {
            self.faults.add(FILE, "is given twice");
            return self.skip(part, processed).await;
        }
        let name = part.file_name().unwrap_or_default().to_owned();
        let content = part.inspect_ok(|piece| add_processed(processed, piece));
        let file = files.receive(content, MAX_FILE_BYTES).await?;
        self.file = Some((name, file));
        Ok(())
    }

    async fn read_text(&mut self, name: String, mut part: Field<'_>, processed: &AtomicU64) -> Result<(), Problem> {
        if self.texts.iter().any(|(known, _)| *known == name) {
            self.faults.add(name, "is given twice");
            return self.skip(part, processed).await;
        }
        let is_file = part.file_name().is_some();
        self.faults.unless(!is_file, name.as_str(), format!("must not be a file; send the file as {FILE}"));
        let mut text = Vec::new();
        while let Some(piece) = part.chunk().await.map_err(malformed)? {
            add_processed(processed, &piece);
            text.extend_from_slice(&piece);
            if text.len() > MAX_TEXT_BYTES {
                self.faults.add(name.as_str(), format!("must have at most {MAX_TEXT_BYTES} bytes"));
                text.clear();
                self.skip(part, processed).await?;
                break;
            }
        }
        let text = String::from_utf8(text).map_err(|_| self.faults.add(name.as_str(), "must be text in UTF-8"));
        self.texts.push((name, text.unwrap_or_default()));
        Ok(())
    }

    /// Reads past a part that is refused, to find the faults of those after it; a long one ends the request.
    async fn skip(&mut self, mut part: Field<'_>, processed: &AtomicU64) -> Result<(), Problem> {
        let mut skipped = 0;
        while let Some(piece) = part.chunk().await.map_err(malformed)? {
            add_processed(processed, &piece);
            skipped += piece.len() as u64;
            if skipped > MAX_OTHER_PARTS_BYTES {
                return std::mem::take(&mut self.faults).into_result();
            }
        }
        Ok(())
    }

    /// Does not depend on the order of the parts or on the boundary.
    fn digest(&self) -> [u8; 32] {
        let mut texts: Vec<&(String, String)> = self.texts.iter().collect();
        texts.sort_unstable();
        let mut hashing = Hashing::new(&SHA256);
        let mut add = |bytes: &[u8]| {
            hashing.update(&(bytes.len() as u64).to_be_bytes());
            hashing.update(bytes);
        };
        for (name, text) in texts {
            add(name.as_bytes());
            add(text.as_bytes());
        }
        if let Some((name, file)) = &self.file {
            add(name.as_bytes());
            add(file.stored_as().hash.bytes());
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(hashing.finish().as_ref());
        digest
    }

    async fn complete<F: Request>(mut self, ctx: &RequestCtx) -> Result<Upload<F>, Problem> {
        let mut received = None;
        match self.file {
            None => self.faults.add(FILE, "is required"),
            Some((file_name, file)) => match sniff(file.content().await?).await.map_err(Problem::internal)? {
                Ok(file_type) => {
                    if let Some(malware) = find_malware(ctx, &file).await? {
                        self.faults.add(FILE, format!("must not contain malware ({malware})"));
                    }
                    received = Some((file_name, file, file_type));
                }
                Err(refusal) => self.faults.add(FILE, refusal.to_string()),
            },
        }
        let fields = read_query(self.texts, self.faults, ctx)?;
        let (file_name, file, file_type) = received.ok_or_else(|| Problem::internal("an upload without a file"))?;
        Ok(Upload { fields, file_name, file, file_type })
    }
}

/// What the malware scanner found, if there is one. Without its verdict nothing is accepted.
async fn find_malware(ctx: &RequestCtx, file: &Received) -> Result<Option<String>, Problem> {
    let Some(clamd) = &ctx.app.clamd else { return Ok(None) };
    match clamd.scan(file.content().await?).await {
        Ok(Verdict::Clean) => Ok(None),
        Ok(Verdict::Infected(name)) => Ok(Some(name)),
        Err(error) => {
            tracing::error!(%error, "an upload was refused");
            Err(Problem::unavailable("Uploads cannot be scanned for malware at the moment. Try again later."))
        }
    }
}

pub(super) fn malformed(error: multer::Error) -> Problem {
    match BodyError::inside(&error) {
        Some(error) => error.into(),
        None => Problem::malformed(format!("The form is not valid: {error}.")),
    }
}

pub(super) fn add_processed(processed: &AtomicU64, piece: &Bytes) {
    processed.fetch_add(piece.len() as u64, Ordering::Relaxed);
}

/// A body that limits how far the parser reads ahead of what was processed: it would otherwise buffer the whole body
/// while it looks for the end of a line.
pub(super) struct Paced {
    body: BodyDataStream<IncomingBody>,
    received: u64,
    pub processed: Arc<AtomicU64>,
    has_yielded: bool,
}

impl Paced {
    pub fn new(body: IncomingBody) -> Paced {
        Paced { body: body.into_data_stream(), received: 0, processed: Arc::default(), has_yielded: true }
    }
}

impl Stream for Paced {
    type Item = Result<Bytes, Box<dyn Error + Send + Sync>>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let paced = self.get_mut();
        if !std::mem::replace(&mut paced.has_yielded, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = paced.body.poll_next_unpin(context);
        if let Poll::Ready(Some(Ok(piece))) = &next {
            paced.has_yielded = false;
            paced.received += piece.len() as u64;
            let buffered = paced.received.saturating_sub(paced.processed.load(Ordering::Relaxed));
            if buffered > MAX_BUFFERED_BYTES {
                return Poll::Ready(Some(Err("the headers of a part are too long".into())));
            }
        }
        next.map(|piece| piece.map(|piece| piece.map_err(Into::into)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(texts: &[(&str, &str)]) -> [u8; 32] {
        let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        Parts { texts, ..Parts::default() }.digest()
    }

    #[test]
    fn the_digest_ignores_the_order_of_parts_but_not_their_text() {
        assert_eq!(digest(&[("a", "1"), ("b", "2")]), digest(&[("b", "2"), ("a", "1")]));
        assert_ne!(digest(&[("a", "1")]), digest(&[("a", "2")]));
        assert_ne!(digest(&[("a", "bc")]), digest(&[("ab", "c")]));
    }
}
