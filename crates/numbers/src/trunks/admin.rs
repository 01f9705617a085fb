//! `/admin/trunks`: customers' trunks as the team sees them, the inbound hosts that it allows and the networks that it
//! vouches for or deletes.
//!
//! Inbound calls go to addresses on the trunk's allow-list. Another host needs the team's permission, which is for that
//! host and not for the trunk: it does not count for a host that the customer enters later.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::allow_list::{self, EntryRow, Verdict};
use super::store::{self, TrunkRow};
use super::types::Trunk;
use api::answer::{Json, NoContent};
use api::checks::{Checked, Checks, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path, PathPair};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use identity::accounts;
use identity::events::{self, EventType};
use identity::names::Names;
use identity::notifications::{AllowListEntryRemoved, notify};
use platform::mail::{self, Recipient};
use platform::routing::allow_lists;
use platform::routing::reserved::{self, Resolved};
use values::{AccountId, Cidr, IpAllowEntryId, Rfc3339, SipUri, Text, Time, TrunkId};

/// Filters of the list of trunks.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminTrunkFilters {
    /// Return trunks of this customer only.
    #[serde(default)]
    customer_id: Option<AccountId>,
}

/// A customer's trunk as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminTrunk {
    /// Id of the trunk.
    pub id: TrunkId,
    /// Id of the customer's account as a plain UUID, as in all lists of the team.
    pub customer_id: Uuid,
    /// Name of the customer; in lists only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_name: Option<String>,
    /// Name of the trunk, chosen by the account.
    pub name: Text<1, 200>,
    /// Zone of the switches that carry the calls of the trunk.
    pub zone: Text<1, 64>,
    /// SIP URI that receives the calls to the numbers of the trunk; null when none is set.
    pub inbound_uri: Option<SipUri>,
    /// Host outside the allow-list to which the team lets inbound calls go; null when there is none.
    pub allowed_inbound_host: Option<String>,
    /// When the trunk was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

impl From<TrunkRow> for AdminTrunk {
    fn from(row: TrunkRow) -> Self {
        AdminTrunk {
            id: row.id,
            customer_id: row.account_id.uuid(),
            customer_name: None,
            name: row.name,
            zone: row.zone,
            inbound_uri: row.inbound_uri,
            allowed_inbound_host: row.allowed_inbound_host,
            created_at: row.created_at.into(),
        }
    }
}

/// A customer's trunk with its allow-list.
#[derive(Serialize, JsonSchema)]
pub struct AdminTrunkDetails {
    /// The trunk.
    pub trunk: AdminTrunk,
    /// Networks that its calls may come from, newest first.
    pub allow_list: Vec<AdminAllowEntry>,
}

/// An allow-list entry as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminAllowEntry {
    /// Id of the allow-list entry.
    pub id: IpAllowEntryId,
    /// The network in CIDR form.
    pub cidr: Cidr,
    /// Note of the account about the network; null when there is none.
    pub note: Option<Text<0, 200>>,
    /// When the network was proved, or the team vouched for it (RFC 3339, UTC); null while it is pending.
    pub verified_at: Option<Rfc3339>,
    /// When the entry was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

impl From<EntryRow> for AdminAllowEntry {
    fn from(row: EntryRow) -> Self {
        let EntryRow { id, cidr, note, verified_at, created_at, .. } = row;
        AdminAllowEntry { id, cidr, note, verified_at: verified_at.map(Rfc3339), created_at: created_at.into() }
    }
}

/// The host outside the allow-list to which inbound calls of a trunk may go.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InboundHostSet {
    /// Host name or IP address, as in the trunk's `inbound_uri`; null withdraws the permission.
    #[schemars(example = "pbx.customer.example")]
    host: Option<Text<1, 253>>,
}

impl Checks for InboundHostSet {
    fn check(given: &Given<'_>) {
        given.check("host", |host: Text<1, 253>| {
            must(read_host(&host).is_some(), "must be a host name or an IP address")
        });
    }
}

/// The host in the form that it has in a SIP URI.
fn read_host(text: &str) -> Option<String> {
    let bracketed = if text.contains(':') { format!("[{}]", text.trim_matches(['[', ']'])) } else { text.to_owned() };
    let uri: SipUri = format!("sip:{bracketed}").parse().ok()?;
    let is_plain = !text.contains(['@', ';']);
    is_plain.then(|| uri.host().to_owned())
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<AdminTrunkFilters, NewestFirst<TrunkId>>,
) -> Result<Page<AdminTrunk>, Problem> {
    let rows = store::list_all(&mut ctx, listing.filters.customer_id, listing.before(), listing.fetch()).await?;
    let names = Names::of_customers(&mut ctx, rows.iter().map(|row| row.account_id)).await?;
    listing.page(
        rows,
        |row| (row.created_at, row.id),
        |row| AdminTrunk { customer_name: names.get(row.account_id.uuid()), ..row.into() },
    )
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<TrunkId>) -> Result<Json<AdminTrunkDetails>, Problem> {
    let trunk = store::find_any(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    let newest = (Time::from_millis(i64::MAX), IpAllowEntryId::new(Uuid::max()));
    let entries = allow_list::list_rows(&mut ctx, trunk.id, newest, allow_list::MAX_ENTRIES).await?;
    let allow_list = entries.into_iter().map(AdminAllowEntry::from).collect();
    Ok(Json(AdminTrunkDetails { trunk: trunk.into(), allow_list }))
}

/// Vouches for a network: it counts as if the customer had proved it.
pub async fn vouch(
    ctx: RequestCtx,
    PathPair(trunk, entry): PathPair<TrunkId, IpAllowEntryId>,
) -> Result<Committed<Json<AdminAllowEntry>>, Problem> {
    ctx.audit_note("trunk_id", trunk.to_string());
    ctx.audit_note("entry_id", entry.to_string());
    let gateways = ctx.app.gateways.current(&ctx.app.db).await?;
    let resolved = reserved::resolve(&ctx.app.settings, &ctx.app.hosts, gateways.all(), ctx.now).await;
    ctx.commit((trunk, entry, resolved), |tx, (trunk, entry, resolved)| {
        Box::pin(vouch_for(tx, *trunk, *entry, resolved))
    })
    .await
}

async fn vouch_for(
    tx: &mut Tx<'_>,
    trunk: TrunkId,
    entry: IpAllowEntryId,
    resolved: &Resolved,
) -> Result<Json<AdminAllowEntry>, Problem> {
    let ctx = tx.ctx;
    let found = allow_list::find(tx, entry).await?.filter(|entry| entry.trunk_id == trunk);
    let entry = found.ok_or_else(Problem::not_found)?;
    ctx.audit_account(entry.account_id);
    ctx.audit_note("cidr", entry.cidr.to_string());
    if entry.verified_at.is_some() {
        return Ok(Json(entry.into()));
    }
    match allow_list::verify(tx, &ctx.app, &entry, resolved).await? {
        Verdict::Verified(entry) => Ok(Json(entry.into())),
        Verdict::Reserved => Err(Problem::resource_in_use("The network overlaps an edge or an upstream.")),
        Verdict::Taken(taken) => Err(Problem::resource_in_use(format!(
            "The network overlaps {}, verified entry {} of trunk {} of customer {}.",
            taken.cidr,
            taken.id,
            taken.trunk_id,
            taken.account_id.uuid()
        ))),
    }
}

/// Deletes a network of a customer, such as one that has another owner by now.
pub async fn delete_entry(
    ctx: RequestCtx,
    PathPair(trunk, entry): PathPair<TrunkId, IpAllowEntryId>,
) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("trunk_id", trunk.to_string());
    ctx.audit_note("entry_id", entry.to_string());
    ctx.commit((trunk, entry), |tx, (trunk, entry)| Box::pin(remove(tx, *trunk, *entry))).await
}

async fn remove(tx: &mut Tx<'_>, trunk: TrunkId, entry: IpAllowEntryId) -> Result<NoContent, Problem> {
    let ctx = tx.ctx;
    let trunk = store::lock(tx, trunk).await?.ok_or_else(Problem::not_found)?;
    allow_lists::bump_version(tx).await?;
    let deleted = allow_list::delete_row(tx, trunk.id, entry, ctx.app.settings.allow_list_proof).await?;
    let cidr = deleted.ok_or_else(Problem::not_found)?.to_string();
    ctx.audit_account(trunk.account_id);
    ctx.audit_note("cidr", cidr.clone());
    tell_of_removal(tx, &trunk, cidr).await
}

async fn tell_of_removal(tx: &mut Tx<'_>, trunk: &TrunkRow, cidr: String) -> Result<NoContent, Problem> {
    let ctx = tx.ctx;
    let (trunk_id, trunk_name) = (trunk.id.uuid(), trunk.name.to_string());
    let removed = AllowListEntryRemoved { trunk_id, trunk_name: trunk_name.clone(), cidr: cidr.clone() };
    notify(tx, trunk.account_id, &removed).await?;
    if let Some(contact) = accounts::contact(tx, trunk.account_id).await? {
        let to = Recipient::new(&contact.contact_email, &contact.contact_name);
        mail::send(tx, &ctx.app, &to, &mail::NetworkRemoved { cidr, trunk: trunk_name }).await?;
    }
    Ok(NoContent)
}

pub async fn set_inbound_host(
    ctx: RequestCtx,
    Path(id): Path<TrunkId>,
    Body(Checked(InboundHostSet { host })): Body<Checked<InboundHostSet>>,
) -> Result<Committed<Json<AdminTrunk>>, Problem> {
    let host = host.as_deref().and_then(read_host);
    ctx.audit_note("trunk_id", id.to_string());
    ctx.audit_note("host", host.clone());
    ctx.commit((id, host), |tx, (id, host)| Box::pin(apply_host(tx, *id, host.clone()))).await
}

async fn apply_host(tx: &mut Tx<'_>, id: TrunkId, host: Option<String>) -> Result<Json<AdminTrunk>, Problem> {
    let before = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
    tx.ctx.audit_account(before.account_id);
    tx.expect_version(&AdminTrunk::from(before.clone()))?;
    let after = TrunkRow { allowed_inbound_host: host, updated_at: tx.ctx.now, ..before };
    tx.update(&after).await?;
    let shown = Trunk::new(after.clone(), &tx.ctx.app.settings);
    events::record(tx, after.account_id, EventType::TrunkUpdated, &shown).await?;
    Ok(Json(after.into()))
}
