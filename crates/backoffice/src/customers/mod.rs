//! Customers as the team sees them: found, looked at, suspended and reinstated, and given to somebody.
//!
//! What the team says of a customer's status is only whether it is suspended; everything else follows from documents and
//! payments, and is the business of `onboarding`. A suspension counts from its commit on: what a customer may do and
//! which calls may begin is asked of the database each time, and calls that go on hear of it when a switch next speaks
//! of them.
//!
//! - `/admin/customers`, `/admin/onboarding` · `search`: by whatever is at hand

mod search;
mod store;
mod types;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::account_managers::{self, AccountManagerId};
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use billing::vat;
use db::Conn;
use identity::accounts::{self, OnboardingStatus};
use identity::balance::CURRENCY;
use identity::notifications::{AccountReinstated, AccountSuspended, notify};
use identity::onboarding::{self, Event};
use platform::ledger;
use platform::letters::{self, Addressee};
use store::{CustomerRow, Wanted};
use types::{AdminCustomer, AdminCustomerUpdate};
use values::{AccountId, Change, Text, Time};

/// How many days of spend are shown.
const SPEND_DAYS: i64 = 30;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Search text: id of an account or user, email, number, IP address or network, or the beginnings of words of a name.
    #[serde(default)]
    q: Option<Text<1, 100>>,
    /// Return customers in this onboarding status only.
    #[serde(default)]
    onboarding_status: Option<OnboardingStatus>,
    /// Return customers of this account manager only.
    #[serde(default)]
    account_manager_id: Option<AccountManagerId>,
}

/// The newest customers first.
pub async fn list(mut ctx: ReadCtx, listing: Listing<Filters, AccountId>) -> Result<Page<AdminCustomer>, Problem> {
    let Filters { q, onboarding_status: status, account_manager_id: manager } = &listing.filters;
    let below = listing.after.unwrap_or(AccountId::new(Uuid::max()));
    let wanted = Wanted { status: *status, manager: *manager, below, limit: listing.fetch() };
    let rows = match q {
        Some(q) => search::search(&mut ctx, q, &wanted).await?,
        None => store::list(&mut ctx, &wanted).await?,
    };
    page(&mut ctx, listing, rows).await
}

/// Everybody whose business is still to be verified, the newest first.
pub async fn list_unapproved(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, AccountId>,
) -> Result<Page<AdminCustomer>, Problem> {
    let below = listing.after.unwrap_or(AccountId::new(Uuid::max()));
    let rows = store::unapproved(&mut ctx, below, listing.fetch()).await?;
    page(&mut ctx, listing, rows).await
}

async fn page<F>(
    ctx: &mut ReadCtx,
    listing: Listing<F, AccountId>,
    rows: Vec<CustomerRow>,
) -> Result<Page<AdminCustomer>, Problem> {
    let now = ctx.request.now;
    let mut shown = Vec::with_capacity(rows.len());
    for row in rows {
        shown.push((row.id, seen(ctx, row, now).await?));
    }
    listing.page(shown, |(id, _)| *id, |(_, customer)| customer)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<AccountId>) -> Result<Json<AdminCustomer>, Problem> {
    let now = ctx.request.now;
    Ok(Json(view(&mut ctx, id, now).await?))
}

/// The customer of this id. The carrier's own account is none.
pub async fn find(conn: &mut Conn, id: AccountId) -> Result<CustomerRow, Problem> {
    store::find(conn, id).await?.ok_or_else(Problem::not_found)
}

async fn view(conn: &mut Conn, id: AccountId, now: Time) -> Result<AdminCustomer, Problem> {
    let row = find(conn, id).await?;
    seen(conn, row, now).await
}

async fn seen(conn: &mut Conn, row: CustomerRow, now: Time) -> Result<AdminCustomer, Problem> {
    let spend = ledger::spend(conn, row.id, CURRENCY, SPEND_DAYS, now).await?;
    Ok(AdminCustomer::new(row, spend))
}

pub async fn change(
    ctx: RequestCtx,
    Path(id): Path<AccountId>,
    Body(wanted): Body<AdminCustomerUpdate>,
) -> Result<Committed<Json<AdminCustomer>>, Problem> {
    if wanted.reason.is_some() && wanted.onboarding_status != Change::Set(OnboardingStatus::Suspended) {
        return Err(Problem::invalid("reason", "is told to whoever is suspended, and needs that onboarding_status"));
    }
    ctx.about(id);
    ctx.commit((id, wanted), |tx, (id, wanted)| Box::pin(apply(tx, *id, wanted))).await
}

async fn apply(tx: &mut Tx<'_>, id: AccountId, wanted: &AdminCustomerUpdate) -> Result<Json<AdminCustomer>, Problem> {
    let (call, now) = (tx.ctx, tx.ctx.now);
    accounts::lock(tx, id).await?;
    onboarding::lock(tx, id).await?;
    let before = find(tx, id).await?;
    let shown = seen(tx, before.clone(), now).await?;
    tx.expect_version(&shown)?;
    if let Change::Set(manager) = wanted.account_manager_id {
        assign(tx, id, manager).await?;
    }
    vat::rule(tx, &call.app, id, wanted.ruling(), now).await?;
    if let Change::Set(status) = wanted.onboarding_status {
        move_to(tx, &before, status, wanted.reason.as_deref()).await?;
    }
    let after = find(tx, id).await?;
    call.note_changes(facts(&before), facts(&after));
    Ok(Json(seen(tx, after, now).await?))
}

async fn assign(tx: &mut Tx<'_>, id: AccountId, manager: Option<AccountManagerId>) -> Result<(), Problem> {
    let now = tx.ctx.now;
    if let Some(manager) = manager
        && !account_managers::is_active(tx, manager).await?
    {
        return Err(Problem::invalid("account_manager_id", "must be an active account manager"));
    }
    Ok(accounts::assign_manager(tx, id, manager.map(AccountManagerId::uuid), now).await?)
}

/// Suspends or reinstates, and tells the customer.
async fn move_to(
    tx: &mut Tx<'_>,
    before: &CustomerRow,
    status: OnboardingStatus,
    reason: Option<&str>,
) -> Result<(), Problem> {
    let Some(event) = event(before, status)? else { return same_reason(before, reason) };
    let (app, now, id) = (tx.ctx.app.clone(), tx.ctx.now, before.id);
    onboarding::happened(tx, id, event, now).await?;
    onboarding::set_suspension_reason(tx, id, reason).await?;
    let contact = accounts::contact(tx, id).await?.ok_or_else(Problem::not_found)?;
    let to = Addressee::new(&contact.contact_email, &contact.contact_name);
    let reason = reason.map(str::to_owned);
    if event == Event::Suspended {
        notify(tx, app.entropy, id, &AccountSuspended { reason: reason.clone() }, now).await?;
        letters::send(tx, &app, &to, &letters::AccountSuspended { note: reason }, now).await?;
    } else {
        notify(tx, app.entropy, id, &AccountReinstated { onboarding_status: status }, now).await?;
        letters::send(tx, &app, &to, &letters::AccountReinstated {}, now).await?;
        // A balance that fell meanwhile may refill itself again.
        ledger::enqueue_balance_check(tx, app.entropy, id, CURRENCY, now).await?;
    }
    Ok(())
}

/// Refuses another reason than the one the customer was told.
fn same_reason(before: &CustomerRow, reason: Option<&str>) -> Result<(), Problem> {
    match reason {
        Some(_) if reason != before.suspension_reason.as_deref() => Err(Problem::state_conflict(
            "The account is suspended already, and was told why; reinstate it before you suspend it for another reason.",
        )),
        _ => Ok(()),
    }
}

/// What has to happen for the customer to get there; nothing if it is there.
fn event(before: &CustomerRow, wanted: OnboardingStatus) -> Result<Option<Event>, Problem> {
    let current = before.onboarding_status;
    match before.suspended_from {
        _ if wanted == current => Ok(None),
        None if wanted == OnboardingStatus::Suspended => Ok(Some(Event::Suspended)),
        Some(earlier) if wanted == earlier => Ok(Some(Event::Reinstated)),
        None => {
            Err(Problem::state_conflict(format!("The account is {current}; from there it can only be made suspended.")))
        }
        Some(earlier) => Err(Problem::state_conflict(format!(
            "The account is {current}; from there it can only be made {earlier}, which it was before."
        ))),
    }
}

/// What the audit log tells of a change.
fn facts(row: &CustomerRow) -> [(&'static str, Value); 6] {
    [
        ("onboarding_status", json!(row.onboarding_status)),
        ("suspension_reason", json!(row.suspension_reason)),
        ("account_manager_id", json!(row.account_manager_id)),
        ("vat_status", json!(row.vat_status)),
        ("vat_treatment", json!(row.vat_treatment)),
        ("telecom_reseller", json!(row.telecom_reseller)),
    ]
}
