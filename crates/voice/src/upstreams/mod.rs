//! Upstreams: the networks that calls are sent to, their terms, and the source of their rate decks.
//!
//! A change of status or markup changes sell rates, so it is stored in the tariff's history in the same transaction.
//! Its addresses must not be on a customer's allow-list (`addresses`).
//! An upstream whose deck was ever in force is part of that history: it can be disabled, not deleted. `decks` imports
//! its rates, `statements` reconciles the calls that it charges for.

mod addresses;
pub mod decks;
pub mod statements;
mod store;
mod types;

pub use store::{UpstreamRow, all, find, list_due, lock, save, update_health};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::price_notices::{self, Audience, ChangeCause};
use api::answer::{Created, Json, NoContent};
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::faults::Faults;
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use platform::routing::tariff::{self, UpstreamStatus};
use platform::routing::upstreams::{self, UpstreamHealth};
use types::{NEEDS_URL, Upstream, UpstreamCreate, UpstreamUpdate};
use values::{List, UpstreamId};

/// Filters for the list of upstreams.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return upstreams in this status only.
    #[serde(default)]
    status: Option<UpstreamStatus>,
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Filters, NewestFirst<UpstreamId>>,
) -> Result<Page<Upstream>, Problem> {
    let rows = store::list(&mut ctx, listing.filters.status, listing.before(), listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), Upstream::from)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<UpstreamId>) -> Result<Json<Upstream>, Problem> {
    let found = find(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(found.into()))
}

pub async fn create(
    ctx: RequestCtx,
    Body(Checked(body)): Body<Checked<UpstreamCreate>>,
) -> Result<Committed<Created<Upstream>>, Problem> {
    let new = UpstreamRow {
        id: ctx.new_id(),
        name: body.name,
        status: UpstreamStatus::Active,
        health: UpstreamHealth::Unknown,
        dispatcher_group_id: body.dispatcher_group_id,
        base_currency: body.base_currency,
        markup: body.markup_percent,
        next_import_at: body.rate_import_schedule.as_ref().and_then(|cron| cron.after(ctx.now)),
        rate_import_url: body.rate_import_url,
        rate_import_schedule: body.rate_import_schedule,
        pulled_hash: None,
        pulled_etag: None,
        gateways: List(body.gateways),
        signaling_ips: List(body.signaling_ips),
        deck_id: None,
        last_import_at: None,
        created_at: ctx.now,
        updated_at: ctx.now,
    };
    ctx.audit_note("upstream_id", new.id.to_string());
    let resolved = addresses::resolve(&ctx, &new.gateways.0).await;
    ctx.commit((new, resolved), |tx, (new, resolved)| {
        Box::pin(async move {
            let ctx = tx.ctx;
            addresses::refuse_overlap(tx, &ctx.app, new, resolved).await?;
            if !store::insert(tx, new).await? {
                let group = new.dispatcher_group_id;
                return Err(Problem::resource_in_use(format!("Another upstream has dispatcher group {group}.")));
            }
            upstreams::bump_version(tx).await?;
            tariff::record_terms(tx, &new.terms()).await?;
            Ok(Created(new.clone().into()))
        })
    })
    .await
}

pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<UpstreamId>,
    Body(Checked(changes)): Body<Checked<UpstreamUpdate>>,
) -> Result<Committed<Json<Upstream>>, Problem> {
    ctx.audit_note("upstream_id", id.to_string());
    let resolved = addresses::resolve(&ctx, &changes.gateways()).await;
    ctx.commit((id, changes, resolved), |tx, (id, changes, resolved)| {
        Box::pin(async move {
            let (ctx, now) = (tx.ctx, tx.ctx.now);
            let before = lock(tx, *id).await?.ok_or_else(Problem::not_found)?;
            tx.expect_version(&Upstream::from(before.clone()))?;
            let mut upstream = before.clone();
            changes.apply(&mut upstream, now);
            let mut faults = Faults::default();
            let has_source = upstream.rate_import_schedule.is_none() || upstream.rate_import_url.is_some();
            faults.unless(has_source, "rate_import_schedule", NEEDS_URL);
            faults.into_result()?;
            let addresses = |row: &UpstreamRow| (row.gateways.0.clone(), row.signaling_ips.0.clone());
            if addresses(&upstream) != addresses(&before) {
                addresses::refuse_overlap(tx, &ctx.app, &upstream, resolved).await?;
            }
            save(tx, &upstream).await?;
            if before.status == UpstreamStatus::Disabled && upstream.status == UpstreamStatus::Active {
                // It is up until a switch says otherwise, whatever was reported before.
                store::forget_health(tx, *id).await?;
                upstream.health = UpstreamHealth::Unknown;
            }
            upstreams::bump_version(tx).await?;
            if upstream.terms() != before.terms() {
                let change = tariff::record_terms(tx, &upstream.terms()).await?;
                if upstream.deck_id.is_some() {
                    let period = price_notices::moment(change.at);
                    price_notices::announce(tx, ChangeCause::Upstream, Audience::Everyone, period).await?;
                }
            }
            Ok(Json(upstream.into()))
        })
    })
    .await
}

pub async fn delete(ctx: RequestCtx, Path(id): Path<UpstreamId>) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("upstream_id", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            lock(tx, *id).await?.ok_or_else(Problem::not_found)?;
            if store::is_in_use(tx, *id).await? {
                let detail = "Rates, numbers or statements of this upstream were imported, and past charges refer to \
                              them; disable it instead.";
                return Err(Problem::resource_in_use(detail));
            }
            upstreams::bump_version(tx).await?;
            tariff::delete_terms(tx, *id).await?;
            store::delete(tx, *id).await?;
            Ok(NoContent)
        })
    })
    .await
}
