//! `/numbers/inventory`: the inventory groups that customers can order from.

use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::store::{self, GroupFilter};
use super::types::{
    InventoryCountries, InventoryCountry, InventoryId, InventoryItem, NumberCapability, NumberType, Regulatory,
};
use api::answer::Json;
use api::context::ReadCtx;
use api::input::Path;
use api::page::{Listing, Page};
use api::problem::Problem;
use identity::balance::CURRENCY;
use values::{Country, Digits, Money};

/// Filters for the list of inventory groups.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return groups of this country only (ISO 3166-1 alpha-2).
    #[serde(default)]
    country: Option<Country>,
    /// Return groups of this number type only.
    #[serde(default, rename = "type")]
    kind: Option<NumberType>,
    /// Return groups whose numbers have this capability only.
    #[serde(default)]
    capability: Option<NumberCapability>,
    /// Return groups whose prefix begins with these digits only.
    #[serde(default)]
    prefix: Option<Digits>,
    /// Return groups that can be ordered right away (`api`) or that need documents (`docs_required`) only.
    #[serde(default)]
    regulatory: Option<Regulatory>,
}

pub async fn list(mut ctx: ReadCtx, listing: Listing<Filters, InventoryId>) -> Result<Page<InventoryItem>, Problem> {
    let filters = &listing.filters;
    let filter = GroupFilter {
        country: filters.country,
        kind: filters.kind,
        capability: filters.capability,
        prefix: filters.prefix.as_ref().map(Digits::to_string),
        regulatory: filters.regulatory,
    };
    let after = listing.after.unwrap_or(InventoryId::new(Uuid::max()));
    let rows = store::list_groups(&mut ctx, &filter, after, listing.fetch()).await?;
    listing.page(rows, |row| row.id, InventoryItem::from)
}

/// The countries of all groups with free numbers.
pub async fn countries(mut ctx: ReadCtx) -> Result<Json<InventoryCountries>, Problem> {
    let country = |(country, monthly)| InventoryCountry { country, monthly_from: Money::from_nanos(monthly, CURRENCY) };
    let data = store::countries(&mut ctx).await?.into_iter().map(country).collect();
    Ok(Json(InventoryCountries { data }))
}

/// Shows a group even when none of its numbers is free.
pub async fn show(mut ctx: ReadCtx, Path(id): Path<InventoryId>) -> Result<Json<InventoryItem>, Problem> {
    let group = store::find_group(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(group.into()))
}
