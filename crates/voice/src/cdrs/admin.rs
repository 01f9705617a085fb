//! `/admin/cdrs`: the CDRs of all customers, with cost and margin.

use super::archive;
use super::handlers::{MAX_PAGE_SIZE, PageCursor, from_page_cursor, missing, to_page_cursor};
use super::price_proof;
use super::row::MarkedCdr;
use super::search;
use super::types::{AdminCdr, AdminCdrDetail, AdminCdrFilters, country_of, list_row};
use super::write;
use api::answer::Json;
use api::checks::Checked;
use api::context::ReadCtx;
use api::input::Path;
use api::page::{HotPage, Listing};
use api::problem::Problem;
use identity::names::Names;
use values::CallId;

pub async fn list_all(
    mut ctx: ReadCtx,
    listing: Listing<Checked<AdminCdrFilters>, PageCursor, MAX_PAGE_SIZE>,
) -> Result<HotPage<AdminCdr>, Problem> {
    let filter = listing.filters.0.clone().filter();
    let page = search::page(&mut ctx, &filter, listing.after.map(from_page_cursor), listing.limit as usize).await?;
    let mut names = Names::of_customers(&mut ctx, page.rows.iter().map(|row| row.account_id)).await?;
    names.add_upstreams(&mut ctx, page.rows.iter().filter_map(|row| row.upstream_id)).await?;
    let hot_from = archive::hot_from(&mut ctx).await?;
    let page = listing.page_with_next(page.rows, page.next.map(to_page_cursor), |row| AdminCdr::new(row, &names))?;
    Ok(page.with_hot_from(hot_from))
}

pub async fn admin_show(mut ctx: ReadCtx, Path(id): Path<CallId>) -> Result<Json<AdminCdrDetail>, Problem> {
    let Some(MarkedCdr { cdr, hung_up_by }) = write::find_marked(&mut ctx, id).await? else {
        return Err(missing(&mut ctx, id).await?);
    };
    let mut names = Names::of_customers(&mut ctx, [cdr.terms.account_id]).await?;
    names.add_upstreams(&mut ctx, cdr.result.upstream_id).await?;
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let proof = price_proof::prove(&request.app, &cdr).await?;
    let price = price_proof::price(&cdr, &proof);
    Ok(Json(AdminCdrDetail {
        trunk_id: cdr.terms.trunk_id,
        leg: cdr.terms.leg,
        country: country_of(&cdr),
        destination_name: cdr.terms.destination_name.clone(),
        price,
        source: proof.source,
        rate_plan: proof.plan,
        imported: cdr.result.imported,
        review: cdr.result.review,
        cdr: AdminCdr::new(list_row(cdr, hung_up_by), &names),
    }))
}
