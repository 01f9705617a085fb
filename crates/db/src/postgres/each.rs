//! One statement for many lists of parameters: every parameter becomes an array, and a row of `unnest` takes the place of
//! a list. A statement of its own for each list would cost a message, an answer and a start of the executor.

use std::fmt::Write;
use std::pin::pin;

use futures_util::{FutureExt, TryStreamExt, future};
use tokio::time::timeout;
use tokio_postgres::types::Type;
use values::{Kind, Value};

use super::{Session, after_begin, prepare};
use crate::bound::Bound;
use crate::error::{DbError, Result};
use crate::row::{FromRow, Row};
use crate::statements::{Inserts, Statement, postgres_text};

impl Session {
    /// The first row for each of these lists of parameters. Its last column is one more than the query has.
    pub(crate) async fn run_each(
        &mut self,
        sql: &str,
        lists: &[Vec<Value<'_>>],
    ) -> Result<Vec<Option<tokio_postgres::Row>>> {
        self.is_busy = true;
        let outcome = timeout(self.deadline, self.ask_each(sql, lists)).await;
        self.is_busy = false;
        self.answered(outcome)
    }

    async fn ask_each(&mut self, sql: &str, lists: &[Vec<Value<'_>>]) -> Result<Vec<Option<tokio_postgres::Row>>> {
        let client = self.client.as_ref().ok_or(DbError::Aborted)?;
        let lists: Vec<&[Value<'_>]> = lists.iter().map(Vec::as_slice).collect();
        let Some(first) = lists.first() else { return Ok(Vec::new()) };
        let statement = client.prepare_typed_cached(&text_of_each(sql, first.len()), &types(first)).await?;
        let query = client.query_raw(&statement, columns(&lists));
        let mut rows = pin!(after_begin(&mut self.transaction, client, query).await?);
        let mut answers = Vec::new();
        answers.resize_with(lists.len(), || None);
        while let Some(row) = rows.try_next().await? {
            let place: i64 = row.try_get(row.len().saturating_sub(1))?;
            let answer = usize::try_from(place - 1).ok().and_then(|at| answers.get_mut(at));
            if let Some(answer) = answer {
                *answer = Some(row);
            }
        }
        Ok(answers)
    }

    /// All rows for each of these lists of parameters, each by a statement of its own, sent together: rows of the first are
    /// read while the server works on the next.
    pub(crate) async fn all_each<T>(
        &mut self,
        sql: &str,
        lists: &[Vec<Value<'_>>],
        read: impl Fn(&tokio_postgres::Row) -> Result<T> + Sync + Send,
    ) -> Result<Vec<Vec<T>>> {
        self.is_busy = true;
        let outcome = timeout(self.deadline, self.ask_all(sql, lists, read)).await;
        self.is_busy = false;
        self.answered(outcome)
    }

    async fn ask_all<T>(
        &mut self,
        sql: &str,
        lists: &[Vec<Value<'_>>],
        read: impl Fn(&tokio_postgres::Row) -> Result<T> + Sync + Send,
    ) -> Result<Vec<Vec<T>>> {
        let client = self.client.as_ref().ok_or(DbError::Aborted)?;
        let Some(first) = lists.first() else { return Ok(Vec::new()) };
        let statement = &prepare(client, sql, first).await?;
        let read = &read;
        // Each reads its rows at once: until they are read, the next one is not answered.
        let queries = lists.iter().map(|params| async move {
            let mut stream = pin!(client.query_raw(statement, params.iter().map(Bound)).await?);
            let mut rows = Vec::new();
            while let Some(row) = stream.try_next().await? {
                rows.push(read(&row));
            }
            Ok(rows)
        });
        let answers = after_begin(&mut self.transaction, client, future::try_join_all(queries)).await?;
        answers.into_iter().map(|rows| rows.into_iter().collect()).collect()
    }

    /// What each INSERT returns for its lists of parameters, in their order.
    pub(crate) async fn insert_all(&mut self, inserts: &[Inserts<'_>]) -> Result<Vec<Vec<Vec<i64>>>> {
        let outcome = timeout(self.deadline, self.send_inserts(inserts)).await;
        self.answered(outcome)
    }

    async fn send_inserts(&mut self, inserts: &[Inserts<'_>]) -> Result<Vec<Vec<Vec<i64>>>> {
        let client = self.client.as_ref().ok_or(DbError::Aborted)?;
        let mut queries = Vec::with_capacity(inserts.len());
        for one in inserts {
            let lists: Vec<&[Value<'_>]> = one.lists.iter().map(Vec::as_slice).collect();
            let Some(first) = lists.first() else {
                queries.push(future::ok((Vec::new(), 0)).boxed());
                continue;
            };
            let text = insert_text(one.text, first.len()).ok_or_else(|| DbError::other("not a plain INSERT"))?;
            let statement = client.prepare_typed_cached(&text, &types(first)).await?;
            let query = async move {
                let mut stream = pin!(client.query_raw(&statement, columns(&lists)).await?);
                let rows: Vec<tokio_postgres::Row> = stream.as_mut().try_collect().await?;
                Ok((rows, stream.rows_affected().unwrap_or(0)))
            };
            queries.push(query.boxed());
        }
        let answers = after_begin(&mut self.transaction, client, future::try_join_all(queries)).await?;
        let integers = |row: &tokio_postgres::Row| Vec::from_row(&Row::Postgres(row));
        let rows = inserts.iter().zip(answers).map(|(one, (rows, inserted))| match one.returns() {
            true => rows.iter().map(integers).collect(),
            false => Ok((0..inserted).map(|_| Vec::new()).collect()),
        });
        rows.collect()
    }

    /// Runs statements in this order, inserts of the same text that follow each other as one. Returns the number of rows
    /// of all together.
    pub(crate) async fn run_many(&mut self, statements: &[Statement]) -> Result<u64> {
        let outcome = timeout(self.deadline, self.send_many(statements)).await;
        self.answered(outcome)
    }

    async fn send_many(&mut self, statements: &[Statement]) -> Result<u64> {
        let client = self.client.as_ref().ok_or(DbError::Aborted)?;
        let mut executions = Vec::new();
        for same in statements.chunk_by(|one, next| one.text == next.text) {
            let lists: Vec<&[Value<'_>]> = same.iter().map(|one| one.params.as_slice()).collect();
            if let [one, _, ..] = same
                && let Some(text) = insert_text(one.text, one.params.len())
            {
                let statement = client.prepare_typed_cached(&text, &types(&one.params)).await?;
                executions.push(async move { client.execute_raw(&statement, columns(&lists)).await }.boxed());
                continue;
            }
            for one in same {
                let statement = prepare(client, one.text, &one.params).await?;
                executions
                    .push(async move { client.execute_raw(&statement, one.params.iter().map(Bound)).await }.boxed());
            }
        }
        let counts = after_begin(&mut self.transaction, client, future::try_join_all(executions)).await?;
        Ok(counts.into_iter().sum())
    }
}

/// A query whose last column is the place of the list that a row is for, from 1. At most one row for each list.
pub fn text_of_each(sql: &str, parameters: usize) -> String {
    let sql = postgres_text(sql);
    let (names, lists) = (names(parameters), lists(parameters));
    // LIMIT keeps each list a lookup of its own, whatever the server believes about the size of the tables.
    format!(
        "SELECT answer.*, list.place FROM unnest({lists}) WITH ORDINALITY AS list ({names}, place)
         CROSS JOIN LATERAL (SELECT * FROM ({}) AS answers LIMIT 1) AS answer",
        with_names(&sql)
    )
}

/// An INSERT of one row of VALUES as one of all lists; none for any other statement.
fn insert_text(sql: &str, parameters: usize) -> Option<String> {
    let (into, values) = sql.split_once("VALUES (").filter(|(into, _)| into.trim_start().starts_with("INSERT INTO"))?;
    let (values, conflict) = values.split_once(')')?;
    let (names, lists) = (names(parameters), lists(parameters));
    // What follows the values sees the row as `excluded`, but none of the parameters.
    let is_plain = !values.contains('(') && !conflict.contains('$');
    is_plain.then(|| {
        let conflict = postgres_text(conflict);
        format!("{into}SELECT {} FROM unnest({lists}) AS list ({names}){conflict}", with_names(values))
    })
}

/// The parameters of all lists, one array for each.
fn columns<'a>(lists: &[&'a [Value<'a>]]) -> Vec<Vec<Bound<'a>>> {
    let width = lists.first().map_or(0, |list| list.len());
    (0..width).map(|at| lists.iter().filter_map(|list| list.get(at).map(Bound)).collect()).collect()
}

/// The types of these arrays.
fn types(list: &[Value<'_>]) -> Vec<Type> {
    let array = |value: &Value<'_>| match value.kind() {
        Kind::Int => Type::INT8_ARRAY,
        Kind::Double => Type::FLOAT8_ARRAY,
        Kind::Bool => Type::BOOL_ARRAY,
        Kind::Text => Type::TEXT_ARRAY,
        Kind::Bytes => Type::BYTEA_ARRAY,
        Kind::Uuid => Type::UUID_ARRAY,
    };
    list.iter().map(array).collect()
}

/// `$1` as `list.p1`.
fn with_names(sql: &str) -> String {
    sql.replace('$', "list.p")
}

fn names(parameters: usize) -> String {
    numbered("p", parameters)
}

fn lists(parameters: usize) -> String {
    numbered("$", parameters)
}

fn numbered(prefix: &str, parameters: usize) -> String {
    let mut text = String::new();
    for number in 1..=parameters {
        let comma = if number > 1 { ", " } else { "" };
        let _ = write!(text, "{comma}{prefix}{number}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_asked_once_for_each_list() {
        let text = text_of_each("SELECT a FROM t WHERE b = $1 AND c = $2 /*pg FOR UPDATE */", 2);
        assert!(text.contains("unnest($1, $2) WITH ORDINALITY AS list (p1, p2, place)"), "{text}");
        assert!(text.contains("(SELECT a FROM t WHERE b = list.p1 AND c = list.p2 FOR UPDATE ) AS answers"), "{text}");
    }

    #[test]
    fn only_plain_inserts_are_joined() {
        let text = insert_text("INSERT INTO t (a, b) VALUES ($1, $2) ON CONFLICT (a) DO UPDATE SET b = excluded.b", 2);
        let expected = "INSERT INTO t (a, b) SELECT list.p1, list.p2 FROM unnest($1, $2) AS list (p1, p2) \
                        ON CONFLICT (a) DO UPDATE SET b = excluded.b";
        assert_eq!(text.as_deref(), Some(expected));
        assert_eq!(insert_text("UPDATE t SET b = $2 WHERE a = $1", 2), None);
        assert_eq!(insert_text("INSERT INTO t (a) VALUES (lower($1))", 1), None);
        assert_eq!(insert_text("INSERT INTO t (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = $1", 1), None);
    }
}
