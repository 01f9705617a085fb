//! Every SQL statement of the service prepares on both databases with the same shape.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use db::{postgres_text, text_of_each};

use crate::world::engines::{TestDb, postgres_client};

/// A statement text and where it is in the source.
struct Statement {
    place: String,
    text: String,
    /// Written with `pg_sql!`: SQLite is not asked to prepare it.
    is_postgres_only: bool,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_prepares_alike_on_both_engines() {
    let sqlite = TestDb::sqlite().await;
    let connection = rusqlite::Connection::open(sqlite.file()).unwrap();
    let test = async |postgres: &TestDb| {
        let client = postgres_client(&postgres.url).await;
        let statements = statements();
        assert!(!statements.is_empty());
        let mut wrong = Vec::new();
        for Statement { place, text, is_postgres_only } in statements {
            let prepared = match client.prepare(&postgres_text(&text)).await {
                Ok(prepared) => prepared,
                Err(error) => {
                    wrong.push(format!("{place}: PostgreSQL: {}", db::DbError::other(error)));
                    continue;
                }
            };
            let shape = (prepared.params().len(), prepared.columns().len());
            if shape.0 != parameters(&text).len() {
                wrong.push(format!("{place}: PostgreSQL sees other parameters than are written"));
            }
            // What only PostgreSQL returns, SQLite does not: there the caller knows it from before.
            let on_both = if text.contains("/*pg RETURNING") { (shape.0, 0) } else { shape };
            if !is_postgres_only {
                match connection.prepare(&text).map(|it| (it.parameter_count(), it.column_count())) {
                    Err(error) => wrong.push(format!("{place}: SQLite: {error}")),
                    Ok(on_sqlite) if on_sqlite != on_both => {
                        wrong.push(format!("{place}: the engines see different parameters or columns"));
                    }
                    Ok(_) => {}
                }
            }
            for column in prepared.columns() {
                if matches!(column.type_().name(), "numeric" | "int4" | "int2" | "float4") {
                    wrong.push(format!("{place}: cast {}, it is {}", column.name(), column.type_()));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    };
    TestDb::postgres().await.run(test).await;
}

/// A database that has just been made knows nothing of how calls are spread, and a plan made then may be kept for long.
#[tokio::test(flavor = "multi_thread")]
async fn live_calls_are_looked_up_by_edge_and_call_id() {
    let test = async |postgres: &TestDb| {
        let client = postgres_client(&postgres.url).await;
        client.batch_execute("SET plan_cache_mode = force_generic_plan").await.unwrap();
        let is_lookup = |it: &Statement| it.text.contains("WHERE edge_id = $1 AND call_id");
        let Statement { place, text, .. } = statements().into_iter().find(is_lookup).unwrap();
        let text = text_of_each(&text, 5);
        let prepare = format!("PREPARE decision (TEXT[], TEXT[], TEXT[], UUID[], TEXT[]) AS {text}");
        client.batch_execute(&prepare).await.unwrap();
        let rows = client.query("EXPLAIN EXECUTE decision (NULL, NULL, NULL, NULL, NULL)", &[]).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let looked_up = plan.iter().skip_while(|line| !line.contains("on live_calls")).nth(1);
        assert!(looked_up.is_some_and(|line| line.contains("Index Cond: ((edge_id = ")), "{place}: {plan:#?}");
    };
    TestDb::postgres().await.run(test).await;
}

/// Lists with filters: where their texts are, and what each of them contains.
const FILTERED: &[(&str, &str)] = &[
    ("billing/src/payments/store.rs", "created_at >= $"),
    ("billing/src/invoices/store.rs", "created_at >= $"),
    ("numbers/src/orders/store.rs", "created_at >= $"),
    ("numbers/src/rented/store.rs", "AND (since, id) < "),
    ("numbers/src/rented/store.rs", "AND e164 /*pg"),
    ("platform/src/ledger/read.rs", "AND (created_at, number) < "),
    ("voice/src/calls/live/store.rs", "(started_at, token) < "),
    ("voice/src/calls/live/store.rs", "WHERE token < $1 ORDER BY token"),
    ("voice/src/cdrs/exports/store.rs", "WHERE is_team AND (requested_at, id) < "),
    ("backoffice/src/search/store.rs", "COLLATE"),
    ("backoffice/src/search/store.rs", "AND imported ORDER BY"),
    ("backoffice/src/search/store.rs", "AND NOT imported ORDER BY"),
];

fn filtered_lists() -> Vec<Statement> {
    let is_filtered =
        |it: &Statement| FILTERED.iter().any(|(file, part)| it.place.contains(file) && it.text.contains(part));
    let found: Vec<Statement> = statements().into_iter().filter(is_filtered).collect();
    for (file, part) in FILTERED {
        assert!(found.iter().any(|it| it.place.contains(file) && it.text.contains(part)), "{file} has no {part}");
    }
    found
}

/// Neither engine may read a table through, or sort, for a page of a filtered list.
#[tokio::test(flavor = "multi_thread")]
async fn filtered_lists_read_along_an_index_in_their_order() {
    let sqlite = TestDb::sqlite().await;
    let connection = rusqlite::Connection::open(sqlite.file()).unwrap();
    for Statement { place, text, .. } in filtered_lists() {
        let mut prepared = connection.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
        let count = prepared.parameter_count();
        let steps = prepared.query_map(rusqlite::params_from_iter(vec![None::<i64>; count]), |row| row.get(3)).unwrap();
        let plan: Vec<String> = steps.map(Result::unwrap).collect();
        let is_bad = |step: &String| step.starts_with("SCAN") || step.contains("TEMP B-TREE");
        assert!(!plan.iter().any(is_bad), "{place}: {plan:#?}");
    }
    let test = async |postgres: &TestDb| {
        let client = postgres_client(&postgres.url).await;
        // Empty tables are read through unless that is made dear.
        let settings =
            "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off";
        client.batch_execute(settings).await.unwrap();
        for (number, Statement { place, text, .. }) in filtered_lists().into_iter().enumerate() {
            client.batch_execute(&format!("PREPARE list_{number} AS {}", postgres_text(&text))).await.unwrap();
            let nothing = vec!["NULL"; parameters(&text).len()].join(", ");
            let rows = client.query(&format!("EXPLAIN EXECUTE list_{number} ({nothing})"), &[]).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            let is_bad = |line: &String| {
                line.contains("Seq Scan") || line.trim_start().starts_with("->  Sort") || line.starts_with("Sort")
            };
            assert!(!plan.iter().any(is_bad), "{place}: {plan:#?}");
        }
    };
    TestDb::postgres().await.run(test).await;
}

/// The parameters that a text names.
fn parameters(text: &str) -> BTreeSet<String> {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect();
    text.split('$').skip(1).map(digits).collect()
}

/// Every `sql!(…)` and `pg_sql!(…)` of the source, with the columns of rows put in.
fn statements() -> Vec<Statement> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    let files: Vec<_> = [root.join("crates"), root.join("server")]
        .iter()
        .flat_map(|folder| rust_files(folder))
        .filter(|file| file.components().any(|part| part.as_os_str() == "src"))
        .map(|file| (std::fs::read_to_string(&file).unwrap(), file))
        .collect();
    let all: String = files.iter().map(|(text, _)| text.as_str()).collect();
    for (text, file) in &files {
        let path = file.strip_prefix(root).unwrap().display();
        let written = table_rows(text).into_iter().chain(inserts(text));
        found.extend(written.map(|text| Statement { place: path.to_string(), text, is_postgres_only: false }));
        for (at, call) in text.match_indices("sql!(") {
            let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
            // Neither a comment nor the definition of the macro itself.
            if text[line_start..at].trim_start().starts_with("//") || text[at + call.len()..].starts_with('$') {
                continue;
            }
            let line = text[..at].matches('\n').count() + 1;
            let place = format!("{path}:{line}");
            let statement = arguments(&text[at + call.len()..], text, &all).unwrap_or_else(|why| {
                panic!("{place}: {why}; sql! takes string literals, X::COLS of a row and its constants")
            });
            found.push(Statement { place, text: statement, is_postgres_only: text[..at].ends_with("pg_") });
        }
    }
    found
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The joined arguments of a call, read up to its closing parenthesis.
fn arguments(mut rest: &str, file: &str, all: &str) -> Result<String, String> {
    let mut joined = String::new();
    loop {
        rest = rest.trim_start_matches(|character: char| character.is_whitespace() || character == ',');
        if rest.starts_with(')') {
            return Ok(joined);
        } else if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, behind)| behind);
        } else if let Some(literal) = rest.strip_prefix('"') {
            rest = string_literal(literal, &mut joined)?;
        } else if let Some((row, behind)) = rest.split_once("::COLS").filter(|(row, _)| is_word(row)) {
            let columns = columns(row, file).or_else(|| columns(row, all));
            joined.push_str(&columns.ok_or(format!("no row! struct {row}"))?);
            rest = behind;
        } else if let Some((constant, behind)) = constant(rest, file).or_else(|| constant(rest, all)) {
            string_literal(constant, &mut joined)?;
            rest = behind;
        } else {
            return Err(format!("cannot read {:?}", rest.chars().take(40).collect::<String>()));
        }
    }
}

/// The literal that `Row::NAME` stands for, behind its opening quote, and what is behind the name.
fn constant<'s, 'r>(rest: &'r str, source: &'s str) -> Option<(&'s str, &'r str)> {
    let path = rest.find([',', ')'])?;
    let (row, name) = rest[..path].trim().split_once("::")?;
    let (_, body) = source.split_once(&format!("impl {row} {{"))?;
    let (_, value) = body.split_once("\n}\n")?.0.split_once(&format!("const {name}: &str ="))?;
    Some((value.trim_start().strip_prefix('"')?, &rest[path..]))
}

/// Appends what the literal means and answers what stands behind its closing quote.
fn string_literal<'t>(text: &'t str, out: &mut String) -> Result<&'t str, String> {
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok(&text[at + 1..]),
            '\\' => match characters.next() {
                Some((_, '"')) => out.push('"'),
                Some((_, '\\')) => out.push('\\'),
                Some((_, 'n')) => out.push('\n'),
                Some((_, '\n')) => out.push(' '),
                other => return Err(format!("unknown escape {other:?}")),
            },
            _ => out.push(character),
        }
    }
    Err("the literal does not end".into())
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|character| character.is_alphanumeric() || character == '_')
}

/// What `table_row! { struct Name in table { … } }` is inserted and updated by.
fn table_rows(file: &str) -> Vec<String> {
    let mut statements = Vec::new();
    for (at, _) in file.match_indices(" in ").filter(|(at, _)| file[..*at].trim_end().contains("table_row!")) {
        let Some((name, table)) =
            file[..at].rsplit_once("struct ").map(|(_, name)| name).zip(file[at + 4..].split_once(" {"))
        else {
            continue;
        };
        let table = table.0;
        if !is_word(name) || !is_word(table) {
            continue;
        }
        let columns = columns(name, file).unwrap();
        let names: Vec<&str> = columns.split(", ").collect();
        statements.push(db::statements::insert_text(table, &names, "").as_str().to_owned());
        statements.push(db::statements::update_text(table, &names).as_str().to_owned());
    }
    statements
}

/// The texts of `insert!(conn, table { column: value, … }, "ON CONFLICT …")`.
fn inserts(file: &str) -> Vec<String> {
    let texts = file.match_indices("insert!(").map(|(at, call)| &file[at + call.len()..]);
    let calls = texts.filter(|rest| !rest.starts_with('@') && !rest.starts_with("conn, trunks { id, name: new.name"));
    calls.map(|rest| insert_of(rest).unwrap_or_else(|| panic!("cannot read insert!({rest:.80}"))).collect()
}

fn insert_of(rest: &str) -> Option<String> {
    let (_, rest) = rest.split_once(',')?;
    let (table, rest) = rest.split_once('{')?;
    let (mut columns, mut column, mut depth, mut end) = (Vec::new(), String::new(), 0, 0);
    for (at, character) in rest.char_indices() {
        match character {
            '}' if depth == 0 => {
                end = at + 1;
                break;
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => columns.push(std::mem::take(&mut column)),
            _ => column.push(character),
        }
    }
    columns.push(column);
    let names: Vec<&str> = columns.iter().filter_map(|column| column.split(':').next()).map(str::trim).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    let conflict = match rest.get(end..)?.trim_start_matches([',', ' ', '\n']).strip_prefix('"') {
        Some(literal) => format!(" {}", literal.split_once('"')?.0),
        None => String::new(),
    };
    Some(db::statements::insert_text(table.trim(), &names, &conflict).as_str().to_owned())
}

/// The select list of `row! { struct Name { pub a: A, b: B } }`.
fn columns(row: &str, file: &str) -> Option<String> {
    let (_, declared) = [" ", " in "].iter().find_map(|next| {
        let found = file.split_once(&format!("struct {row}{next}"))?;
        (*next == " in " || found.1.starts_with('{')).then_some(found)
    })?;
    let (fields, _) = declared.split_once('{')?.1.split_once('}')?;
    let without_comments: String = fields.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let names = without_comments.split(',').filter_map(|field| {
        let (declared, _) = field.split_once(':')?;
        Some(declared.trim().rsplit(' ').next()?.to_owned())
    });
    Some(names.collect::<Vec<_>>().join(", "))
}
