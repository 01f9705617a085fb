//! Balance of an account: reads of the ledger, credits by the team (`credits`), balance limits.
//!
//! - `GET /account/balance`, `GET /account/ledger`: the customer's book in `platform::ledger` · `runway`: how long the
//!   balance lasts
//! - `GET /account/balance/history` (`history`): the balance at the end of each day
//! - `GET /admin/customers/{id}/balance`, `GET /admin/customers/{id}/ledger`: the same for the team
//! - `/admin/customers/{id}/balance-limits`: the minimum (credit line below zero) and the warning threshold

pub mod credits;
mod history;
mod runway;
mod store;
mod types;

pub use history::show as show_history;

use crate::onboarding;
use api::answer::Json;
use api::checks::{Checked, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::page::{Listing, Page};
use api::problem::Problem;
use db::Conn;
use platform::ledger;
use types::{Balance, BalanceLimits, BalanceLimitsUpdate, LedgerFilters, LedgerLine};
use values::{AccountId, Currency, Invalid, Money, Rfc3339, Time};

/// Currency of customers' balances and payments.
pub const CURRENCY: Currency = Currency::EUR;

/// 20 EUR, unless the team set another threshold.
const SOFT_WARN_THRESHOLD: Money = Money::from_nanos(20_000_000_000, CURRENCY);

/// Checks an amount in the currency of balances by this rule.
pub fn check_amount(given: &Given<'_>, name: &str, rule: impl FnOnce(Money) -> Result<(), Invalid>) {
    let currency = format!("{name}.currency");
    given.check(&currency, |currency: Currency| must(currency == CURRENCY, format!("must be {CURRENCY}")));
    given.check(name, rule);
}

pub async fn show(mut ctx: ReadCtx) -> Result<Json<Balance>, Problem> {
    let account = ctx.principal()?.account_id;
    Ok(Json(balance_of(&mut ctx, account).await?))
}

/// The same for the team, of any customer.
pub async fn show_customer(mut ctx: ReadCtx, Path(customer): Path<AccountId>) -> Result<Json<Balance>, Problem> {
    onboarding::require_customer(&mut ctx, customer).await?;
    Ok(Json(balance_of(&mut ctx, customer).await?))
}

async fn balance_of(ctx: &mut ReadCtx, account: AccountId) -> Result<Balance, Problem> {
    let balance = ledger::balance(ctx, account, CURRENCY).await?;
    let available = balance.available();
    Ok(Balance {
        current: balance.current.into(),
        minimum: balance.minimum,
        soft_warn_threshold: soft_warn_threshold(ctx, account).await?,
        last_debit_at: balance.last_debit_at.map(Rfc3339),
        held: balance.held.into(),
        available: available.into(),
        runway: runway::of(ctx, account, available).await?,
    })
}

async fn soft_warn_threshold(conn: &mut Conn, account: AccountId) -> Result<Money, Problem> {
    let set = store::soft_warn_threshold(conn, account).await?;
    Ok(set.map_or(SOFT_WARN_THRESHOLD, |nanos| Money::from_nanos(nanos, CURRENCY)))
}

/// The sort key of a ledger: time in Unix milliseconds and number of a line.
pub type LedgerCursor = (i64, i64);

pub async fn list_ledger(
    mut ctx: ReadCtx,
    listing: Listing<LedgerFilters, LedgerCursor>,
) -> Result<Page<LedgerLine>, Problem> {
    let account = ctx.principal()?.account_id;
    ledger_page(&mut ctx, account, listing).await
}

/// The same for the team, of any customer.
pub async fn list_customer_ledger(
    mut ctx: ReadCtx,
    Path(customer): Path<AccountId>,
    listing: Listing<LedgerFilters, LedgerCursor>,
) -> Result<Page<LedgerLine>, Problem> {
    onboarding::require_customer(&mut ctx, customer).await?;
    ledger_page(&mut ctx, customer, listing).await
}

async fn ledger_page(
    conn: &mut Conn,
    account: AccountId,
    listing: Listing<LedgerFilters, LedgerCursor>,
) -> Result<Page<LedgerLine>, Problem> {
    let LedgerFilters { kind, from, to } = listing.filters;
    let from = from.map_or(Time::EPOCH, |Rfc3339(at)| at);
    // Numbers begin at 1, so lines of the moment `to` itself are excluded.
    let end = (to.map_or(i64::MAX, |Rfc3339(at)| at.millis()), 0);
    let (at, number) = listing.after.unwrap_or(end);
    let before = (Time::from_millis(at), number);
    let lines = ledger::lines(conn, (account, CURRENCY), kind, from, before, listing.fetch()).await?;
    listing.page(lines, |line| (line.at.millis(), line.number), LedgerLine::from)
}

pub async fn show_limits(mut ctx: ReadCtx, Path(id): Path<AccountId>) -> Result<Json<BalanceLimits>, Problem> {
    Ok(Json(load_limits(&mut ctx, id).await?))
}

async fn load_limits(conn: &mut Conn, account: AccountId) -> Result<BalanceLimits, Problem> {
    if !store::is_customer(conn, account).await? {
        return Err(Problem::not_found());
    }
    let minimum = ledger::balance(conn, account, CURRENCY).await?.minimum;
    Ok(BalanceLimits { minimum, soft_warn_threshold: soft_warn_threshold(conn, account).await? })
}

/// An admin alone may raise a credit line up to a limit, and lower any.
fn check_line(before: Money, minimum: Money, limit: Money) -> Result<(), Problem> {
    let line = |minimum: Money| minimum.nanos().saturating_neg();
    if line(minimum) <= limit.nanos().max(line(before)) {
        return Ok(());
    }
    Err(Problem::state_conflict(format!(
        "An admin alone may give a credit line of at most {limit}. Make a credit request of the kind credit_line, which \
         another admin approves."
    )))
}

pub async fn update_limits(
    ctx: RequestCtx,
    Path(id): Path<AccountId>,
    Body(Checked(limits)): Body<Checked<BalanceLimitsUpdate>>,
) -> Result<Committed<Json<BalanceLimits>>, Problem> {
    ctx.audit_account(id);
    ctx.commit((id, limits), |tx, (id, limits)| {
        Box::pin(async move {
            ledger::lock_balance(tx, *id, CURRENCY).await?;
            let before = load_limits(tx, *id).await?;
            tx.expect_version(&before)?;
            check_line(before.minimum, limits.minimum, tx.ctx.app.settings.credit_approval)?;
            ledger::set_minimum(tx, *id, limits.minimum).await?;
            store::set_soft_warn_threshold(tx, *id, limits.soft_warn_threshold.nanos()).await?;
            ledger::enqueue_balance_check(tx, *id, CURRENCY).await?;
            Ok(Json(load_limits(tx, *id).await?))
        })
    })
    .await
}
