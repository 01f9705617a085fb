//! Compressed responses (`Content-Encoding`).
//!
//! Only what is read is compressed: GET of an endpoint with JSON, CSV or text above [`MIN_BYTES`], and documents, which
//! compress themselves once ([`Document`](super::document::Document)). Answers to changes, which issue tokens, keys
//! and codes, and problems, which repeat what the caller sent, never are: docs/security.md says why. A stream of events is
//! not either, since an encoder would hold events back.
//!
//! `negotiation` chooses the coding; `encoder` does the work.

mod encoder;
mod negotiation;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use hyper::StatusCode;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, VARY};
use std::io;

use super::conditional;
use super::response::{Body, Response};
use encoder::{Encoder, Level};
pub use negotiation::Coding;

/// Below this a packet is not saved.
pub const MIN_BYTES: usize = 1024;
/// Longer bodies are compressed on a blocking thread.
const MAX_INLINE_BYTES: usize = 128 * 1024;

const COMPRESSIBLE: [&str; 7] =
    ["application/json", "application/x-ndjson", "application/xml", "text/csv", "text/html", "text/plain", "text/xml"];

/// The codings of generated responses, the preferred one first: gzip costs less time.
pub const DYNAMIC: [Coding; 2] = [Coding::Gzip, Coding::Brotli];
/// The codings of documents that are compressed once.
pub const STATIC: [Coding; 2] = [Coding::Brotli, Coding::Gzip];

/// Compresses the response to a read, if its client accepts that.
pub async fn apply(mut response: Response, coding: Option<Coding>) -> Response {
    let status = response.status();
    if status == StatusCode::NOT_MODIFIED {
        vary(response.headers_mut());
        return response;
    }
    if status != StatusCode::OK || !is_compressible(response.headers()) {
        return response;
    }
    vary(response.headers_mut());
    let Some(coding) = coding.filter(|_| is_long(&response)) else { return response };
    let (mut head, body) = response.into_parts();
    let body = match body {
        Body::Whole(Some(bytes)) => match whole(bytes.clone(), coding).await {
            Some(packed) if packed.len() < bytes.len() => Body::Whole(Some(packed)),
            _ => return Response::from_parts(head, Body::Whole(Some(bytes))),
        },
        Body::Stream(parts) => Body::Stream(packed_stream(parts, coding)),
        Body::Whole(None) => return Response::from_parts(head, body),
    };
    mark(&mut head.headers, coding);
    Response::from_parts(head, body)
}

/// A text compressed as well as it can be, for what is sent many times.
pub fn packed_once(bytes: &[u8], coding: Coding) -> Option<Bytes> {
    packed(bytes, coding, Level::Best).ok()
}

/// Sets the headers of a compressed response.
pub fn mark(headers: &mut HeaderMap, coding: Coding) {
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.token()));
    let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok()).map(|tag| conditional::with_coding(tag, coding));
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        headers.insert(ETAG, tag);
    }
}

/// Tells caches that the response depends on `Accept-Encoding`.
pub fn vary(headers: &mut HeaderMap) {
    headers.append(VARY, HeaderValue::from_static("accept-encoding"));
}

fn is_compressible(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    !headers.contains_key(CONTENT_ENCODING) && COMPRESSIBLE.contains(&essence)
}

/// Streams whose length is not known count as long.
fn is_long(response: &Response) -> bool {
    match response.body() {
        Body::Whole(bytes) => bytes.as_ref().is_some_and(|bytes| bytes.len() >= MIN_BYTES),
        Body::Stream(_) => {
            let announced =
                response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
            announced.is_none_or(|length: usize| length >= MIN_BYTES)
        }
    }
}

async fn whole(bytes: Bytes, coding: Coding) -> Option<Bytes> {
    if bytes.len() <= MAX_INLINE_BYTES {
        return packed(&bytes, coding, Level::Quick).ok();
    }
    tokio::task::spawn_blocking(move || packed(&bytes, coding, Level::Quick).ok()).await.ok().flatten()
}

fn packed(bytes: &[u8], coding: Coding, level: Level) -> io::Result<Bytes> {
    let mut encoder = Encoder::new(coding, level);
    encoder.write(bytes)?;
    encoder.finish()
}

/// Compresses the parts of a stream as they come; parts that the encoder keeps are sent with later ones.
fn packed_stream(
    parts: BoxStream<'static, io::Result<Bytes>>,
    coding: Coding,
) -> BoxStream<'static, io::Result<Bytes>> {
    let state = (parts, Some(Encoder::new(coding, Level::Quick)));
    let packed = stream::try_unfold(state, |(mut parts, encoder)| async move {
        let Some(mut encoder) = encoder else { return Ok(None) };
        while let Some(part) = parts.try_next().await? {
            encoder.write(&part)?;
            let ready = encoder.take();
            if !ready.is_empty() {
                return Ok(Some((ready, (parts, Some(encoder)))));
            }
        }
        Ok(Some((encoder.finish()?, (parts, None))))
    });
    packed.boxed()
}

#[cfg(test)]
mod tests;
