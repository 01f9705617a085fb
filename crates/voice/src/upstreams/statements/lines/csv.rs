//! All lines of a statement, or those of one kind, as CSV, read and sent in parts.

use std::io::{self, Write};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use hyper::header::HeaderValue;

use super::LineCursor;
use super::store::{self, LineRow};
use super::types::StatementLine;
use crate::upstreams::statements::types::{StatementId, StatementLineKind};
use api::answer::{Attachment, CsvFile};
use api::problem::Problem;
use db::{Db, DbError};
use platform::outside::download::content_disposition;
use values::{Currency, ExactMoney};

const HEADER: &str = "kind,called,their_line,their_call_id,their_started_at,their_duration_seconds,\
                      their_rate_per_minute,their_cost,our_cdr_id,our_started_at,our_duration_seconds,\
                      our_rate_per_minute,our_cost,difference,currency\n";
/// Lines that are read at once.
const BATCH: i64 = 5000;
/// Typical length of a line.
const LINE_BYTES: usize = 200;

/// State of the stream.
struct Reading {
    db: Db,
    statement: StatementId,
    kind: Option<StatementLineKind>,
    currency: Currency,
    after: LineCursor,
}

pub fn file(
    db: &Db,
    statement: StatementId,
    kind: Option<StatementLineKind>,
    currency: Currency,
) -> Result<CsvFile, Problem> {
    let name = format!("statement-{statement}-{}.csv", kind.map_or("all", StatementLineKind::as_str));
    let header = stream::iter([Ok(Bytes::from_static(HEADER.as_bytes()))]);
    let reading = Reading { db: db.clone(), statement, kind, currency, after: LineCursor::before(kind) };
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
        let input = (self.statement, self.kind, self.after);
        let read = self.db.report(input, |conn, (statement, kind, after)| {
            Box::pin(store::list(conn, *statement, *kind, after.key(), BATCH))
        });
        let rows: Vec<LineRow> = read.await?;
        let is_last = (rows.len() as i64) < BATCH;
        if let Some(last) = rows.last() {
            self.after = LineCursor::after(last);
        }
        let mut lines = Vec::with_capacity(rows.len() * LINE_BYTES);
        for row in rows {
            write_line(&mut lines, &StatementLine::new(row, self.currency)).map_err(DbError::other)?;
        }
        Ok((lines.into(), is_last))
    }
}

fn write_line(out: &mut Vec<u8>, line: &StatementLine) -> io::Result<()> {
    write!(out, "{},", line.kind)?;
    sheet::write_cell(out, &line.called);
    match &line.theirs {
        Some(theirs) => {
            write!(out, ",{},", theirs.line)?;
            sheet::write_cell(out, theirs.call_id.as_deref().unwrap_or_default());
            write!(out, ",{},{},{},", theirs.started_at, theirs.duration_seconds, rate(theirs.rate_per_minute))?;
            write!(out, "{}", theirs.cost.0.amount())?;
        }
        None => out.extend_from_slice(b",,,,,,"),
    }
    match &line.ours {
        Some(ours) => {
            write!(out, ",{},{},{},", ours.cdr_id, ours.started_at, ours.duration_seconds)?;
            write!(out, "{},{}", rate(ours.rate_per_minute), ours.cost.0.amount())?;
        }
        None => out.extend_from_slice(b",,,,,"),
    }
    let ExactMoney(difference) = line.difference;
    writeln!(out, ",{},{}", difference.amount(), difference.currency())
}

fn rate(rate: Option<ExactMoney>) -> String {
    rate.map(|ExactMoney(rate)| rate.amount()).unwrap_or_default()
}
