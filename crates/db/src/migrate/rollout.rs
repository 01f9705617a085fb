//! Whether nodes of the previous release can serve while a migration runs on PostgreSQL, and after it.
//!
//! It is read off the statements. What this does not know counts as something that nodes wait for.

use std::collections::BTreeSet;

/// What a migration means for nodes of the previous release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rollout {
    /// They serve all the time.
    Online,
    /// Their writes to a table wait while it runs, for these reasons.
    Waits(Vec<String>),
    /// They fail once it ran, for these reasons.
    Breaks(Vec<String>),
}

pub(super) fn rollout(text: &str) -> Rollout {
    let statements = statements(text);
    let statements: Vec<Vec<&str>> = statements.iter().map(|statement| words(statement)).collect();
    let (mut waits, mut breaks) = (Vec::new(), Vec::new());
    // Nobody uses the tables that it creates itself.
    let mut own: BTreeSet<&str> = BTreeSet::new();
    for statement in &statements {
        match statement.as_slice() {
            ["CREATE", "TABLE", table, ..] => {
                own.insert(table);
            }
            ["CREATE", "INDEX", index, "ON", table, ..] | ["CREATE", "UNIQUE", "INDEX", index, "ON", table, ..] => {
                if !own.contains(table) {
                    waits.push(format!("builds the index {index} on {table}"));
                }
            }
            ["UPDATE", table, ..] | ["DELETE", "FROM", table, ..] if !own.contains(table) => {
                waits.push(format!("rewrites rows of {table}"));
            }
            ["ALTER", "TABLE", table, "ADD", "COLUMN", column, definition @ ..] => {
                if is_required(definition) && !own.contains(table) {
                    breaks.push(format!("{table} requires {column}"));
                }
            }
            ["ALTER", "TABLE", table, "SET", "UNLOGGED" | "LOGGED"] if !own.contains(table) => {
                waits.push(format!("rewrites {table}"));
            }
            ["ALTER", "TABLE", table, "DROP" | "RENAME", "COLUMN", column, ..] if !own.contains(table) => {
                breaks.push(format!("{table} has no {column} any more"));
            }
            ["ALTER", "TABLE", table, "RENAME", ..] | ["DROP", "TABLE", table, ..] if !own.contains(table) => {
                breaks.push(format!("there is no {table} any more"));
            }
            ["DROP", "VIEW", view, ..] => {
                if !statements
                    .iter()
                    .any(|later| matches!(later.as_slice(), ["CREATE", "VIEW", made, ..] if made == view))
                {
                    breaks.push(format!("there is no {view} any more"));
                }
            }
            ["CREATE", "VIEW" | "AGGREGATE" | "FUNCTION" | "OR" | "TRIGGER" | "CONSTRAINT", ..]
            | ["ALTER", "FUNCTION", ..]
            | ["ALTER", "TABLE", _, "SET" | "DROP" | "RENAME", ..]
            | ["DROP", "INDEX" | "TRIGGER" | "FUNCTION" | "TABLE", ..]
            | ["INSERT" | "SELECT" | "UPDATE" | "DELETE", ..] => {}
            unknown => waits
                .push(format!("has a statement that is not known: {} …", unknown[..unknown.len().min(4)].join(" "))),
        }
    }
    match (breaks.is_empty(), waits.is_empty()) {
        (false, _) => Rollout::Breaks(breaks),
        (true, false) => Rollout::Waits(waits),
        (true, true) => Rollout::Online,
    }
}

/// Whether rows without this column are refused.
fn is_required(definition: &[&str]) -> bool {
    definition.windows(2).any(|pair| pair == ["NOT", "NULL"]) && !definition.contains(&"DEFAULT")
}

fn words(statement: &str) -> Vec<&str> {
    statement.split(|c: char| c.is_whitespace() || "(),".contains(c)).filter(|word| !word.is_empty()).collect()
}

/// The statements without comments. A function's body, between `$$`, is part of its statement.
fn statements(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(|line| line.split("--").next().unwrap_or_default()).collect();
    let mut statements = vec![String::new()];
    for (number, piece) in lines.join("\n").split("$$").enumerate() {
        let is_body = number % 2 == 1;
        for (place, part) in piece.split(';').enumerate() {
            if place > 0 && !is_body {
                statements.push(String::new());
            }
            if let Some(statement) = statements.last_mut() {
                statement.push_str(part);
                statement.push(' ');
            }
        }
    }
    statements.retain(|statement| !statement.trim().is_empty());
    statements
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MIGRATIONS;

    #[test]
    fn new_tables_and_columns_need_no_pause() {
        let text = "-- A table; and its index.\nCREATE TABLE a (id UUID NOT NULL);\nCREATE INDEX a_by_id ON a (id);\n\
                    ALTER TABLE b ADD COLUMN c TEXT;\nALTER TABLE b ADD COLUMN d BOOLEAN NOT NULL DEFAULT FALSE;\n\
                    INSERT INTO versions (name) VALUES ('a');\nDROP VIEW v;\nCREATE VIEW v AS SELECT 1;\n\
                    CREATE FUNCTION f() RETURNS trigger AS $$ BEGIN DROP TABLE b; END $$;";
        assert_eq!(rollout(text), Rollout::Online);
    }

    #[test]
    fn what_nodes_wait_for_and_what_breaks_them_is_named() {
        let waits = "CREATE UNIQUE INDEX b_by_c ON b (c);\nUPDATE b SET c = 1;\nVACUUM b;";
        let reasons =
            ["builds the index b_by_c on b", "rewrites rows of b", "has a statement that is not known: VACUUM b …"];
        assert_eq!(rollout(waits), Rollout::Waits(reasons.map(str::to_owned).into()));
        let breaks = "UPDATE b SET c = 1;\nALTER TABLE b ADD COLUMN e TEXT NOT NULL;\nALTER TABLE b DROP COLUMN c;\n\
                      DROP TABLE d;\nDROP VIEW v;\nALTER TABLE x RENAME TO y;\nALTER TABLE b RENAME COLUMN f TO g;";
        let reasons = [
            "b requires e",
            "b has no c any more",
            "there is no d any more",
            "there is no v any more",
            "there is no x any more",
            "b has no f any more",
        ];
        assert_eq!(rollout(breaks), Rollout::Breaks(reasons.map(str::to_owned).into()));
    }

    #[test]
    fn every_statement_of_the_migrations_is_known() {
        for migration in MIGRATIONS {
            let (Rollout::Waits(reasons) | Rollout::Breaks(reasons)) = migration.rollout() else { continue };
            assert!(reasons.iter().all(|reason| !reason.contains("not known")), "{}: {reasons:?}", migration.name);
        }
    }
}
