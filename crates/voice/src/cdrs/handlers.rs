//! `/cdrs`: the CDRs of the caller's account, and each with its price.

use super::items::CdrItems;
use super::price_proof;
use super::search::{self, CdrCursor, CdrItem, TrunkName};
use super::types::{CdrDetail, CdrFilters, CdrListItem};
use super::write;
use api::answer::Json;
use api::checks::Checked;
use api::context::ReadCtx;
use api::input::Path;
use api::page::{Listing, WrittenPage};
use api::problem::Problem;
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
) -> Result<WrittenPage<CdrListItem>, Problem> {
    let filter = listing.filters.0.clone().filter(ctx.principal()?.account_id);
    let (after, limit) = (listing.after.map(from_page_cursor), listing.limit as usize);
    let mut items = CdrItems::new(limit);
    let next = if let Some(account) = search::newest_of(&filter, after, limit) {
        search::each_newest(&mut ctx, account, listing.fetch(), |cdr, trunk_name| items.push(&cdr, trunk_name)).await?;
        items.next()
    } else {
        let page = search::page(&mut ctx, &filter, after, limit).await?;
        page.rows.iter().for_each(|row| items.push(&CdrItem::from(row), TrunkName::Unknown));
        page.next
    };
    let text = items.finish(&mut ctx).await?;
    listing.written_page(text, next.map(to_page_cursor))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<CallId>) -> Result<Json<CdrDetail>, Problem> {
    let account = ctx.principal()?.account_id;
    let cdr = write::find(&mut ctx, id).await?.filter(|cdr| cdr.terms.account_id == account);
    let cdr = cdr.ok_or_else(Problem::not_found)?;
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let price = price_proof::price(&cdr, &price_proof::prove(&request.app, &cdr).await?);
    Ok(Json(CdrDetail { cdr: cdr.into(), price }))
}
