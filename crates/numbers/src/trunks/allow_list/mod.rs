//! IP allow-lists: the source networks of a trunk's calls.
//!
//! A network of an edge or an upstream is refused: the calls from there would count as the customer's. An address
//! identifies one trunk, so a network that overlaps another entry of the account is refused. One that another customer
//! has listed is accepted like any other, so that nobody learns of it: whoever proves it first has it (`proof`).
//! `rules` decides which networks may be listed at all.

mod proof;
mod rules;
mod store;
mod types;

pub use proof::{ProofRequest, Verdict, prove, verify};
pub use store::{EntryRow, delete as delete_row, delete_of_trunk, find, list as list_rows};
pub use types::IpAllowEntry;

use super::find_locked;
use super::store::find as find_trunk;
use api::answer::{Created, NoContent};
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::faults::Faults;
use api::input::{Body, Path, PathPair};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use data_encoding::BASE32_NOPAD;
use db::Entropy;
use platform::routing::allow_lists::{self, AllowListEntry};
use platform::routing::reserved::{self, Reserved, Resolved};
use platform::routing::upstreams;
use types::IpAllowCreate;
use values::{Cidr, IpAllowEntryId, TrunkId};

/// Maximum number of entries of a trunk.
pub const MAX_ENTRIES: i64 = 60;

/// Random bytes of the password that a network is proved with.
const CODE_BYTES: usize = 15;

pub async fn list(
    mut ctx: ReadCtx,
    Path(trunk): Path<TrunkId>,
    listing: Listing<Unfiltered, NewestFirst<IpAllowEntryId>>,
) -> Result<Page<IpAllowEntry>, Problem> {
    let account = ctx.principal()?.account_id;
    let trunk = find_trunk(&mut ctx, account, trunk).await?.ok_or_else(Problem::not_found)?;
    let rows = store::list(&mut ctx, trunk.id, listing.before(), listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), IpAllowEntry::from)
}

pub async fn create(
    ctx: RequestCtx,
    Path(trunk_id): Path<TrunkId>,
    Body(Checked(IpAllowCreate { cidr, note })): Body<Checked<IpAllowCreate>>,
) -> Result<Committed<Created<IpAllowEntry>>, Problem> {
    let new = EntryRow {
        id: ctx.new_id(),
        trunk_id,
        account_id: ctx.principal()?.account_id,
        cidr,
        note,
        code: BASE32_NOPAD.encode(&Entropy.bytes::<CODE_BYTES>()).to_lowercase(),
        verified_at: None,
        created_at: ctx.now,
    };
    ctx.audit_note("trunk_id", trunk_id.to_string());
    ctx.audit_note("entry_id", new.id.to_string());
    ctx.audit_note("cidr", cidr.to_string());
    let gateways = ctx.app.gateways.current(&ctx.app.db).await?;
    let resolved = reserved::resolve(&ctx.app.settings, &ctx.app.hosts, gateways.all(), ctx.now).await;
    ctx.commit((new, resolved), |tx, (new, resolved)| Box::pin(insert(tx, new, resolved))).await
}

async fn insert(tx: &mut Tx<'_>, new: &EntryRow, resolved: &Resolved) -> Result<Created<IpAllowEntry>, Problem> {
    find_locked(tx, new.trunk_id).await?;
    allow_lists::bump_version(tx).await?;
    refuse_reserved(tx, new.cidr, resolved).await?;
    if let Some(AllowListEntry { id, trunk_id, cidr, .. }) =
        allow_lists::overlap_of(tx, new.cidr, new.account_id).await?
    {
        return Err(Problem::state_conflict(format!("The network overlaps {cidr}, entry {id} of trunk {trunk_id}.")));
    }
    if store::count(tx, new.trunk_id).await? >= MAX_ENTRIES {
        return Err(Problem::state_conflict(format!(
            "The trunk has {MAX_ENTRIES} allow-list entries, which is the limit."
        )));
    }
    store::insert(tx, new).await?;
    Ok(Created(new.clone().into()))
}

/// Refuses the network of an edge or an upstream. Upstreams are locked, so that none gets the network meanwhile.
async fn refuse_reserved(tx: &mut Tx<'_>, cidr: Cidr, resolved: &Resolved) -> Result<(), Problem> {
    upstreams::lock_version(tx).await?;
    let upstreams = upstreams::load(tx).await?;
    let reserved = Reserved::new(&tx.ctx.app.settings, &upstreams, resolved);
    let mut faults = Faults::default();
    faults.unless(reserved.overlap(cidr).is_none(), "cidr", rules::RESERVED);
    faults.into_result()
}

pub async fn delete(
    ctx: RequestCtx,
    PathPair(trunk, entry): PathPair<TrunkId, IpAllowEntryId>,
) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("trunk_id", trunk.to_string());
    ctx.audit_note("entry_id", entry.to_string());
    ctx.commit((trunk, entry), |tx, (trunk, entry)| {
        Box::pin(async move {
            let trunk = find_locked(tx, *trunk).await?;
            allow_lists::bump_version(tx).await?;
            let is_proof_required = tx.ctx.app.settings.allow_list_proof;
            let deleted = store::delete(tx, trunk.id, *entry, is_proof_required).await?;
            let deleted = deleted.ok_or_else(Problem::not_found)?;
            tx.ctx.audit_note("cidr", deleted.to_string());
            Ok(NoContent)
        })
    })
    .await
}
