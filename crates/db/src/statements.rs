//! Statement texts.
//!
//! Every text stands in [`sql!`](crate::sql), where a test finds it in the source and prepares it on both engines.

use std::borrow::Cow;

use values::Value;

/// A statement text for both engines, from literals and the `COLS` of rows.
#[macro_export]
macro_rules! sql {
    ($text:literal) => { $text };
    ($($part:expr),+ $(,)?) => {{
        const PARTS: &[&str] = &[$($part),+];
        const BYTES: [u8; $crate::statements::length(PARTS)] = $crate::statements::join(PARTS);
        const TEXT: &str = match std::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => "",
        };
        TEXT
    }};
}

#[doc(hidden)]
pub const fn length(parts: &[&str]) -> usize {
    let (mut total, mut part) = (0, 0);
    while part < parts.len() {
        total += parts[part].len();
        part += 1;
    }
    total
}

#[doc(hidden)]
pub const fn join<const N: usize>(parts: &[&str]) -> [u8; N] {
    let mut joined = [0; N];
    let (mut end, mut part) = (0, 0);
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            joined[end] = bytes[at];
            end += 1;
            at += 1;
        }
        part += 1;
    }
    joined
}

/// The text as PostgreSQL takes it: `/*pg FOR UPDATE SKIP LOCKED */` is a comment on SQLite and SQL there.
pub fn postgres_text(text: &str) -> Cow<'_, str> {
    const OPEN: &str = "/*pg ";
    if !text.contains(OPEN) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (inside, behind) = after.split_once("*/").unwrap_or((after, ""));
        out.push_str(before);
        out.push_str(inside);
        rest = behind;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dialect_switch_opens_for_postgres_only() {
        assert_eq!(postgres_text("SELECT 1"), "SELECT 1");
        assert_eq!(postgres_text("SELECT a /*pg FOR UPDATE */ /* b */"), "SELECT a FOR UPDATE  /* b */");
        assert_eq!(postgres_text("/*pg A*/ b /*pg C*/"), "A b C");
    }
}

/// A text with its parameters, made in one place to be run in another.
pub struct Statement {
    pub text: &'static str,
    pub params: Vec<Value<'static>>,
}

impl Statement {
    pub fn new(text: &'static str, params: &[Value<'_>]) -> Statement {
        Statement { text, params: params.iter().map(Value::to_owned).collect() }
    }

    pub fn parts(&self) -> (&'static str, &[Value<'static>]) {
        (self.text, &self.params)
    }
}
