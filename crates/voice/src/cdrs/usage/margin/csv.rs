//! The whole report as CSV, read and sent in parts.

use std::io::{self, Write};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use hyper::header::HeaderValue;

use super::types::Margin;
use super::{Key, Rows, Scope};
use api::answer::{Attachment, CsvFile};
use api::problem::Problem;
use db::{Db, DbError};
use platform::outside::download::content_disposition;
use values::{Date, Time};

const HEADER: &str = "key,name,attempts,answered,minutes,charge,cost,margin,currency,margin_pct\n";
/// Rows that are read at once.
const BATCH: i64 = 5000;
/// Typical length of a line.
const LINE_BYTES: usize = 120;

/// State of the stream.
struct Reading {
    db: Db,
    scope: Scope,
    after: Option<Key>,
}

pub fn file(db: &Db, scope: Scope, (from, to): (Time, Time)) -> Result<CsvFile, Problem> {
    let name = format!("margin-by-{}-{}-{}.csv", scope.by, Date::from(from), Date::from(to));
    let header = stream::iter([Ok(Bytes::from_static(HEADER.as_bytes()))]);
    let reading = Reading { db: db.clone(), scope, after: None };
    let lines = stream::try_unfold(Some(reading), async |reading| {
        let Some(mut reading) = reading else { return Ok(None) };
        let (lines, is_last) = reading.next_lines().await.map_err(io::Error::other)?;
        Ok(Some((lines, (!is_last).then_some(reading))))
    });
    Ok(CsvFile(Attachment {
        content_type: HeaderValue::from_static("text/csv; charset=utf-8; header=present"),
        disposition: HeaderValue::from_str(&content_disposition(&name)).map_err(Problem::internal)?,
        length: None,
        body: header.chain(lines).boxed(),
    }))
}

impl Reading {
    /// The next lines, and whether they are the last.
    async fn next_lines(&mut self) -> Result<(Bytes, bool), DbError> {
        let input = (self.scope.clone(), self.after.take());
        let read = self.db.snapshot(input, |conn, (scope, after)| {
            Box::pin(async move { scope.rows_after(conn, after.as_ref(), BATCH).await })
        });
        let Rows { sums, names } = read.await?;
        let is_last = (sums.len() as i64) < BATCH;
        self.after = sums.last().map(|(key, _)| key.clone());
        let mut lines = Vec::with_capacity(sums.len() * LINE_BYTES);
        for (key, sums) in sums {
            write_line(&mut lines, &self.scope.row(&key, &names, sums));
        }
        Ok((lines.into(), is_last))
    }
}

fn write_line(lines: &mut Vec<u8>, row: &Margin) {
    sheet::write_cell(lines, row.key.as_deref().unwrap_or_default());
    lines.push(b',');
    sheet::write_cell(lines, row.name.as_deref().unwrap_or_default());
    let amount = |money: &values::ExactMoney| money.0.amount();
    let percentage = row.margin_pct.map(|percentage| percentage.to_string()).unwrap_or_default();
    // Writing to memory cannot fail.
    let _ = writeln!(
        lines,
        ",{},{},{},{},{},{},{},{percentage}",
        row.attempts,
        row.answered,
        row.minutes,
        amount(&row.charge),
        amount(&row.cost),
        amount(&row.margin),
        row.charge.0.currency(),
    );
}
