//! `/cdrs` and `/admin/cdrs`: lists of calls, and each call with the proof of its price.

use super::proof;
use super::search::{self, CdrRow, Place};
use super::store;
use super::types::{AdminCdr, AdminCdrDetail, AdminCdrFilters, Cdr, CdrDetail, CdrFilters};
use api::answer::Json;
use api::context::ReadCtx;
use api::input::Path;
use api::page::{Listing, Page};
use api::problem::Problem;
use values::{CallId, Time};

/// The most that a page of calls holds.
const MOST: u32 = 1000;

/// Where a page begins: the moment and the id of the last call before it.
type Position = (i64, CallId);

fn place((at, id): Position) -> Place {
    (Time::from_millis(at), id)
}

fn position((at, id): Place) -> Position {
    (at.millis(), id)
}

pub async fn list(mut ctx: ReadCtx, listing: Listing<CdrFilters, Position, MOST>) -> Result<Page<Cdr>, Problem> {
    let wanted = listing.filters.clone().wanted(ctx.principal()?.account_id)?;
    let found = search::page(&mut ctx, &wanted, listing.after.map(place), listing.limit as usize).await?;
    listing.page_with_next(found.rows, found.next.map(position), Cdr::from)
}

pub async fn list_all(
    mut ctx: ReadCtx,
    listing: Listing<AdminCdrFilters, Position, MOST>,
) -> Result<Page<AdminCdr>, Problem> {
    let wanted = listing.filters.clone().wanted()?;
    let found = search::page(&mut ctx, &wanted, listing.after.map(place), listing.limit as usize).await?;
    listing.page_with_next(found.rows, found.next.map(position), AdminCdr::from)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<CallId>) -> Result<Json<CdrDetail>, Problem> {
    let account = ctx.principal()?.account_id;
    let found = store::find(&mut ctx, id).await?.filter(|found| found.cdr.account_id == account);
    let found = found.ok_or_else(Problem::not_found)?;
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let source = proof::source(&request.app, &found).await?;
    let price = proof::price(&found, source.as_ref());
    Ok(Json(CdrDetail { cdr: found.cdr.into(), price }))
}

pub async fn show_to_team(mut ctx: ReadCtx, Path(id): Path<CallId>) -> Result<Json<AdminCdrDetail>, Problem> {
    let found = store::find(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let source = proof::source(&request.app, &found).await?;
    let price = proof::price(&found, source.as_ref());
    let (imported, review) = (found.terms.imported, found.terms.review);
    let CdrRow { trunk_id, leg, country, destination_name, .. } = found.cdr.clone();
    let cdr = found.cdr.into();
    Ok(Json(AdminCdrDetail { cdr, trunk_id, leg, country, destination_name, price, source, imported, review }))
}
