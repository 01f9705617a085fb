//! A form with one file in it (`multipart/form-data`), taken in as it arrives.
//!
//! The part named `file` goes piece by piece into the file store's antechamber; the handler looks at it and keeps it,
//! or drops it and nothing remains. The other parts are short texts: the fields of the form's type.

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
use serde::de::DeserializeOwned;
use serde_json::json;

use super::arriving::Arriving;
use super::context::RequestCtx;
use super::input::{Description, Inbound, Input, read_query};
use super::problem::{Code, Problem};
use platform::outside::files::{Files, Received};

/// The largest file.
pub const FILE_LIMIT_BYTES: u64 = 16 * 1024 * 1024;
/// Texts, and the lines between the parts.
const REST_LIMIT_BYTES: u64 = 64 * 1024;
const TEXT_LIMIT_BYTES: usize = 1024;
const PARTS_AT_MOST: usize = 8;
/// What the parser may hold back while it looks for the end of a part's head.
const HELD_BACK_BYTES: u64 = 128 * 1024;
/// The largest file takes this long at half a megabit a second.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(300);

const FILE: &str = "file";

/// A file and the fields beside it.
pub struct Upload<F> {
    pub fields: F,
    /// As the caller calls it; good for nothing but showing.
    pub file_name: String,
    pub file: Received,
}

impl<F: DeserializeOwned + JsonSchema + Send + 'static> Input for Upload<F> {
    async fn read(ctx: &RequestCtx, inbound: &mut Inbound) -> Result<Self, Problem> {
        let content_type = inbound.head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let boundary = multer::parse_boundary(content_type.unwrap_or_default()).map_err(|error| match error {
            multer::Error::NoBoundary => malformed(error),
            _ => Problem::unsupported_media_type("multipart/form-data"),
        })?;
        let Some(body) = inbound.body.take() else { return Err(Problem::malformed("The body is missing.")) };
        if body.size_hint().lower() > FILE_LIMIT_BYTES + REST_LIMIT_BYTES {
            return Err(too_large());
        }
        let mut body = Paced { body: body.into_data_stream(), taken: 0, handed_on: Arc::default(), rested: true };
        let parts = Parts::take(&ctx.app.files, &mut body, boundary);
        let late = |_| Problem::malformed("The body did not arrive in time.");
        let parts = tokio::time::timeout(UPLOAD_TIMEOUT, parts).await.map_err(late)??;
        inbound.body_digest = Some(parts.digest());
        parts.complete()
    }

    fn describe(_: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
        let mut schema = F::json_schema(schemas).to_value();
        schema["properties"][FILE] = json!({
            "type": "string", "contentMediaType": "application/octet-stream",
            "description": format!("The file itself, at most {} MiB.", FILE_LIMIT_BYTES / 1024 / 1024),
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
        ]);
    }
}

fn too_large() -> Problem {
    Problem::too_large(usize::try_from(FILE_LIMIT_BYTES).unwrap_or(usize::MAX))
}

/// What has arrived of the form.
#[derive(Default)]
struct Parts {
    texts: Vec<(String, String)>,
    file: Option<(String, Received)>,
}

impl Parts {
    async fn take(files: &Files, body: &mut Paced, boundary: String) -> Result<Parts, Problem> {
        let handed_on = body.handed_on.clone();
        let mut form = Multipart::new(body, boundary);
        let mut parts = Parts::default();
        while let Some(part) = form.next_field().await.map_err(malformed)? {
            let name: String = part.name().unwrap_or_default().chars().take(100).collect();
            if parts.texts.len() >= PARTS_AT_MOST {
                return Err(Problem::malformed(format!("The form may have at most {PARTS_AT_MOST} parts.")));
            }
            if name == FILE {
                parts.take_file(files, part, &handed_on).await?;
            } else {
                parts.take_text(name, part, &handed_on).await?;
            }
        }
        Ok(parts)
    }

    async fn take_file(&mut self, files: &Files, part: Field<'_>, handed_on: &AtomicU64) -> Result<(), Problem> {
        if self.file.is_some() {
            return Err(Problem::invalid(FILE, "is given twice"));
        }
        let name = part.file_name().unwrap_or_default().to_owned();
        let content = part.inspect_ok(|piece| hand_on(handed_on, piece));
        let file = files.receive(content, FILE_LIMIT_BYTES).await?;
        self.file = Some((name, file));
        Ok(())
    }

    async fn take_text(&mut self, name: String, mut part: Field<'_>, handed_on: &AtomicU64) -> Result<(), Problem> {
        if self.texts.iter().any(|(known, _)| *known == name) {
            return Err(Problem::invalid(name, "is given twice"));
        }
        if part.file_name().is_some() {
            return Err(Problem::invalid(name, format!("is not a file here; send it as {FILE}")));
        }
        let mut text = Vec::new();
        while let Some(piece) = part.chunk().await.map_err(malformed)? {
            hand_on(handed_on, &piece);
            text.extend_from_slice(&piece);
            if text.len() > TEXT_LIMIT_BYTES {
                return Err(Problem::invalid(name, format!("must have at most {TEXT_LIMIT_BYTES} bytes")));
            }
        }
        let text = String::from_utf8(text).map_err(|_| Problem::invalid(name.as_str(), "must be text in UTF-8"))?;
        self.texts.push((name, text));
        Ok(())
    }

    /// The same for the same form, in whichever order its parts came and whatever stood between them.
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

    fn complete<F: DeserializeOwned + JsonSchema + 'static>(self) -> Result<Upload<F>, Problem> {
        let fields = read_query(self.texts);
        match (fields, self.file) {
            (Ok(fields), Some((file_name, file))) => Ok(Upload { fields, file_name, file }),
            (Ok(_), None) => Err(Problem::invalid(FILE, "is required")),
            (Err(problem), Some(_)) => Err(problem),
            (Err(problem), None) => Err(problem.also_invalid(FILE, "is required")),
        }
    }
}

fn malformed(error: multer::Error) -> Problem {
    Problem::malformed(format!("The form cannot be read: {error}."))
}

fn hand_on(handed_on: &AtomicU64, piece: &Bytes) {
    handed_on.fetch_add(piece.len() as u64, Ordering::Relaxed);
}

/// A body that gives one piece at a time, and no more than a little beyond what was handed on: the parser would
/// otherwise gather all of it in memory while it looks for a line's end.
struct Paced {
    body: BodyDataStream<Arriving>,
    taken: u64,
    handed_on: Arc<AtomicU64>,
    rested: bool,
}

impl Stream for Paced {
    type Item = Result<Bytes, Box<dyn Error + Send + Sync>>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let paced = self.get_mut();
        if !std::mem::replace(&mut paced.rested, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = paced.body.poll_next_unpin(context);
        if let Poll::Ready(Some(Ok(piece))) = &next {
            paced.rested = false;
            paced.taken += piece.len() as u64;
            let held_back = paced.taken.saturating_sub(paced.handed_on.load(Ordering::Relaxed));
            if held_back > HELD_BACK_BYTES {
                return Poll::Ready(Some(Err("a part's head is too long".into())));
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
        Parts { texts, file: None }.digest()
    }

    #[test]
    fn a_form_is_the_same_in_any_order_and_another_with_any_other_text() {
        assert_eq!(digest(&[("a", "1"), ("b", "2")]), digest(&[("b", "2"), ("a", "1")]));
        assert_ne!(digest(&[("a", "1")]), digest(&[("a", "2")]));
        assert_ne!(digest(&[("a", "bc")]), digest(&[("ab", "c")]));
    }
}
