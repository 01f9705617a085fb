//! The caller's span, as the W3C's `traceparent` tells of it: `00-<trace id>-<span id>-<flags>`.

use data_encoding::HEXLOWER;
use hyper::header::HeaderMap;

const NAME: &str = "traceparent";
const SAMPLED: u8 = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) trace_id: [u8; 16],
    pub(super) span_id: [u8; 8],
    /// Whether the caller keeps this trace.
    pub(super) is_sampled: bool,
}

impl Parent {
    /// What cannot be understood, or is said twice, is as if it were not said.
    pub(super) fn of(headers: &HeaderMap) -> Option<Parent> {
        let mut said = headers.get_all(NAME).iter();
        let (text, None) = (said.next()?.to_str().ok()?, said.next()) else { return None };
        Parent::read(text)
    }

    fn read(text: &str) -> Option<Parent> {
        let mut parts = text.trim().splitn(5, '-');
        let [version] = bytes(parts.next()?)?;
        let (trace_id, span_id): ([u8; 16], [u8; 8]) = (bytes(parts.next()?)?, bytes(parts.next()?)?);
        let [flags] = bytes(parts.next()?)?;
        // Later versions may say more, this one may not; 255 is none.
        let is_known = version != u8::MAX && (version > 0 || parts.next().is_none());
        let is_sound = is_known && trace_id != [0; 16] && span_id != [0; 8];
        is_sound.then_some(Parent { trace_id, span_id, is_sampled: flags & SAMPLED != 0 })
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
    fn a_parent_is_read_as_the_standard_writes_it() {
        let parent = Parent::read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
        assert_eq!(HEXLOWER.encode(&parent.trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(HEXLOWER.encode(&parent.span_id), "00f067aa0ba902b7");
        assert!(parent.is_sampled);
        assert!(!Parent::read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00").unwrap().is_sampled);
        assert!(Parent::read("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more").is_some());
    }

    #[test]
    fn anything_else_is_no_parent() {
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
            assert_eq!(Parent::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_caller_that_contradicts_itself_is_not_heard() {
        let mut headers = HeaderMap::new();
        for _ in 0..2 {
            headers.append(NAME, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().unwrap());
        }
        assert_eq!(Parent::of(&headers), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text: String) {
            let _ = Parent::read(&text);
        }
    }
}
