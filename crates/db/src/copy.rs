//! Whole tables of a SQLite database, to be inserted into another database of either engine.
//!
//! [`Conn::dump`] reads rows as SQLite stores them, [`Conn::load`] inserts them. PostgreSQL tells a truth value from a
//! number and a UUID from bytes; there the columns decide what a value becomes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params};
use uuid::Uuid;
use values::{Kind, Value};

use super::error::{DbError, Result};
use super::statements;

/// Rows of a table, as SQLite stores them: truth values are integers, UUIDs are bytes.
pub struct TableRows {
    pub table: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value<'static>>>,
}

/// What happens to a row whose key is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The transaction fails.
    Fail,
    /// The row that is there stays.
    Keep,
    /// The row replaces the one with the same first column.
    Replace,
}

impl TableRows {
    /// The place of a column in each row.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|name| name == column)
    }

    pub(super) fn insert_text(&self, conflict: Conflict) -> String {
        let names: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        let clause = match (conflict, names.split_first()) {
            (Conflict::Fail, _) | (_, None) => String::new(),
            (Conflict::Keep, _) => " ON CONFLICT DO NOTHING".to_owned(),
            (Conflict::Replace, Some((key, others))) => {
                let replaced: Vec<String> = others.iter().map(|name| format!("{name} = excluded.{name}")).collect();
                format!(" ON CONFLICT ({key}) DO UPDATE SET {}", replaced.join(", "))
            }
        };
        statements::insert_text(&self.table, &names, &clause).as_str().to_owned()
    }
}

/// All tables but these, each behind those that it refers to.
pub(super) fn dump(connection: &Connection, skipped: &[&str]) -> Result<Vec<TableRows>> {
    let named = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let tables = texts(connection, named, [])?;
    let mut parents = BTreeMap::new();
    for table in &tables {
        let named = texts(connection, "SELECT DISTINCT \"table\" FROM pragma_foreign_key_list($1)", [table])?;
        parents.insert(table.as_str(), named);
    }
    let (mut seen, mut ordered) = (BTreeSet::new(), Vec::new());
    tables.iter().for_each(|table| place(table, &parents, &mut seen, &mut ordered));
    let wanted = ordered.into_iter().filter(|table| !skipped.contains(table));
    wanted.map(|table| read(connection, table)).collect()
}

/// Puts a table behind those that it refers to.
fn place<'t>(
    table: &'t str,
    parents: &'t BTreeMap<&str, Vec<String>>,
    seen: &mut BTreeSet<&'t str>,
    ordered: &mut Vec<&'t str>,
) {
    if !seen.insert(table) {
        return;
    }
    for parent in parents.get(table).into_iter().flatten() {
        place(parent, parents, seen, ordered);
    }
    ordered.push(table);
}

fn texts(connection: &Connection, sql: &str, parameters: impl Params) -> Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let found = statement.query_map(parameters, |row| row.get(0))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn read(connection: &Connection, table: &str) -> Result<TableRows> {
    let mut statement = connection.prepare(&format!("SELECT * FROM {table}"))?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let (mut rows, mut found) = (Vec::new(), statement.raw_query());
    while let Some(row) = found.next()? {
        let cells = (0..columns.len()).map(|index| value(row.get_ref(index)?));
        rows.push(cells.collect::<Result<Vec<_>>>()?);
    }
    Ok(TableRows { table: table.to_owned(), columns, rows })
}

fn value(cell: ValueRef<'_>) -> Result<Value<'static>> {
    Ok(match cell {
        ValueRef::Null => Value::Null(Kind::Text),
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Double(number),
        ValueRef::Text(text) => Value::Text(std::str::from_utf8(text).map_err(DbError::other)?.to_owned().into()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec().into()),
    })
}

/// A value of SQLite as a column of this kind takes it.
pub(super) fn typed<'v>(value: &'v Value<'static>, kind: Kind) -> Result<Value<'v>> {
    Ok(match (value, kind) {
        (Value::Null(_), kind) => Value::Null(kind),
        (Value::Int(number), Kind::Int) => Value::Int(*number),
        (Value::Int(number), Kind::Bool) => Value::Bool(*number != 0),
        (Value::Double(number), Kind::Double) => Value::Double(*number),
        (Value::Text(text), Kind::Text) => Value::Text(Cow::Borrowed(text)),
        (Value::Bytes(bytes), Kind::Bytes) => Value::Bytes(Cow::Borrowed(bytes)),
        (Value::Bytes(bytes), Kind::Uuid) => Value::Uuid(Uuid::from_slice(bytes).map_err(DbError::other)?),
        _ => return Err(DbError::other(format!("a column takes {kind:?}, and the value is another"))),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_behind_those_that_they_refer_to() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE a (id INTEGER PRIMARY KEY, b INTEGER REFERENCES b (id), a INTEGER REFERENCES a (id));
                 CREATE TABLE b (id INTEGER PRIMARY KEY, note TEXT, body BLOB);
                 CREATE TABLE c (id INTEGER PRIMARY KEY);
                 INSERT INTO b VALUES (1, 'x', X'00'), (2, NULL, NULL);
                 INSERT INTO a VALUES (7, 2, 7);",
            )
            .unwrap();
        let dumped = dump(&connection, &["c"]).unwrap();
        let names: Vec<&str> = dumped.iter().map(|table| table.table.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!((dumped[0].rows.len(), dumped[0].position("body")), (2, Some(2)));
        assert!(matches!(dumped[0].rows[1][1], Value::Null(_)));
        let replace = dumped[0].insert_text(Conflict::Replace);
        assert!(replace.ends_with("ON CONFLICT (id) DO UPDATE SET note = excluded.note, body = excluded.body"));
    }

    #[test]
    fn the_column_decides_what_a_value_becomes() {
        let id = Value::Bytes(vec![1; 16].into());
        assert!(matches!(typed(&id, Kind::Uuid).unwrap(), Value::Uuid(id) if id.as_bytes() == &[1; 16]));
        assert!(matches!(typed(&id, Kind::Bytes).unwrap(), Value::Bytes(_)));
        assert!(matches!(typed(&Value::Int(1), Kind::Bool).unwrap(), Value::Bool(true)));
        assert!(matches!(typed(&Value::Null(Kind::Text), Kind::Int).unwrap(), Value::Null(Kind::Int)));
        assert!(typed(&Value::Int(1), Kind::Text).is_err());
    }
}
