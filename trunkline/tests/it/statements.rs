//! Every statement text of the service is understood by both engines, and means the same shape to both.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use db::postgres_text;

use crate::world::engines::{TestDb, postgres_client};

/// A text and where it stands.
struct Statement {
    place: String,
    text: String,
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
        for Statement { place, text } in statements {
            let on_sqlite = connection.prepare(&text).map(|it| (it.parameter_count(), it.column_count()));
            let on_postgres = client.prepare(&postgres_text(&text)).await;
            match (on_sqlite, on_postgres) {
                (Err(error), _) => wrong.push(format!("{place}: SQLite: {error}")),
                (_, Err(error)) => wrong.push(format!("{place}: PostgreSQL: {}", db::DbError::other(error))),
                (Ok(shape), Ok(prepared)) => {
                    // What only PostgreSQL reads may have parameters of its own, and no others may differ.
                    let all = parameters(&postgres_text(&text));
                    let own = all.difference(&parameters(&sqlite_text(&text))).count();
                    let (params, columns) = (prepared.params().len(), prepared.columns().len());
                    if shape != (params - own, columns) || params != all.len() {
                        wrong.push(format!("{place}: the engines see different parameters or columns"));
                    }
                    for column in prepared.columns() {
                        if matches!(column.type_().name(), "numeric" | "int4" | "int2" | "float4") {
                            wrong.push(format!("{place}: cast {}, it is {}", column.name(), column.type_()));
                        }
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    };
    TestDb::postgres().await.run(test).await;
}

/// A database that has just been made knows nothing of how calls are spread, and a plan made then may be kept for long.
#[tokio::test(flavor = "multi_thread")]
async fn whether_a_call_goes_on_is_looked_up_by_what_it_is_known_by_and_not_among_those_of_its_trunk() {
    let test = async |postgres: &TestDb| {
        let client = postgres_client(&postgres.url).await;
        client.batch_execute("SET plan_cache_mode = force_generic_plan").await.unwrap();
        let decisions: Vec<_> =
            statements().into_iter().filter(|it| it.text.contains("LEFT JOIN live_calls")).collect();
        assert_eq!(decisions.len(), 2);
        for (number, Statement { place, text }) in decisions.into_iter().enumerate() {
            client.batch_execute(&format!("PREPARE decision_{number} AS {}", postgres_text(&text))).await.unwrap();
            let nothing = vec!["NULL"; parameters(&text).len()].join(", ");
            let rows = client.query(&format!("EXPLAIN EXECUTE decision_{number} ({nothing})"), &[]).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            let looked_up = plan.iter().skip_while(|line| !line.contains("on live_calls l")).nth(1);
            assert!(looked_up.is_some_and(|line| line.contains("Index Cond: ((edge_id = ")), "{place}: {plan:#?}");
        }
    };
    TestDb::postgres().await.run(test).await;
}

/// The parameters that a text names.
fn parameters(text: &str) -> BTreeSet<String> {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect();
    text.split('$').skip(1).map(digits).collect()
}

/// A text without what only PostgreSQL reads.
fn sqlite_text(text: &str) -> String {
    let mut parts = text.split("/*pg ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + part.split_once("*/").map_or("", |(_, behind)| behind))
}

/// Every `sql!(…)` of the source, with the columns of rows put in.
fn statements() -> Vec<Statement> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut found = Vec::new();
    let files: Vec<_> =
        rust_files(&source).into_iter().map(|file| (std::fs::read_to_string(&file).unwrap(), file)).collect();
    let all: String = files.iter().map(|(text, _)| text.as_str()).collect();
    for (text, file) in &files {
        for (at, call) in text.match_indices("sql!(") {
            let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
            if text[line_start..at].trim_start().starts_with("//") {
                continue;
            }
            let line = text[..at].matches('\n').count() + 1;
            let place = format!("{}:{line}", file.strip_prefix(&source).unwrap().display());
            let statement = arguments(&text[at + call.len()..], text, &all)
                .unwrap_or_else(|why| panic!("{place}: {why}; sql! takes string literals and X::COLS of a row"));
            found.push(Statement { place, text: statement });
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
        } else if let Some((row, behind)) = rest.split_once("::COLS") {
            let columns = columns(row, file).or_else(|| columns(row, all));
            joined.push_str(&columns.ok_or(format!("no row! struct {row}"))?);
            rest = behind;
        } else {
            return Err(format!("cannot read {:?}", rest.chars().take(40).collect::<String>()));
        }
    }
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

/// The select list of `row! { struct Name { pub a: A, b: B } }`.
fn columns(row: &str, file: &str) -> Option<String> {
    let (_, body) = file.split_once(&format!("struct {row} {{"))?;
    let (fields, _) = body.split_once('}')?;
    let without_comments: String = fields.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let names = without_comments.split(',').filter_map(|field| {
        let (declared, _) = field.split_once(':')?;
        Some(declared.trim().rsplit(' ').next()?.to_owned())
    });
    Some(names.collect::<Vec<_>>().join(", "))
}
