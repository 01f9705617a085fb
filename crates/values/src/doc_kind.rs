//! Document kinds.

use std::fmt;
use std::str::FromStr;

use super::Invalid;
use super::text_form::{TextForm, impl_serde_as_text, impl_stored_as_text};

const MAX_CHARS: usize = 50;

/// The kind of an uploaded document, such as `proof_of_address`. The kinds that are required depend on purpose and
/// country.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DocKind(String);

impl DocKind {
    /// A kind that is named in the code.
    pub fn named(name: &'static str) -> DocKind {
        DocKind(name.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextForm for DocKind {
    const DESCRIPTION: &'static str = "Kind of an uploaded document.";
    const FORMAT: &'static str = "doc-kind";
    const REASON: &'static str = "must be a kind of document such as proof_of_address";
    const PATTERN: &'static str = "^[a-z][a-z0-9_]{0,49}$";
    const EXAMPLE: &'static str = "proof_of_address";
}

impl FromStr for DocKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let plain = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        let holds = plain && text.len() <= MAX_CHARS && text.starts_with(|c: char| c.is_ascii_lowercase());
        if holds { Ok(DocKind(text.to_owned())) } else { Err(Self::invalid()) }
    }
}

impl fmt::Display for DocKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl_serde_as_text!(DocKind);
impl_stored_as_text!(DocKind);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_kind_is_a_short_lower_case_word() {
        for good in ["other", "proof_of_address", "id2", &"a".repeat(50)] {
            assert_eq!(good.parse::<DocKind>().unwrap().as_str(), good);
        }
        for bad in ["", "_a", "2id", "Other", "a b", "a-b", "ä", "../x", &"a".repeat(51)] {
            assert_eq!(bad.parse::<DocKind>(), Err(DocKind::invalid()), "{bad}");
        }
    }
}
