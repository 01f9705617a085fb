//! A CSV table as the body of a request (`text/csv`), streamed to a temporary file of the file store. A body that may
//! also be a workbook, or absent, is a [`Sheet`](super::sheet::Sheet).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use aws_lc_rs::digest::{Context as Hashing, SHA256};
use bytes::Bytes;
use futures_util::TryStreamExt;
use http_body_util::BodyExt;
use hyper::body::Body as _;
use schemars::SchemaGenerator;
use serde_json::json;

use super::context::RequestCtx;
use super::input::{Description, IncomingRequest, Input, media_type};
use super::problem::{Code, Problem};
use platform::outside::files::Received;

/// Enough for two million lines.
pub const MAX_TABLE_BYTES: u64 = 256 * 1024 * 1024;
/// Enough for the largest table at 4 Mbit/s.
pub(super) const TABLE_TIMEOUT: Duration = Duration::from_secs(600);

pub(super) const CSV: &str = "text/csv";

/// A received table.
pub struct Table {
    pub file: Received,
    /// Approximate, since quoted text may contain line feeds.
    pub lines: u64,
}

impl Input for Table {
    async fn read(ctx: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        receive(ctx, request).await?.ok_or_else(|| Problem::malformed("Send the CSV table as the body."))
    }

    fn describe(_: &str, _: &mut SchemaGenerator, description: &mut Description) {
        description.request_body = Some(json!({
            "required": true,
            "content": {CSV: {"schema": {"type": "string", "description": "CSV table with a header line, 256 MiB at most."}}},
        }));
        let problems = [Code::Malformed, Code::UnsupportedMediaType, Code::TooLarge, Code::RequestTimeout];
        description.problems.extend(problems);
    }
}

async fn receive(ctx: &RequestCtx, request: &mut IncomingRequest) -> Result<Option<Table>, Problem> {
    let body = request.body.take().filter(|body| !body.is_end_stream());
    let Some(body) = body else {
        request.body_digest = Some(digest(request, None));
        return Ok(None);
    };
    if media_type(&request.head.headers).as_deref() != Some(CSV) {
        return Err(Problem::unsupported_media_type(CSV));
    }
    if body.size_hint().lower() > MAX_TABLE_BYTES {
        return Err(Problem::too_large(usize::try_from(MAX_TABLE_BYTES).unwrap_or(usize::MAX)));
    }
    let lines = Lines::default();
    let counted = body.into_data_stream().inspect_ok(|chunk| lines.count(chunk));
    let received = ctx.app.files.receive(counted, MAX_TABLE_BYTES);
    let file = tokio::time::timeout(TABLE_TIMEOUT, received).await.map_err(|_| Problem::request_timeout())??;
    request.body_digest = Some(digest(request, Some(&file)));
    let is_empty = file.stored_as().size_bytes == 0;
    Ok((!is_empty).then_some(Table { file, lines: lines.total() }))
}

/// Counts the lines of a text that arrives in chunks: blank lines do not count, a last line without a line feed does.
#[derive(Default)]
pub struct Lines {
    ended: AtomicU64,
    /// Whether the current line has any text.
    has_text: AtomicBool,
}

impl Lines {
    pub fn count(&self, chunk: &Bytes) {
        let (mut ended, mut has_text) = (0, self.has_text.load(Ordering::Relaxed));
        for byte in chunk {
            if *byte == b'\n' {
                ended += u64::from(has_text);
                has_text = false;
            } else {
                has_text |= !byte.is_ascii_whitespace();
            }
        }
        self.ended.fetch_add(ended, Ordering::Relaxed);
        self.has_text.store(has_text, Ordering::Relaxed);
    }

    pub fn total(self) -> u64 {
        self.ended.into_inner() + u64::from(self.has_text.into_inner())
    }
}

/// Covers the query too, since it changes what the request does.
pub(super) fn digest(request: &IncomingRequest, file: Option<&Received>) -> [u8; 32] {
    let mut hashing = Hashing::new(&SHA256);
    hashing.update(request.head.uri.query().unwrap_or_default().as_bytes());
    hashing.update(&[0]);
    if let Some(file) = file {
        hashing.update(file.stored_as().hash.bytes());
    }
    let mut digest = [0; 32];
    digest.copy_from_slice(hashing.finish().as_ref());
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(chunks: &[&'static str]) -> u64 {
        let lines = Lines::default();
        chunks.iter().for_each(|chunk| lines.count(&Bytes::from_static(chunk.as_bytes())));
        lines.total()
    }

    #[test]
    fn lines_with_text_count_wherever_the_chunks_begin_and_however_lines_end() {
        for chunks in
            [&["a\nb\nc\n"][..], &["a\nb\nc"], &["a\r\n", "\r\nb", "\r\nc\r\n \t\r\n"], &["a", "\n", "b\n", "c", ""]]
        {
            assert_eq!(counted(chunks), 3, "{chunks:?}");
        }
        assert_eq!(counted(&["", "\n \n"]), 0);
    }
}
