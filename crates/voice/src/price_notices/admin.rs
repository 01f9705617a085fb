//! `/admin/price-notices`: who was notified of which price change, and when.

use super::store;
use super::types::{AdminNoticeFilters, AdminPriceNotice, PriceNoticeId};
use api::context::ReadCtx;
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use identity::names::Names;

pub async fn list_all(
    mut ctx: ReadCtx,
    listing: Listing<AdminNoticeFilters, NewestFirst<PriceNoticeId>>,
) -> Result<Page<AdminPriceNotice>, Problem> {
    let rows = match listing.filters.customer_id {
        Some(customer) => store::list_of(&mut ctx, customer, listing.before(), listing.fetch()).await?,
        None => store::list(&mut ctx, listing.before(), listing.fetch()).await?,
    };
    let names = Names::of_customers(&mut ctx, rows.iter().map(|row| row.account_id)).await?;
    listing.page(
        rows,
        |row| (row.created_at, row.id),
        |row| {
            let name = names.get(row.account_id.uuid());
            AdminPriceNotice::new(row, name)
        },
    )
}
