//! Translates the DDL of migrations for SQLite.
//!
//! Columns are BIGINT, BOOLEAN, TEXT, UUID, BYTEA or DOUBLE PRECISION; they get SQLite's type names, and tables become
//! STRICT. Comments and quoted texts are left unchanged.

pub fn sqlite_ddl(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut statement = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, after) = rest.split_at(token_length(rest, first));
        rest = after;
        if is_word(first) {
            let word = token.to_ascii_uppercase();
            out.push_str(translate(&word).unwrap_or(token));
            statement.push(word);
        } else if first == ';' {
            out.push_str(if creates_table(&statement) { " STRICT;" } else { ";" });
            statement.clear();
        } else {
            out.push_str(token);
        }
    }
    out
}

fn translate(word: &str) -> Option<&'static str> {
    match word {
        "BIGINT" | "BOOLEAN" => Some("INTEGER"),
        "UUID" | "BYTEA" => Some("BLOB"),
        "DOUBLE" => Some("REAL"),
        "PRECISION" => Some(""),
        _ => None,
    }
}

fn creates_table(statement: &[String]) -> bool {
    matches!(statement, [create, table, ..] if create == "CREATE" && table == "TABLE")
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The length of the word, quoted text, comment or single character that `text` begins with.
fn token_length(text: &str, first: char) -> usize {
    let until = |end: &str| text[1..].find(end).map_or(text.len(), |at| 1 + at + end.len());
    match first {
        _ if is_word(first) => text.find(|character| !is_word(character)).unwrap_or(text.len()),
        '\'' | '"' => until(if first == '"' { "\"" } else { "'" }),
        '-' if text.starts_with("--") => until("\n"),
        '/' if text.starts_with("/*") => until("*/"),
        _ => first.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_renamed_and_tables_become_strict() {
        assert_eq!(
            sqlite_ddl("CREATE TABLE t (a BIGINT, b UUID, c DOUBLE PRECISION, d TEXT DEFAULT 'a BIGINT; b');"),
            "CREATE TABLE t (a INTEGER, b BLOB, c REAL , d TEXT DEFAULT 'a BIGINT; b') STRICT;"
        );
        assert_eq!(sqlite_ddl("CREATE INDEX i ON t (bigint_a);"), "CREATE INDEX i ON t (bigint_a);");
    }

    #[test]
    fn comments_are_left_unchanged() {
        assert_eq!(
            sqlite_ddl("-- CREATE TABLE x (BIGINT);\nCREATE TABLE t (a BOOLEAN) /*pg PARTITION BY RANGE (a) */;"),
            "-- CREATE TABLE x (BIGINT);\nCREATE TABLE t (a INTEGER) /*pg PARTITION BY RANGE (a) */ STRICT;"
        );
    }
}
