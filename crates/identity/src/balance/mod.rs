//! The balance: what an account has with us, how it came about, and what the team adds to it by hand.
//!
//! `GET /account/balance` and `GET /account/ledger` show the customer its book; all of it is the ledger's.
//! `POST /admin/credits` gives, or takes back what is still there. `/admin/customers/{id}/balance-limits` holds what
//! an account must leave on its balance and where its portal begins to warn.

mod store;
mod types;

use api::answer::{Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use db::Conn;
use platform::ledger::{self, Book, Entry, Kind, LedgerError};
use types::{AdminCreditCreate, Balance, BalanceLimits, BalanceLimitsUpdate, LedgerLine};
use values::{AccountId, Currency, Money, Rfc3339};

/// The currency that customers pay in, and so have their balance in.
pub const CURRENCY: Currency = Currency::EUR;

/// 20 EUR.
const SOFT_WARN_THRESHOLD: Money = Money::from_nanos(20_000_000_000, CURRENCY);

/// The most a limit can be, either way: a million.
const LIMIT_MOST: i64 = 1_000_000_000_000_000;

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

pub async fn lines(mut ctx: ReadCtx, listing: Listing<Unfiltered, i64>) -> Result<Page<LedgerLine>, Problem> {
    let account = ctx.principal()?.account_id;
    let lines = ledger::lines(&mut ctx, account, CURRENCY, listing.after, listing.fetch()).await?;
    listing.page(lines, |line| line.number, LedgerLine::from)
}

pub async fn credit(
    ctx: RequestCtx,
    Body(request): Body<AdminCreditCreate>,
) -> Result<Committed<Created<LedgerLine>>, Problem> {
    if request.amount.currency() != CURRENCY {
        return Err(Problem::invalid("amount.currency", format!("must be {CURRENCY}")));
    }
    if request.amount.is_zero() {
        return Err(Problem::invalid("amount", "must not be zero"));
    }
    ctx.about(request.customer_id);
    ctx.note("amount", request.amount.to_string());
    ctx.commit(request, |tx, request| Box::pin(post_credit(tx, request))).await
}

async fn post_credit(tx: &mut Tx<'_>, request: &AdminCreditCreate) -> Result<Created<LedgerLine>, Problem> {
    let AdminCreditCreate { customer_id, amount, reason } = request;
    if !store::is_customer(tx, *customer_id).await? {
        return Err(Problem::invalid("customer_id", "names no customer"));
    }
    let (actor, now, entropy) = (tx.ctx.principal()?.user_id, tx.ctx.now, tx.ctx.app.entropy);
    let reference = entropy.uuid(now).to_string();
    let kind = if amount.is_negative() {
        let taken = amount.neg().map_err(LedgerError::from)?;
        let entry = Entry::charge(*customer_id, Kind::Correction, &reference, &[(Book::Credits, taken)])?;
        ledger::debit(tx, entropy, &entry.with_note(reason.as_str()).by(actor), now).await.map_err(not_there)?;
        Kind::Correction
    } else {
        let entry = Entry::credit(*customer_id, Kind::Credit, &reference, &[(Book::Credits, *amount)])?;
        ledger::credit(tx, entropy, &entry.with_note(reason.as_str()).by(actor), now).await?;
        Kind::Credit
    };
    let line = ledger::find(tx, kind, &reference).await?;
    Ok(Created(line.ok_or_else(|| Problem::internal("what was posted is not there"))?.into()))
}

/// Only what is still there can be taken back.
fn not_there(error: LedgerError) -> Problem {
    match error {
        LedgerError::Insufficient { required, available } => {
            let detail = format!("This takes {required} back, and the customer has {available} available.");
            Problem::balance_short(required, available, detail)
        }
        error => error.into(),
    }
}

pub async fn limits(mut ctx: ReadCtx, Path(id): Path<AccountId>) -> Result<Json<BalanceLimits>, Problem> {
    Ok(Json(limits_of(&mut ctx, id).await?))
}

async fn limits_of(conn: &mut Conn, account: AccountId) -> Result<BalanceLimits, Problem> {
    if !store::is_customer(conn, account).await? {
        return Err(Problem::not_found());
    }
    let minimum = ledger::balance(conn, account, CURRENCY).await?.minimum;
    Ok(BalanceLimits { minimum, soft_warn_threshold: soft_warn_threshold(conn, account).await? })
}

pub async fn set_limits(
    ctx: RequestCtx,
    Path(id): Path<AccountId>,
    Body(limits): Body<BalanceLimitsUpdate>,
) -> Result<Committed<Json<BalanceLimits>>, Problem> {
    for (name, limit) in [("minimum", limits.minimum), ("soft_warn_threshold", limits.soft_warn_threshold)] {
        if limit.currency() != CURRENCY {
            return Err(Problem::invalid(format!("{name}.currency"), format!("must be {CURRENCY}")));
        }
        if !(-LIMIT_MOST..=LIMIT_MOST).contains(&limit.nanos()) {
            return Err(Problem::invalid(name, "must be at most a million, either way"));
        }
    }
    ctx.about(id);
    ctx.commit((id, limits), |tx, (id, limits)| {
        Box::pin(async move {
            let before = limits_of(tx, *id).await?;
            tx.expect_version(&before)?;
            let (now, entropy) = (tx.ctx.now, tx.ctx.app.entropy);
            ledger::set_minimum(tx, *id, limits.minimum).await?;
            store::set_soft_warn_threshold(tx, *id, limits.soft_warn_threshold.nanos(), now).await?;
            ledger::enqueue_balance_check(tx, entropy, *id, CURRENCY, now).await?;
            Ok(Json(limits_of(tx, *id).await?))
        })
    })
    .await
}
