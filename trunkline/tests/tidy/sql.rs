//! SQL has its rooms, and only one of them knows which engine it speaks to.

use crate::source::Source;
use crate::{File, Finding, demand, has_word, repository, sample};

/// Where a database engine may be named, inside `server/src`.
const ENGINE_ROOMS: &[&str] = &["db/", "config.rs"];
const ENGINES: &[&str] = &["sqlite", "postgres"];

/// Where SQL may be written, inside `server/src`, beside each feature's `store.rs` and features of one file.
const SQL_ROOMS: &[&str] =
    &["db/", "jobs/", "audit/", "ledger/", "snapshot.rs", "limits.rs", "app.rs", "http/auth.rs", "http/idempotency.rs"];

fn engines_named(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let Some(path) = file.in_crate() else { continue };
        if ENGINE_ROOMS.iter().any(|room| path.starts_with(room)) {
            continue;
        }
        for (number, line) in file.text.lines().enumerate() {
            let line = line.to_lowercase();
            for engine in ENGINES.iter().filter(|engine| line.contains(**engine)) {
                findings.push(file.finding(number + 1, format!("names {engine}")));
            }
        }
    }
    findings
}

fn is_statement(text: &str) -> bool {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ") + " ";
    let has = |phrase| has_word(&text, phrase);
    text.contains("SELECT ") && has("SELECT") || has("INSERT INTO") || has("DELETE FROM") || has("UPDATE") && has("SET")
}

fn may_hold_sql(path: &str) -> bool {
    let small_feature = path.strip_prefix("features/").is_some_and(|rest| rest.ends_with(".rs") && !rest.contains('/'));
    small_feature || path.ends_with("/store.rs") || SQL_ROOMS.iter().any(|room| path.starts_with(room))
}

/// Whether this place in the code lies between the parentheses of `sql!(…)`.
fn inside_sql_macro(code: &str, at: usize) -> bool {
    let mut open = Vec::new();
    for (position, bracket) in code[..at].match_indices(['(', '[', '{', ')', ']', '}']) {
        match bracket {
            "(" | "[" | "{" => open.push(code[..position].trim_end().ends_with("sql!")),
            _ => drop(open.pop()),
        }
    }
    open.contains(&true)
}

/// The shipped code's statements; a unit test may say what it likes.
fn sql_out_of_place(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.has_extension(&["rs"])) {
        let Some(path) = file.in_crate() else { continue };
        let source = Source::read(&file.text);
        let shipped = source.literals.iter().filter(|literal| literal.at < source.tests_at());
        for literal in shipped.filter(|literal| is_statement(&literal.text)) {
            if !may_hold_sql(path) {
                findings.push(file.finding(literal.line, "SQL outside a store"));
            } else if !path.starts_with("db/") && !inside_sql_macro(&source.code, literal.at) {
                findings.push(file.finding(literal.line, "SQL outside sql!(…)"));
            }
        }
    }
    findings
}

#[test]
fn only_the_database_room_knows_which_engine_it_speaks_to() {
    let advice = "Everything else works on any engine: move what differs into server/src/db, behind a neutral name.";
    demand(&engines_named(&repository()), advice);
}

#[test]
fn an_engine_named_elsewhere_is_found() {
    let strays = [
        sample("server/src/features/trunks/store.rs", "//! Trunks.\nuse rusqlite::Row;\n"),
        sample("server/src/http/page.rs", "// PostgreSQL sorts otherwise\n"),
        sample("server/src/db/lite.rs", "use rusqlite::Row;\n"),
        sample("server/src/config.rs", "postgres: String,\n"),
    ];
    let found: Vec<_> = engines_named(&strays).into_iter().map(|f| (f.path, f.line)).collect();
    let expected = [("server/src/features/trunks/store.rs".to_owned(), 2), ("server/src/http/page.rs".to_owned(), 1)];
    assert_eq!(found, expected);
}

#[test]
fn sql_is_written_in_stores_and_inside_the_sql_macro() {
    let advice = "Put the statement into the feature's store.rs (or the file of a one-file feature), as sql!(\"…\"), \
                  which has it checked against both engines.";
    demand(&sql_out_of_place(&repository()), advice);
}

#[test]
fn sql_in_a_handler_or_outside_the_macro_is_found() {
    let faults = |path: &str, text: &str| sql_out_of_place(&[sample(path, text)]).len();
    let handler = "server/src/features/trunks/customer.rs";
    let store = "server/src/features/trunks/store.rs";
    for bare in ["SELECT a\\n FROM b", "INSERT INTO a", "UPDATE a SET b = 1", "DELETE FROM a", "WITH a AS (SELECT 1)"] {
        assert_eq!(faults(handler, &format!("f(sql!(\"{bare}\"))")), 1, "{bare}");
        assert_eq!(faults(store, &format!("f(\"{bare}\", sql!(\"x\"))")), 1, "{bare}");
        assert_eq!(faults(store, &format!("f(sql!(concat!(\"{bare}\", \"x\")))")), 0, "{bare}");
        assert_eq!(faults("server/src/features/notices.rs", &format!("f(sql!(\"{bare}\"))")), 0, "{bare}");
        assert_eq!(faults("server/src/db/lite.rs", &format!("f(\"{bare}\")")), 0, "{bare}");
        assert_eq!(faults(store, &format!("#[cfg(test)]\nmod tests {{ f(\"{bare}\") }}")), 0, "{bare}");
    }
    assert_eq!(faults(handler, "// SELECT a FROM b\nf(\"Select a plan\", \"SELECTED\", \"UPDATE\")"), 0);
}
