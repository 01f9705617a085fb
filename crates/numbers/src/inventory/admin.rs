//! `/admin/did-inventory`: the team lists and updates DIDs.

use schemars::JsonSchema;
use serde::Deserialize;

use super::store::{self, StockFilter, StockRow, Terms};
use super::types::{DidInventoryRow, DidInventoryUpdate, InventoryId, NumberType, StockId, StockState};
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::names::Names;
use values::{Country, Digits, E164, UpstreamId};

/// Filters for the list of DIDs in the inventory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return DIDs of this country only (ISO 3166-1 alpha-2).
    #[serde(default)]
    country: Option<Country>,
    /// Return DIDs of this number type only.
    #[serde(default, rename = "type")]
    kind: Option<NumberType>,
    /// Return DIDs of this upstream only.
    #[serde(default)]
    upstream_id: Option<UpstreamId>,
    /// Return DIDs that begin with these digits only.
    #[serde(default)]
    prefix: Option<Digits>,
    /// Return DIDs that are for sale (`true`) or withdrawn (`false`) only.
    #[serde(default)]
    is_active: Option<bool>,
}

/// Sorts after every number with the same prefix.
const NINES: &str = "999999999999999";

pub async fn list(mut ctx: ReadCtx, listing: Listing<Filters, E164>) -> Result<Page<DidInventoryRow>, Problem> {
    let filters = &listing.filters;
    let prefix = filters.prefix.as_ref().map_or("", Digits::as_str);
    let filter = StockFilter {
        country: filters.country,
        kind: filters.kind,
        upstream: filters.upstream_id,
        is_active: filters.is_active,
        range: (format!("+{prefix}"), format!("+{prefix}{NINES}")),
    };
    let after = listing.after.as_ref().map_or("", E164::as_str);
    let rows = store::list_numbers(&mut ctx, &filter, after, listing.fetch()).await?;
    let names = Names::of_upstreams(&mut ctx, rows.iter().map(|row| row.upstream_id)).await?;
    listing.page(
        rows,
        |row| row.e164.clone(),
        |row| {
            let upstream_name = names.get(row.upstream_id.uuid());
            DidInventoryRow::new(row, upstream_name)
        },
    )
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<StockId>) -> Result<Json<DidInventoryRow>, Problem> {
    let row = store::find_number(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(view(&mut ctx, row).await?))
}

async fn view(conn: &mut Conn, row: StockRow) -> Result<DidInventoryRow, DbError> {
    let names = Names::of_upstreams(conn, [row.upstream_id]).await?;
    let upstream_name = names.get(row.upstream_id.uuid());
    Ok(DidInventoryRow::new(row, upstream_name))
}

/// Withdraws a DID or offers it again, and overrides its documents rule. A customer who rents it is not affected.
pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<StockId>,
    Body(update): Body<DidInventoryUpdate>,
) -> Result<Committed<Json<DidInventoryRow>>, Problem> {
    ctx.audit_note("number_id", id.to_string());
    ctx.commit((id, update), |tx, (id, update)| Box::pin(apply_update(tx, *id, update))).await
}

async fn apply_update(
    tx: &mut Tx<'_>,
    id: StockId,
    update: &DidInventoryUpdate,
) -> Result<Json<DidInventoryRow>, Problem> {
    let before = store::lock_number(tx, id).await?.ok_or_else(Problem::not_found)?;
    let shown = view(tx, before.clone()).await?;
    tx.expect_version(&shown)?;
    let mut after = before.clone();
    update.is_active.apply(&mut after.is_active);
    update.regulatory_override.apply(&mut after.regulatory_override);
    after.state = match (before.state, after.is_active) {
        (StockState::Taken, _) => StockState::Taken,
        (_, true) => StockState::Free,
        (_, false) => StockState::Withdrawn,
    };
    after.group_id = group_for(tx, &after).await?;
    store::update(tx, &before, &after).await?;
    Ok(Json(view(tx, after).await?))
}

/// The group of a DID by its terms and the documents rule that applies.
async fn group_for(tx: &mut Tx<'_>, number: &StockRow) -> Result<InventoryId, DbError> {
    let new: InventoryId = tx.new_id();
    let terms = store::group_terms(tx, number.group_id).await?;
    let regulatory = number.regulatory_override.unwrap_or(number.regulatory);
    store::find_or_create_group(tx, &Terms { regulatory, ..terms }, new).await
}
