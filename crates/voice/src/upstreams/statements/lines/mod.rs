//! The lines of a statement: what became of each call, as pages, or as CSV for the letter that disputes them.

mod csv;
mod store;
mod types;

pub use store::{NewLine, delete_some, insert};

use serde::{Deserialize, Serialize};

use super::store as statements;
use super::types::{StatementId, StatementLineKind};
use api::answer::PageOrCsv;
use api::context::ReadCtx;
use api::input::PathPair;
use api::page::{Listing, Page};
use api::problem::Problem;
use identity::imports::ImportStatus;
use store::LineRow;
use types::{LinesFormat, LinesQuery, StatementLine};
use values::{Time, UpstreamId};

/// The sort key of a line: kind, start and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LineCursor(i64, i64, i64);

impl LineCursor {
    /// Before the first line of a kind, or of all.
    fn before(kind: Option<StatementLineKind>) -> LineCursor {
        LineCursor(kind.map_or(0, StatementLineKind::rank), i64::MIN, 0)
    }

    fn after(row: &LineRow) -> LineCursor {
        LineCursor(row.kind, row.started_at.millis(), row.number)
    }

    /// The kind, start and number.
    fn key(self) -> (i64, Time, i64) {
        (self.0, Time::from_millis(self.1), self.2)
    }
}

pub async fn list(
    mut ctx: ReadCtx,
    PathPair(upstream, id): PathPair<UpstreamId, StatementId>,
    listing: Listing<LinesQuery, LineCursor>,
) -> Result<PageOrCsv<Page<StatementLine>>, Problem> {
    let statement = statements::find(&mut ctx, upstream, id).await?.ok_or_else(Problem::not_found)?;
    if statement.status != ImportStatus::Completed {
        let detail = format!("The statement has no lines: it is {}. Only a completed one has them.", statement.status);
        return Err(Problem::state_conflict(detail));
    }
    let (kind, currency) = (listing.filters.kind, statement.currency);
    if listing.filters.format == Some(LinesFormat::Csv) {
        let ReadCtx { conn, request } = ctx;
        drop(conn);
        return Ok(PageOrCsv::Csv(csv::file(&request.app.db, id, kind, currency)?));
    }
    let after = listing.after.unwrap_or_else(|| LineCursor::before(kind));
    let rows = store::list(&mut ctx, id, kind, after.key(), listing.fetch()).await?;
    let page = listing.page(rows, LineCursor::after, |row| StatementLine::new(row, currency))?;
    Ok(PageOrCsv::Page(page))
}
