//! SIP trunks of an account.
//!
//! An account's first trunk is its default, and from then on it has exactly one: numbers are ordered on it unless the
//! order names another. Every change locks the account, so that two of them cannot both set the default, and requires an
//! approved account; reads are always allowed.
//!
//! - `allow_list`: `/trunks/{id}/ip-allow-list`, the source networks of a trunk's calls · `target`: hosts that calls to
//!   its numbers may go to · `admin`: what the team sees and allows

mod admin;
mod allow_list;
mod store;
mod target;
mod types;

pub use admin::{delete_entry as delete_any_entry, list as list_all, set_inbound_host, show as show_any, vouch};
pub use allow_list::{ProofRequest, create as create_entry, delete as delete_entry, list as list_entries, prove};

use crate::rented;
use api::answer::{Created, Json, NoContent};
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::faults::Faults;
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::events::{self, EventType};
use identity::{accounts, onboarding};
use platform::routing::allow_lists;
use store::TrunkRow;
pub use types::Trunk;
use types::{TrunkCreate, TrunkUpdate};
use values::{AccountId, SipUri, TrunkId};
use voice::concurrency;

/// Maximum number of trunks of an account.
const MAX_TRUNKS: i64 = 100;

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<TrunkId>>,
) -> Result<Page<Trunk>, Problem> {
    let account = ctx.principal()?.account_id;
    page_of(&mut ctx, account, listing).await
}

/// The same for the team, of any customer.
pub async fn list_of_customer(
    mut ctx: ReadCtx,
    Path(customer): Path<AccountId>,
    listing: Listing<Unfiltered, NewestFirst<TrunkId>>,
) -> Result<Page<Trunk>, Problem> {
    onboarding::require_customer(&mut ctx, customer).await?;
    page_of(&mut ctx, customer, listing).await
}

async fn page_of(
    ctx: &mut ReadCtx,
    account: AccountId,
    listing: Listing<Unfiltered, NewestFirst<TrunkId>>,
) -> Result<Page<Trunk>, Problem> {
    let rows = store::list(ctx, account, listing.before(), listing.fetch()).await?;
    let settings = &ctx.request.app.settings;
    listing.page(rows, |row| (row.created_at, row.id), |row| Trunk::new(row, settings))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<TrunkId>) -> Result<Json<Trunk>, Problem> {
    let account = ctx.principal()?.account_id;
    let trunk = store::find(&mut ctx, account, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(Trunk::new(trunk, &ctx.request.app.settings)))
}

pub async fn create(
    ctx: RequestCtx,
    Body(Checked(request)): Body<Checked<TrunkCreate>>,
) -> Result<Committed<Created<Trunk>>, Problem> {
    if request.inbound_uri.is_some() {
        ctx.require_recent_sign_in()?;
    }
    let id = ctx.new_id();
    let new = request.into_row(id, ctx.principal()?.account_id, ctx.now);
    ctx.audit_note("trunk_id", new.id.to_string());
    let is_target_reserved = is_reserved(&ctx, new.inbound_uri.as_ref()).await?;
    ctx.commit((new, is_target_reserved), |tx, (new, is_reserved)| Box::pin(insert(tx, new, *is_reserved))).await
}

async fn insert(tx: &mut Tx<'_>, new: &TrunkRow, is_target_reserved: bool) -> Result<Created<Trunk>, Problem> {
    lock(tx, new.account_id).await?;
    refuse_target(is_target_reserved)?;
    let count = store::count(tx, new.account_id).await?;
    if count >= MAX_TRUNKS {
        return Err(Problem::state_conflict(format!("The account has {MAX_TRUNKS} trunks, which is the limit.")));
    }
    let trunk = TrunkRow { is_default: new.is_default || count == 0, ..new.clone() };
    if trunk.is_default {
        unset_default(tx, trunk.account_id).await?;
    }
    tx.insert(&trunk).await?;
    let account = trunk.account_id;
    let shown = Trunk::new(trunk, &tx.ctx.app.settings);
    events::record(tx, account, EventType::TrunkCreated, &shown).await?;
    Ok(Created(shown))
}

/// Another trunk becomes the default: tells of the one that was.
async fn unset_default(tx: &mut Tx<'_>, account: AccountId) -> Result<(), Problem> {
    if let Some(former) = store::unset_default(tx, account).await? {
        let shown = Trunk::new(former, &tx.ctx.app.settings);
        events::record(tx, account, EventType::TrunkUpdated, &shown).await?;
    }
    Ok(())
}

pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<TrunkId>,
    Body(Checked(changes)): Body<Checked<TrunkUpdate>>,
) -> Result<Committed<Json<Trunk>>, Problem> {
    ctx.audit_note("trunk_id", id.to_string());
    let is_target_reserved = is_reserved(&ctx, changes.inbound_uri().as_ref()).await?;
    ctx.commit((id, changes, is_target_reserved), |tx, (id, changes, is_reserved)| {
        Box::pin(apply(tx, *id, changes, *is_reserved))
    })
    .await
}

async fn apply(
    tx: &mut Tx<'_>,
    id: TrunkId,
    changes: &TrunkUpdate,
    is_target_reserved: bool,
) -> Result<Json<Trunk>, Problem> {
    let (ctx, now) = (tx.ctx, tx.ctx.now);
    let before = find_locked(tx, id).await?;
    tx.expect_version(&Trunk::new(before.clone(), &ctx.app.settings))?;
    refuse_target(is_target_reserved)?;
    let mut trunk = before.clone();
    changes.clone().apply(&mut trunk);
    if trunk.inbound_uri != before.inbound_uri {
        ctx.require_recent_sign_in()?;
    }
    match (before.is_default, trunk.is_default) {
        (true, false) => {
            return Err(Problem::state_conflict("This trunk is the default. Make another trunk the default instead."));
        }
        (false, true) => unset_default(tx, trunk.account_id).await?,
        _ => {}
    }
    trunk.updated_at = now;
    tx.update(&trunk).await?;
    let account = trunk.account_id;
    let shown = Trunk::new(trunk, &ctx.app.settings);
    events::record(tx, account, EventType::TrunkUpdated, &shown).await?;
    Ok(Json(shown))
}

/// Whether an `inbound_uri` points to an edge or an upstream. Names are resolved, so before the transaction.
async fn is_reserved(ctx: &RequestCtx, uri: Option<&SipUri>) -> Result<bool, Problem> {
    let Some(uri) = uri else { return Ok(false) };
    Ok(target::reserved_addresses(&ctx.app, ctx.now).await?.has_host(uri))
}

fn refuse_target(is_reserved: bool) -> Result<(), Problem> {
    let mut faults = Faults::default();
    faults.unless(!is_reserved, "inbound_uri", target::RESERVED);
    faults.into_result()
}

pub async fn delete(ctx: RequestCtx, Path(id): Path<TrunkId>) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("trunk_id", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let trunk = find_locked(tx, *id).await?;
            if let Some(reason) = in_use(tx, &trunk).await? {
                return Err(Problem::resource_in_use(reason));
            }
            allow_lists::bump_version(tx).await?;
            let is_proof_required = tx.ctx.app.settings.allow_list_proof;
            allow_list::delete_of_trunk(tx, trunk.id, is_proof_required).await?;
            store::delete(tx, trunk.id).await?;
            let account = trunk.account_id;
            let shown = Trunk::new(trunk, &tx.ctx.app.settings);
            events::record(tx, account, EventType::TrunkDeleted, &shown).await?;
            Ok(NoContent)
        })
    })
    .await
}

/// Why a trunk cannot be deleted yet.
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

/// Locks the account for a change of its trunks; only an approved account may change any.
async fn lock(conn: &mut Conn, account: AccountId) -> Result<(), Problem> {
    onboarding::require_approved(conn, account).await?;
    Ok(accounts::lock(conn, account).await?)
}

/// The caller's trunk, locked with its account until the commit.
async fn find_locked(tx: &mut Tx<'_>, id: TrunkId) -> Result<TrunkRow, Problem> {
    let account = tx.ctx.principal()?.account_id;
    lock(tx, account).await?;
    let trunk = store::lock(tx, id).await?.filter(|trunk| trunk.account_id == account);
    trunk.ok_or_else(Problem::not_found)
}
