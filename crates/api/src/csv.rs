//! A table as the body of a request (`text/csv`), taken in as it arrives.
//!
//! It goes piece by piece into the file store's antechamber, whatever its size. A request may also come without a body,
//! which some endpoints take to mean that they should look for one themselves.

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
use super::input::{Description, Inbound, Input, media_type};
use super::problem::{Code, Problem};
use platform::outside::files::Received;

/// Two million lines have room.
pub const TABLE_LIMIT_BYTES: u64 = 256 * 1024 * 1024;
/// The largest table takes this long at four megabits a second.
const TABLE_TIMEOUT: Duration = Duration::from_secs(600);

const CSV: &str = "text/csv";

/// A table that has arrived.
pub struct Table {
    pub file: Received,
    /// About how many, since a quoted text may hold line feeds of its own.
    pub lines: u64,
}

/// The table, if the request has one.
pub struct OptionalTable(pub Option<Table>);

impl Input for OptionalTable {
    async fn read(ctx: &RequestCtx, inbound: &mut Inbound) -> Result<Self, Problem> {
        receive(ctx, inbound).await.map(OptionalTable)
    }

    fn describe(_: &str, _: &mut SchemaGenerator, description: &mut Description) {
        describe(false, description);
    }
}

impl Input for Table {
    async fn read(ctx: &RequestCtx, inbound: &mut Inbound) -> Result<Self, Problem> {
        receive(ctx, inbound).await?.ok_or_else(|| Problem::malformed("Send the table as the body."))
    }

    fn describe(_: &str, _: &mut SchemaGenerator, description: &mut Description) {
        describe(true, description);
    }
}

async fn receive(ctx: &RequestCtx, inbound: &mut Inbound) -> Result<Option<Table>, Problem> {
    let body = inbound.body.take().filter(|body| !body.is_end_stream());
    let Some(body) = body else {
        inbound.body_digest = Some(digest(inbound, None));
        return Ok(None);
    };
    if media_type(&inbound.head.headers).as_deref() != Some(CSV) {
        return Err(Problem::unsupported_media_type(CSV));
    }
    if body.size_hint().lower() > TABLE_LIMIT_BYTES {
        return Err(Problem::too_large(usize::try_from(TABLE_LIMIT_BYTES).unwrap_or(usize::MAX)));
    }
    let lines = Lines::default();
    let counted = body.into_data_stream().inspect_ok(|piece| lines.see(piece));
    let received = ctx.app.files.receive(counted, TABLE_LIMIT_BYTES);
    let late = |_| Problem::malformed("The body did not arrive in time.");
    let file = tokio::time::timeout(TABLE_TIMEOUT, received).await.map_err(late)??;
    inbound.body_digest = Some(digest(inbound, Some(&file)));
    let is_empty = file.stored_as().size_bytes == 0;
    Ok((!is_empty).then_some(Table { file, lines: lines.total() }))
}

fn describe(required: bool, description: &mut Description) {
    description.request_body = Some(json!({
        "required": required,
        "content": {CSV: {"schema": {"type": "string", "description": "A table of at most 256 MiB, header first."}}},
    }));
    description.problems.extend([Code::Malformed, Code::UnsupportedMediaType, Code::TooLarge]);
}

/// Counts the lines of a text that arrives in pieces: blank ones do not count, and the last one does whether or not
/// anything ends it.
#[derive(Default)]
pub struct Lines {
    ended: AtomicU64,
    /// Whether the line that has begun has anything on it.
    has_text: AtomicBool,
}

impl Lines {
    pub fn see(&self, piece: &Bytes) {
        let (mut ended, mut has_text) = (0, self.has_text.load(Ordering::Relaxed));
        for byte in piece {
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

/// The query belongs to what is asked for as much as the table does.
fn digest(inbound: &Inbound, file: Option<&Received>) -> [u8; 32] {
    let mut hashing = Hashing::new(&SHA256);
    hashing.update(inbound.head.uri.query().unwrap_or_default().as_bytes());
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

    fn counted(pieces: &[&'static str]) -> u64 {
        let lines = Lines::default();
        pieces.iter().for_each(|piece| lines.see(&Bytes::from_static(piece.as_bytes())));
        lines.total()
    }

    #[test]
    fn a_line_counts_if_anything_is_on_it_wherever_the_pieces_part_and_whatever_ends_it() {
        for pieces in
            [&["a\nb\nc\n"][..], &["a\nb\nc"], &["a\r\n", "\r\nb", "\r\nc\r\n \t\r\n"], &["a", "\n", "b\n", "c", ""]]
        {
            assert_eq!(counted(pieces), 3, "{pieces:?}");
        }
        assert_eq!(counted(&["", "\n \n"]), 0);
    }
}
