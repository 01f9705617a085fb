//! Trunks: where a customer's calls come in and go out.
//!
//! An account's first trunk is its default, and from then on it has exactly one: the one that numbers are ordered on
//! unless another is named. Changes of an account's trunks wait for each other. Only an approved account changes
//! anything; every account may look.
//!
//! - `allow_list`: `/trunks/{id}/ip-allow-list`, the networks that a trunk's calls come from

mod allow_list;
mod store;
mod types;

pub use allow_list::{create as allow, list as list_allowed, remove as disallow};

use uuid::Uuid;

use crate::rented;
use api::answer::{Created, Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::{accounts, onboarding};
use platform::config::Settings;
use platform::routing::allow_lists;
use store::TrunkRow;
use types::{Trunk, TrunkCreate, TrunkUpdate};
use values::{AccountId, Change, Time, TrunkId};
use voice::concurrency;

/// How many trunks an account may have.
const AT_MOST: i64 = 100;

pub async fn list(mut ctx: ReadCtx, listing: Listing<Unfiltered, (i64, TrunkId)>) -> Result<Page<Trunk>, Problem> {
    let account = ctx.principal()?.account_id;
    let (at, id) = listing.after.unwrap_or((i64::MAX, TrunkId::new(Uuid::max())));
    let rows = store::list(&mut ctx, account, (Time::from_millis(at), id), listing.fetch()).await?;
    let settings = &ctx.request.app.settings;
    listing.page(rows, |row| (row.created_at.millis(), row.id), |row| Trunk::new(row, settings))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<TrunkId>) -> Result<Json<Trunk>, Problem> {
    let account = ctx.principal()?.account_id;
    let trunk = store::find(&mut ctx, account, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(Trunk::new(trunk, &ctx.request.app.settings)))
}

pub async fn create(ctx: RequestCtx, Body(wanted): Body<TrunkCreate>) -> Result<Committed<Created<Trunk>>, Problem> {
    known_zone(&ctx.app.settings, &wanted.zone)?;
    let id = TrunkId::new(ctx.app.entropy.uuid(ctx.now));
    let new = wanted.into_row(id, ctx.principal()?.account_id, ctx.now);
    ctx.audit_note("trunk_id", new.id.to_string());
    ctx.commit(new, |tx, new| Box::pin(add(tx, new))).await
}

async fn add(tx: &mut Tx<'_>, new: &TrunkRow) -> Result<Created<Trunk>, Problem> {
    hold(tx, new.account_id).await?;
    let count = store::count(tx, new.account_id).await?;
    if count >= AT_MOST {
        return Err(Problem::state_conflict(format!("The account has {AT_MOST} trunks, which is the limit.")));
    }
    let trunk = TrunkRow { is_default: new.is_default || count == 0, ..new.clone() };
    if trunk.is_default {
        store::unset_default(tx, trunk.account_id, trunk.created_at).await?;
    }
    tx.insert(&trunk).await?;
    Ok(Created(Trunk::new(trunk, &tx.ctx.app.settings)))
}

pub async fn change(
    ctx: RequestCtx,
    Path(id): Path<TrunkId>,
    Body(wanted): Body<TrunkUpdate>,
) -> Result<Committed<Json<Trunk>>, Problem> {
    if let Change::Set(zone) = &wanted.zone {
        known_zone(&ctx.app.settings, zone)?;
    }
    ctx.audit_note("trunk_id", id.to_string());
    ctx.commit((id, wanted), |tx, (id, wanted)| Box::pin(rewrite(tx, *id, wanted))).await
}

async fn rewrite(tx: &mut Tx<'_>, id: TrunkId, wanted: &TrunkUpdate) -> Result<Json<Trunk>, Problem> {
    let (ctx, now) = (tx.ctx, tx.ctx.now);
    let before = own(tx, id).await?;
    tx.expect_version(&Trunk::new(before.clone(), &ctx.app.settings))?;
    let mut trunk = before.clone();
    wanted.clone().apply(&mut trunk);
    match (before.is_default, trunk.is_default) {
        (true, false) => {
            return Err(Problem::state_conflict("This trunk is the default. Make another trunk the default instead."));
        }
        (false, true) => store::unset_default(tx, trunk.account_id, now).await?,
        _ => {}
    }
    trunk.updated_at = now;
    tx.update(&trunk).await?;
    Ok(Json(Trunk::new(trunk, &ctx.app.settings)))
}

pub async fn remove(ctx: RequestCtx, Path(id): Path<TrunkId>) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("trunk_id", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let trunk = own(tx, *id).await?;
            if let Some(need) = in_use(tx, &trunk).await? {
                return Err(Problem::resource_in_use(need));
            }
            let now = tx.ctx.now;
            allow_lists::bump_version(tx, now).await?;
            allow_list::forget(tx, trunk.id).await?;
            store::remove(tx, trunk.id).await?;
            Ok(NoContent)
        })
    })
    .await
}

/// What a trunk is still needed for, if for anything.
async fn in_use(conn: &mut Conn, trunk: &TrunkRow) -> Result<Option<&'static str>, DbError> {
    if trunk.is_default && store::count(conn, trunk.account_id).await? > 1 {
        return Ok(Some("This trunk is the default. Make another trunk the default first."));
    }
    if rented::is_on_trunk(conn, trunk.id).await? {
        return Ok(Some("The trunk still has numbers or open number orders. Move or release them first."));
    }
    if concurrency::channels_in_use(conn, trunk.id).await? > 0 {
        return Ok(Some("The trunk has live calls. Wait until they end."));
    }
    Ok(None)
}

fn known_zone(settings: &Settings, name: &str) -> Result<(), Problem> {
    if settings.zone(name).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = settings.zones.iter().map(|zone| zone.name.as_str()).collect();
    Err(Problem::invalid("zone", format!("must be one of {}", known.join(", "))))
}

/// Makes changes of one account's trunks wait for each other, and refuses them unless the account is approved.
async fn hold(conn: &mut Conn, account: AccountId) -> Result<(), Problem> {
    onboarding::require_approved(conn, account).await?;
    Ok(accounts::lock(conn, account).await?)
}

/// The caller's trunk, held until the commit together with its others.
async fn own(tx: &mut Tx<'_>, id: TrunkId) -> Result<TrunkRow, Problem> {
    let account = tx.ctx.principal()?.account_id;
    hold(tx, account).await?;
    store::find(tx, account, id).await?.ok_or_else(Problem::not_found)
}
