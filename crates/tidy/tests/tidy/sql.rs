//! Where SQL is written, which crate knows the database drivers, and who writes a table.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::Source;
use crate::{File, Finding, demand, has_word, repository, sample};

/// Crates of database drivers. Only `db` may depend on them; beside it the tests and benchmarks, which look from outside.
const DRIVERS: &[&str] = &["rusqlite", "libsqlite3-sys", "tokio-postgres", "deadpool-postgres"];
const MAY_USE_DRIVERS: &[&str] = &["Cargo.toml", "crates/db/Cargo.toml", "trunkline/Cargo.toml", "bench/Cargo.toml"];

/// Where SQL may be written, as crate and path, beside each module's `store.rs` and modules of one file.
const SQL_ROOMS: &[(&str, &str)] = &[
    ("db", ""),
    ("platform", "jobs/"),
    ("platform", "audit/"),
    ("platform", "ledger/"),
    ("platform", "routing/cache.rs"),
    ("platform", "limits.rs"),
    ("platform", "app.rs"),
    ("platform", "app/"),
    ("api", "auth.rs"),
    ("api", "idempotency.rs"),
];

fn drivers_elsewhere(files: &[File]) -> Vec<Finding> {
    let manifests = files.iter().filter(|file| file.path.ends_with("Cargo.toml"));
    let mut findings = Vec::new();
    for file in manifests.filter(|file| !MAY_USE_DRIVERS.contains(&file.path.as_str())) {
        for (number, line) in file.text.lines().enumerate() {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if DRIVERS.contains(&name) {
                findings.push(file.finding(number + 1, format!("depends on {name}")));
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

fn may_hold_sql(name: &str, path: &str) -> bool {
    let is_small_feature = !matches!(name, "values" | "platform" | "api" | "server") && !path.contains('/');
    is_small_feature
        || path.ends_with("/store.rs")
        || SQL_ROOMS.iter().any(|(room, start)| *room == name && path.starts_with(start))
}

/// Whether this place in the code lies between the parentheses of `sql!(…)`.
fn inside_sql_macro(code: &str, at: usize) -> bool {
    let mut open = Vec::new();
    for (position, bracket) in code[..at].match_indices(['(', '[', '{', ')', ']', '}']) {
        match bracket {
            "(" | "[" | "{" => {
                open.push(["sql!", "insert!"].iter().any(|name| code[..position].trim_end().ends_with(name)))
            }
            _ => drop(open.pop()),
        }
    }
    open.contains(&true)
}

/// The shipped code's statements; a unit test may say what it likes.
fn sql_out_of_place(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.has_extension(&["rs"])) {
        let Some((name, path)) = file.of_service() else { continue };
        let source = Source::read(&file.text);
        let shipped = source.literals.iter().filter(|literal| literal.at < source.tests_at());
        for (line, _) in inserted_tables(&source).into_iter().filter(|_| !may_hold_sql(name, path)) {
            findings.push(file.finding(line, "SQL outside a store"));
        }
        for literal in shipped.filter(|literal| is_statement(&literal.text)) {
            if !may_hold_sql(name, path) {
                findings.push(file.finding(literal.line, "SQL outside a store"));
            } else if name != "db" && !inside_sql_macro(&source.code, literal.at) {
                findings.push(file.finding(literal.line, "SQL outside sql!(…)"));
            }
        }
    }
    findings
}

/// The tables that a statement writes to.
fn written_tables(statement: &str) -> Vec<&str> {
    let words: Vec<&str> =
        statement.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
    let mut tables = Vec::new();
    for (at, pair) in words.windows(2).enumerate() {
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        match (before, pair[0], pair[1]) {
            ("INSERT", "INTO", table) | ("DELETE", "FROM", table) => tables.push(table),
            // `ON CONFLICT … DO UPDATE` and `FOR UPDATE` write no other table.
            (before, "UPDATE", table) if !matches!(before, "DO" | "FOR") && table != "SET" => tables.push(table),
            _ => {}
        }
    }
    tables
}

/// The tables of `insert!(conn, table {` and of `struct Row in table {`, with their lines.
fn inserted_tables(source: &Source) -> Vec<(usize, String)> {
    let code = &source.code[..source.tests_at()];
    let inserts = code.match_indices("insert!(").filter_map(|(at, call)| {
        let (_, rest) = code[at + call.len()..].split_once(',')?;
        Some((at, rest.split_once('{')?.0.trim()))
    });
    let rows = code.match_indices(" in ").filter_map(|(at, joint)| {
        let (_, name) = code[..at].rsplit_once("struct ")?;
        Some((at, code[at + joint.len()..].split_once(" {")?.0)).filter(|_| is_word(name))
    });
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    inserts.chain(rows).filter(|(_, table)| is_word(table)).map(|(at, table)| (line(at), table.to_owned())).collect()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The tables that shipped code writes, each with the modules that do: `crate/module`.
fn writers(files: &[File]) -> BTreeMap<String, BTreeMap<String, (String, usize)>> {
    let mut writers: BTreeMap<String, BTreeMap<String, (String, usize)>> = BTreeMap::new();
    for file in files {
        let Some((name, path)) = file.of_service() else { continue };
        let module = path.split(['/', '.']).next().unwrap_or(path);
        let source = Source::read(&file.text);
        for (line, table) in inserted_tables(&source) {
            let place = (file.path.clone(), line);
            writers.entry(table).or_default().entry(format!("{name}/{module}")).or_insert(place);
        }
        for literal in source.literals.iter().filter(|literal| literal.at < source.tests_at()) {
            let before = source.code[..literal.at].trim_end();
            let is_bulk = before.ends_with(".insert_many(");
            let is_name = literal.text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            let tables = match (is_bulk && is_name, is_statement(&literal.text)) {
                (true, _) => vec![literal.text.as_str()],
                (_, true) => written_tables(&literal.text),
                _ => Vec::new(),
            };
            for table in tables {
                let place = (file.path.clone(), literal.line);
                writers.entry(table.to_owned()).or_default().entry(format!("{name}/{module}")).or_insert(place);
            }
        }
    }
    writers
}

fn tables_with_two_writers(files: &[File]) -> Vec<Finding> {
    let shared = writers(files).into_iter().filter(|(_, modules)| modules.len() > 1);
    let mut findings = Vec::new();
    for (table, modules) in shared {
        let names: BTreeSet<_> = modules.keys().cloned().collect();
        let what = format!("{table} is written by {}", names.into_iter().collect::<Vec<_>>().join(" and "));
        findings.extend(modules.into_values().map(|(path, line)| Finding { path, line, what: what.clone() }));
    }
    findings
}

#[test]
fn only_the_db_crate_depends_on_a_database_driver() {
    let advice = "Everything else works on either engine: put what differs into crates/db, behind one function.";
    demand(&drivers_elsewhere(&repository()), advice);
    let stray =
        sample("crates/voice/Cargo.toml", "[dependencies]\nserde.workspace = true\nrusqlite.workspace = true\n");
    let own = sample("crates/db/Cargo.toml", "rusqlite.workspace = true\n");
    assert_eq!(drivers_elsewhere(&[stray, own]).iter().map(|found| found.line).collect::<Vec<_>>(), [3]);
}

#[test]
fn each_table_is_written_by_one_module() {
    let advice = "Let the module that owns the table offer a function for this change, and call it.";
    demand(&tables_with_two_writers(&repository()), advice);
    let tree = [
        sample("crates/voice/src/cdrs/store.rs", "f(sql!(\"INSERT INTO cdrs (a) SELECT b FROM trunks\"))"),
        sample(
            "crates/numbers/src/trunks/store.rs",
            "f(sql!(\"UPDATE trunks SET a = 1\")); g(sql!(\"DELETE FROM cdrs\"))",
        ),
        sample(
            "crates/voice/src/calls/store.rs",
            "f(sql!(\"INSERT INTO live (a) ON CONFLICT (a) DO UPDATE SET b = 1\"))",
        ),
        sample("crates/voice/src/cdrs/exports.rs", "insert!(conn, exports { id, a: f(b) }).await"),
        sample("crates/billing/src/vat/store.rs", "table_row! { struct Row in exports { id: Id } }"),
    ];
    let found: Vec<_> = tables_with_two_writers(&tree).into_iter().map(|found| found.what).collect();
    let exports = "exports is written by billing/vat and voice/cdrs";
    let cdrs = "cdrs is written by numbers/trunks and voice/cdrs";
    assert_eq!(found, [cdrs, cdrs, exports, exports]);
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
    let handler = "crates/numbers/src/trunks/customer.rs";
    let store = "crates/numbers/src/trunks/store.rs";
    for bare in ["SELECT a\\n FROM b", "INSERT INTO a", "UPDATE a SET b = 1", "DELETE FROM a", "WITH a AS (SELECT 1)"] {
        assert_eq!(faults(handler, &format!("f(sql!(\"{bare}\"))")), 1, "{bare}");
        assert_eq!(faults(store, &format!("f(\"{bare}\", sql!(\"x\"))")), 1, "{bare}");
        assert_eq!(faults(store, &format!("f(sql!(concat!(\"{bare}\", \"x\")))")), 0, "{bare}");
        assert_eq!(faults("crates/backoffice/src/notices.rs", &format!("f(sql!(\"{bare}\"))")), 0, "{bare}");
        assert_eq!(faults("crates/db/src/lite.rs", &format!("f(\"{bare}\")")), 0, "{bare}");
        assert_eq!(faults(store, &format!("#[cfg(test)]\nmod tests {{ f(\"{bare}\") }}")), 0, "{bare}");
    }
    assert_eq!(faults(handler, "// SELECT a FROM b\nf(\"Select a plan\", \"SELECTED\", \"UPDATE\")"), 0);
}
