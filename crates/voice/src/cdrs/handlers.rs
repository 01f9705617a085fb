//! `/cdrs`: the CDRs of the caller's account, and each with its price.

use super::archive;
use super::price_proof;
use super::search::{self, CdrCursor};
use super::types::{CdrDetail, CdrFilters, CdrListItem};
use super::write;
use api::answer::Json;
use api::checks::Checked;
use api::context::ReadCtx;
use api::input::Path;
use api::page::{HotPage, Listing};
use api::problem::Problem;
use db::Conn;
use identity::names::Names;
use values::{CallId, Time};

/// Maximum number of CDRs on a page.
pub const MAX_PAGE_SIZE: u32 = 1000;

/// Page cursor: start time in Unix milliseconds and id of the last CDR of the page before.
pub type PageCursor = (i64, CallId);

pub fn from_page_cursor((at, id): PageCursor) -> CdrCursor {
    (Time::from_millis(at), id)
}

pub fn to_page_cursor((at, id): CdrCursor) -> PageCursor {
    (at.millis(), id)
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Checked<CdrFilters>, PageCursor, MAX_PAGE_SIZE>,
) -> Result<HotPage<CdrListItem>, Problem> {
    let filter = listing.filters.0.clone().filter(ctx.principal()?.account_id);
    let page = search::page(&mut ctx, &filter, listing.after.map(from_page_cursor), listing.limit as usize).await?;
    let names = Names::of_trunks(&mut ctx, page.rows.iter().map(|row| row.trunk_id)).await?;
    let hot_from = archive::hot_from(&mut ctx).await?;
    let page = listing.page_with_next(page.rows, page.next.map(to_page_cursor), |row| CdrListItem {
        trunk_name: names.get(row.trunk_id.uuid()),
        cdr: row.into(),
    })?;
    Ok(page.with_hot_from(hot_from))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<CallId>) -> Result<Json<CdrDetail>, Problem> {
    let account = ctx.principal()?.account_id;
    let cdr = write::find(&mut ctx, id).await?.filter(|cdr| cdr.terms.account_id == account);
    let Some(cdr) = cdr else { return Err(missing(&mut ctx, id).await?) };
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let price = price_proof::price(&cdr, &price_proof::prove(&request.app, &cdr).await?);
    Ok(Json(CdrDetail { cdr: cdr.into(), price }))
}

/// Why there is no CDR: there never was, or it is archived.
pub async fn missing(conn: &mut Conn, id: CallId) -> Result<Problem, Problem> {
    let archived = archive::archived_before(conn, id).await?;
    Ok(archived.map_or_else(Problem::not_found, |hot_from| Problem::gone_to(archive::archived_detail(hot_from))))
}
