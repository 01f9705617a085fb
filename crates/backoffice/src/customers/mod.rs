//! Customers as the team sees them: list, search, suspend, reinstate, assign an account manager, VAT decisions.
//!
//! The only statuses that the team sets are suspended and back; the others follow from documents and payments, in
//! `onboarding`. A suspension takes effect with its commit: every request and every call authorization reads the status
//! from the database, and live calls end when a switch next reports them.
//!
//! - `/admin/customers`, `/admin/onboarding` · `search`: by id, number, IP address, email or name

mod search;
mod store;
mod types;

pub use search::{network, prefix_ranges};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::account_managers::{self, AccountManagerId};
use api::answer::VolatileJson;
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::faults::Faults;
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
use platform::mail::{self, Recipient};
use store::{CustomerFilter, CustomerRow, CustomerWithSpend, SpendDays};
use types::{AdminCustomer, AdminCustomerUpdate};
use values::{AccountId, Change, Money, Text};

/// UTC days of `monthly_spend_30d`, today included.
const SPEND_DAYS: i64 = 30;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Search text: id of an account or user, email, number, IP address or network, or the beginnings of words of a
    /// name.
    #[serde(default)]
    q: Option<Text<1, 100>>,
    /// Return customers in this onboarding status only.
    #[serde(default)]
    onboarding_status: Option<OnboardingStatus>,
    /// Return customers of this account manager only.
    #[serde(default)]
    account_manager_id: Option<AccountManagerId>,
}

/// Newest first.
pub async fn list(mut ctx: ReadCtx, listing: Listing<Filters, AccountId>) -> Result<Page<AdminCustomer>, Problem> {
    let Filters { q, onboarding_status: status, account_manager_id: manager } = &listing.filters;
    let below = listing.after.unwrap_or(AccountId::new(Uuid::max()));
    let spend = SpendDays::until(ctx.request.now, SPEND_DAYS);
    let filter = CustomerFilter { status: *status, manager: *manager, below, limit: listing.fetch(), spend };
    let rows = match q {
        Some(q) => search::search(&mut ctx, q, &filter).await?,
        None => store::list(&mut ctx, &filter).await?,
    };
    page(listing, rows)
}

/// Customers whose KYB is not approved yet, newest first.
pub async fn list_unapproved(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, AccountId>,
) -> Result<Page<AdminCustomer>, Problem> {
    let below = listing.after.unwrap_or(AccountId::new(Uuid::max()));
    let spend = SpendDays::until(ctx.request.now, SPEND_DAYS);
    let rows = store::unapproved(&mut ctx, below, listing.fetch(), spend).await?;
    page(listing, rows)
}

fn page<F>(listing: Listing<F, AccountId>, rows: Vec<CustomerWithSpend>) -> Result<Page<AdminCustomer>, Problem> {
    let customer = |row: CustomerWithSpend| AdminCustomer::new(row.customer, Money::from_nanos(row.spend, CURRENCY));
    listing.page(rows, |row| row.customer.id, customer)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<AccountId>) -> Result<VolatileJson<AdminCustomer>, Problem> {
    Ok(VolatileJson(view(&mut ctx, id).await?))
}

/// The customer; the operator's own account is not found.
pub async fn find(conn: &mut Conn, id: AccountId) -> Result<CustomerRow, Problem> {
    store::find(conn, id).await?.ok_or_else(Problem::not_found)
}

async fn view(conn: &mut Conn, id: AccountId) -> Result<AdminCustomer, Problem> {
    let row = find(conn, id).await?;
    with_spend(conn, row).await
}

async fn with_spend(conn: &mut Conn, row: CustomerRow) -> Result<AdminCustomer, Problem> {
    let spend = ledger::spend(conn, row.id, CURRENCY, SPEND_DAYS).await?;
    Ok(AdminCustomer::new(row, spend))
}

pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<AccountId>,
    Body(Checked(request)): Body<Checked<AdminCustomerUpdate>>,
) -> Result<Committed<VolatileJson<AdminCustomer>>, Problem> {
    ctx.audit_account(id);
    ctx.commit((id, request), |tx, (id, request)| Box::pin(apply(tx, *id, request))).await
}

async fn apply(
    tx: &mut Tx<'_>,
    id: AccountId,
    request: &AdminCustomerUpdate,
) -> Result<VolatileJson<AdminCustomer>, Problem> {
    let ctx = tx.ctx;
    accounts::lock(tx, id).await?;
    onboarding::lock(tx, id).await?;
    let before = find(tx, id).await?;
    let current = with_spend(tx, before.clone()).await?;
    tx.expect_stable_version(&current)?;
    if let Change::Set(manager) = request.account_manager_id {
        assign_manager(tx, id, manager).await?;
    }
    vat::rule(tx, id, request.ruling()).await?;
    if let Change::Set(status) = request.onboarding_status {
        set_status(tx, &before, status, request.reason.as_deref()).await?;
    }
    let after = find(tx, id).await?;
    ctx.audit_changes(audited_fields(&before), audited_fields(&after));
    Ok(VolatileJson(with_spend(tx, after).await?))
}

async fn assign_manager(tx: &mut Tx<'_>, id: AccountId, manager: Option<AccountManagerId>) -> Result<(), Problem> {
    if let Some(manager) = manager {
        let mut faults = Faults::default();
        let is_active = account_managers::is_active(tx, manager).await?;
        faults.unless(is_active, "account_manager_id", "must be an active account manager");
        faults.into_result()?;
    }
    Ok(accounts::assign_manager(tx, id, manager.map(AccountManagerId::uuid)).await?)
}

/// Suspends or reinstates, and notifies the customer.
async fn set_status(
    tx: &mut Tx<'_>,
    before: &CustomerRow,
    status: OnboardingStatus,
    reason: Option<&str>,
) -> Result<(), Problem> {
    let Some(event) = event_for(before, status)? else { return check_same_reason(before, reason) };
    let (app, id) = (tx.ctx.app.clone(), before.id);
    onboarding::apply_event(tx, id, event).await?;
    onboarding::set_suspension_reason(tx, id, reason).await?;
    let contact = accounts::contact(tx, id).await?.ok_or_else(Problem::not_found)?;
    let to = Recipient::new(&contact.contact_email, &contact.contact_name);
    let reason = reason.map(str::to_owned);
    if event == Event::Suspended {
        notify(tx, id, &AccountSuspended { reason: reason.clone() }).await?;
        mail::send(tx, &app, &to, &mail::AccountSuspended { note: reason }).await?;
    } else {
        notify(tx, id, &AccountReinstated { onboarding_status: status }).await?;
        mail::send(tx, &app, &to, &mail::AccountReinstated {}).await?;
        // The balance may have fallen meanwhile, and auto-recharge is possible again.
        ledger::enqueue_balance_check(tx, id, CURRENCY).await?;
    }
    Ok(())
}

/// The reason of a suspension cannot be changed, because the customer was told.
fn check_same_reason(before: &CustomerRow, reason: Option<&str>) -> Result<(), Problem> {
    match reason {
        Some(_) if reason != before.suspension_reason.as_deref() => {
            Err(Problem::state_conflict("The account is already suspended for another reason. Reinstate it first."))
        }
        _ => Ok(()),
    }
}

/// The event that leads to the requested status; none if the customer has it.
fn event_for(before: &CustomerRow, requested: OnboardingStatus) -> Result<Option<Event>, Problem> {
    let current = before.onboarding_status;
    match before.suspended_from {
        _ if requested == current => Ok(None),
        None if requested == OnboardingStatus::Suspended => Ok(Some(Event::Suspended)),
        Some(earlier) if requested == earlier => Ok(Some(Event::Reinstated)),
        None => Err(Problem::state_conflict(format!("The account is {current}; it can only be set to suspended."))),
        Some(earlier) => Err(Problem::state_conflict(format!(
            "The account is {current}; it can only be set to {earlier}, its status before."
        ))),
    }
}

/// Fields whose changes go to the audit log.
fn audited_fields(row: &CustomerRow) -> [(&'static str, Value); 6] {
    [
        ("onboarding_status", json!(row.onboarding_status)),
        ("suspension_reason", json!(row.suspension_reason)),
        ("account_manager_id", json!(row.account_manager_id)),
        ("vat_status", json!(row.vat_status)),
        ("vat_treatment", json!(row.vat_treatment)),
        ("telecom_reseller", json!(row.telecom_reseller)),
    ]
}
