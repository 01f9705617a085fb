#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Read;

use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::header::HeaderName;
use proptest::prelude::*;

use super::*;
use crate::response::full;

fn response(media_type: &'static str, body: Vec<u8>) -> Response {
    let mut response = full(StatusCode::OK, body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response.headers_mut().insert(ETAG, HeaderValue::from_static("\"c2FtcGxl\""));
    response
}

fn header(response: &Response, name: HeaderName) -> Option<&str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

fn body(response: Response) -> Bytes {
    response.into_body().collect().now_or_never().unwrap().unwrap().to_bytes()
}

fn unpacked(bytes: &[u8], coding: Coding) -> Vec<u8> {
    let mut out = Vec::new();
    match coding {
        Coding::Gzip => flate2::read::GzDecoder::new(bytes).read_to_end(&mut out).unwrap(),
        Coding::Brotli => brotli::Decompressor::new(bytes, 4096).read_to_end(&mut out).unwrap(),
    };
    out
}

#[tokio::test]
async fn a_long_text_is_packed_and_its_tag_names_the_coding() {
    let text = "a line of JSON ".repeat(1000).into_bytes();
    for (coding, tag) in [(Coding::Gzip, "\"c2FtcGxl.gzip\""), (Coding::Brotli, "\"c2FtcGxl.br\"")] {
        let packed = apply(response("application/json", text.clone()), Some(coding)).await;
        assert_eq!(header(&packed, CONTENT_ENCODING), Some(coding.token()));
        assert_eq!(header(&packed, VARY), Some("accept-encoding"));
        assert_eq!(header(&packed, ETAG), Some(tag));
        let bytes = body(packed);
        assert!(bytes.len() < text.len() / 10, "{}", bytes.len());
        assert_eq!(unpacked(&bytes, coding), text);
    }
}

#[tokio::test]
async fn what_is_short_has_another_type_or_another_status_stays_as_it_is() {
    let text = "a line of JSON ".repeat(1000).into_bytes();
    let short = text[..MIN_BYTES - 1].to_vec();
    let mut created = response("application/json", text.clone());
    *created.status_mut() = StatusCode::CREATED;
    for (plain, varies) in [
        (response("application/json", short), true),
        (response("application/problem+json", text.clone()), false),
        (response("text/event-stream", text.clone()), false),
        (response("application/pdf", text.clone()), false),
        (response("application/gzip", text.clone()), false),
        (created, false),
    ] {
        let plain = apply(plain, Some(Coding::Gzip)).await;
        assert_eq!(header(&plain, CONTENT_ENCODING), None, "{:?}", plain.headers());
        assert_eq!(header(&plain, VARY).is_some(), varies, "{:?}", plain.headers());
        assert_eq!(header(&plain, ETAG), Some("\"c2FtcGxl\""));
    }
}

proptest! {
    #[test]
    fn a_stream_is_the_same_text_after_unpacking(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5000), 0..20)) {
        for coding in STATIC {
            let stream = stream::iter(parts.clone()).map(|part| Ok(Bytes::from(part))).boxed();
            let packed = packed_stream(stream, coding).try_collect::<Vec<_>>().now_or_never().unwrap().unwrap();
            prop_assert_eq!(unpacked(&packed.concat(), coding), parts.concat());
        }
    }
}

#[test]
fn a_stream_that_fails_fails() {
    let parts = stream::iter([Ok(Bytes::from_static(b"half")), Err(io::Error::other("gone"))]).boxed();
    let packed = packed_stream(parts, Coding::Gzip).try_collect::<Vec<_>>().now_or_never().unwrap();
    assert!(packed.is_err());
}
