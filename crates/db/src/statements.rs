//! SQL texts.
//!
//! Every text is written inside [`sql!`](crate::sql), or inside [`pg_sql!`](crate::pg_sql) if only PostgreSQL can run
//! it; [`insert!`](crate::insert) and [`table_row!`](crate::table_row) write theirs by themselves. A test finds these
//! macros in the source and prepares each text on the engines that it is for.

use std::borrow::Cow;

use values::Value;

/// A statement for both engines, from literals and the `COLS` of rows.
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

/// A statement for PostgreSQL alone, as for [`sql!`](crate::sql). Another statement does the same on SQLite.
#[macro_export]
macro_rules! pg_sql {
    ($($text:tt)+) => { $crate::sql!($($text)+) };
}

/// Inserts one row: `insert!(conn, trunks { id, name: new.name }).await?`, optionally with a literal of what follows the
/// values: `"ON CONFLICT (id) DO NOTHING"`. Returns how many rows were inserted.
#[macro_export]
macro_rules! insert {
    ($conn:expr, $table:ident { $($column:ident $(: $value:expr)?),+ $(,)? } $(, $conflict:literal)? $(,)?) => {
        $conn.exec(
            {
                const TEXT: &$crate::statements::Text = &$crate::statements::insert_text(
                    stringify!($table),
                    &[$(stringify!($column)),+],
                    concat!($(" ", $conflict)?),
                );
                TEXT.as_str()
            },
            $crate::params![$($crate::insert!(@value $column $($value)?)),+],
        )
    };
    (@value $column:ident $value:expr) => { $value };
    (@value $column:ident) => { $column };
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

/// A statement text made while compiling.
#[doc(hidden)]
pub struct Text {
    bytes: [u8; Text::MAX_BYTES],
    length: usize,
}

impl Text {
    const MAX_BYTES: usize = 4096;

    const fn new() -> Text {
        Text { bytes: [0; Text::MAX_BYTES], length: 0 }
    }

    /// A text that is too long does not compile.
    const fn push(&mut self, part: &str) {
        let (bytes, mut at) = (part.as_bytes(), 0);
        while at < bytes.len() {
            self.bytes[self.length] = bytes[at];
            self.length += 1;
            at += 1;
        }
    }

    /// `$n`.
    const fn push_parameter(&mut self, number: usize) {
        self.push("$");
        let mut unit = 1;
        while number / unit >= 10 {
            unit *= 10;
        }
        while unit > 0 {
            self.bytes[self.length] = b'0' + (number / unit % 10) as u8;
            self.length += 1;
            unit /= 10;
        }
    }

    pub const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}

/// `INSERT INTO table (a, b) VALUES ($1, $2)` and `conflict`.
#[doc(hidden)]
pub const fn insert_text(table: &str, names: &[&str], conflict: &str) -> Text {
    let mut text = Text::new();
    text.push("INSERT INTO ");
    text.push(table);
    text.push(" (");
    let mut at = 0;
    while at < names.len() {
        text.push(if at == 0 { "" } else { ", " });
        text.push(names[at]);
        at += 1;
    }
    text.push(") VALUES (");
    at = 0;
    while at < names.len() {
        text.push(if at == 0 { "" } else { ", " });
        at += 1;
        text.push_parameter(at);
    }
    text.push(")");
    text.push(conflict);
    text
}

/// `UPDATE table SET b = $2, c = $3 WHERE a = $1`.
#[doc(hidden)]
pub const fn update_text(table: &str, names: &[&str]) -> Text {
    let mut text = Text::new();
    text.push("UPDATE ");
    text.push(table);
    text.push(" SET ");
    let mut at = 1;
    while at < names.len() {
        text.push(if at == 1 { "" } else { ", " });
        text.push(names[at]);
        text.push(" = ");
        at += 1;
        text.push_parameter(at);
    }
    text.push(" WHERE ");
    text.push(names[0]);
    text.push(" = $1");
    text
}

/// The text for PostgreSQL: `/*pg FOR UPDATE SKIP LOCKED */` is a comment on SQLite and SQL on PostgreSQL.
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

/// A text with its parameters, to be run later, such as together with others.
pub struct Statement {
    pub text: &'static str,
    pub params: Vec<Value<'static>>,
}

impl Statement {
    pub fn new(text: &'static str, params: &[Value<'_>]) -> Statement {
        Statement { text, params: params.iter().map(Value::to_owned).collect() }
    }
}

/// An INSERT of one row of VALUES, and the parameters of each row that it inserts.
pub struct Inserts<'a> {
    pub text: &'static str,
    pub lists: Vec<Vec<Value<'a>>>,
}

impl Inserts<'_> {
    pub fn returns(&self) -> bool {
        self.text.contains("RETURNING")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_inserted_and_updated_by_its_columns() {
        const TEN: [&str; 10] = ["id", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        assert_eq!(insert_text("trunks", &TEN[..2], "").as_str(), "INSERT INTO trunks (id, b) VALUES ($1, $2)");
        assert_eq!(update_text("trunks", &TEN[..3]).as_str(), "UPDATE trunks SET b = $2, c = $3 WHERE id = $1");
        assert!(insert_text("trunks", &TEN, "").as_str().ends_with("$9, $10)"));
    }

    #[test]
    fn the_dialect_switch_opens_for_postgres_only() {
        assert_eq!(postgres_text("SELECT 1"), "SELECT 1");
        assert_eq!(postgres_text("SELECT a /*pg FOR UPDATE */ /* b */"), "SELECT a FOR UPDATE  /* b */");
        assert_eq!(postgres_text("/*pg A*/ b /*pg C*/"), "A b C");
    }
}
