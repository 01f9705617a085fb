//! The caller's span from the W3C `traceparent` header: `00-<trace id>-<span id>-<flags>`.

use data_encoding::HEXLOWER;
use hyper::header::HeaderMap;

const HEADER: &str = "traceparent";
const SAMPLED: u8 = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) trace_id: [u8; 16],
    pub(super) span_id: [u8; 8],
    /// Whether the caller records this trace.
    pub(super) is_sampled: bool,
}

impl Parent {
    /// `None` if the header is missing, invalid or given twice.
    pub(super) fn from_headers(headers: &HeaderMap) -> Option<Parent> {
        let mut values = headers.get_all(HEADER).iter();
        let (text, None) = (values.next()?.to_str().ok()?, values.next()) else { return None };
        Parent::parse(text)
    }

    fn parse(text: &str) -> Option<Parent> {
        let mut parts = text.trim().splitn(5, '-');
        let [version] = bytes(parts.next()?)?;
        let (trace_id, span_id): ([u8; 16], [u8; 8]) = (bytes(parts.next()?)?, bytes(parts.next()?)?);
        let [flags] = bytes(parts.next()?)?;
        // Later versions may add fields, version 0 may not; 255 is invalid.
        let is_known = version != u8::MAX && (version > 0 || parts.next().is_none());
        let is_valid = is_known && trace_id != [0; 16] && span_id != [0; 8];
        is_valid.then_some(Parent { trace_id, span_id, is_sampled: flags & SAMPLED != 0 })
    }
}

fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    HEXLOWER.decode(hex.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_valid_traceparent_is_parsed() {
        let parent = Parent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
        assert_eq!(HEXLOWER.encode(&parent.trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(HEXLOWER.encode(&parent.span_id), "00f067aa0ba902b7");
        assert!(parent.is_sampled);
        assert!(!Parent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00").unwrap().is_sampled);
        assert!(Parent::parse("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more").is_some());
    }

    #[test]
    fn an_invalid_traceparent_is_ignored() {
        for text in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47-00f067aa0ba902b7-01",
        ] {
            assert_eq!(Parent::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_repeated_traceparent_is_ignored() {
        let mut headers = HeaderMap::new();
        for _ in 0..2 {
            headers.append(HEADER, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().unwrap());
        }
        assert_eq!(Parent::from_headers(&headers), None);
    }

    proptest! {
        #[test]
        fn no_header_value_panics(text: String) {
            let _ = Parent::parse(&text);
        }
    }
}
