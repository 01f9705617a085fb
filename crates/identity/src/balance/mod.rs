//! Balance of an account: reads of the ledger, credits by the team (`credits`), balance limits.
//!
//! - `GET /account/balance`, `GET /account/ledger`: the customer's book in `platform::ledger`
//! - `/admin/customers/{id}/balance-limits`: the minimum (credit line below zero) and the warning threshold

pub mod credits;
mod store;
mod types;

use api::answer::Json;
use api::checks::{Checked, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use db::Conn;
use platform::ledger;
use types::{Balance, BalanceLimits, BalanceLimitsUpdate, LedgerLine};
use values::{AccountId, Currency, Invalid, Money, Rfc3339};

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
    let balance = ledger::balance(&mut ctx, account, CURRENCY).await?;
    Ok(Json(Balance {
        current: balance.current.into(),
        minimum: balance.minimum,
        soft_warn_threshold: soft_warn_threshold(&mut ctx, account).await?,
        last_debit_at: balance.last_debit_at.map(Rfc3339),
    }))
}

async fn soft_warn_threshold(conn: &mut Conn, account: AccountId) -> Result<Money, Problem> {
    let set = store::soft_warn_threshold(conn, account).await?;
    Ok(set.map_or(SOFT_WARN_THRESHOLD, |nanos| Money::from_nanos(nanos, CURRENCY)))
}

pub async fn list_ledger(mut ctx: ReadCtx, listing: Listing<Unfiltered, i64>) -> Result<Page<LedgerLine>, Problem> {
    let account = ctx.principal()?.account_id;
    let lines = ledger::lines(&mut ctx, account, CURRENCY, listing.after, listing.fetch()).await?;
    listing.page(lines, |line| line.number, LedgerLine::from)
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
