//! Credits to customers' balances.
//!
//! An admin alone may credit a customer with up to `TRUNKLINE_CREDIT_APPROVAL_EUR` within a day, and raise its credit
//! line to the same amount. More than that is a credit request, which an admin other than its author approves or
//! rejects.
//!
//! - `POST /admin/credits`: credits, or takes back what is still available
//! - `/admin/credit-requests`: requests and decisions

mod store;
mod types;

use std::time::Duration;

use super::CURRENCY;
use super::store::is_customer;
use super::types::LedgerLine;
use crate::names::Names;
use api::answer::{Created, Json};
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::faults::Faults;
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use db::{Conn, DbError};
use platform::ledger::{self, Book, Entry, Kind, LedgerError};
use store::CreditRow;
use types::{AdminCreditCreate, CreditId, CreditKind, CreditRequest, CreditRequestCreate, CreditStatus};
use uuid::Uuid;
use values::{AccountId, Money, UserId};

/// What one admin credits counts for this long.
const WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

const MAX_PENDING: i64 = 200;

pub async fn create(
    ctx: RequestCtx,
    Body(Checked(request)): Body<Checked<AdminCreditCreate>>,
) -> Result<Committed<Created<LedgerLine>>, Problem> {
    ctx.audit_account(request.customer_id);
    ctx.audit_note("amount", request.amount.to_string());
    ctx.commit(request, |tx, request| Box::pin(credit_or_correct(tx, request))).await
}

async fn credit_or_correct(tx: &mut Tx<'_>, request: &AdminCreditCreate) -> Result<Created<LedgerLine>, Problem> {
    let AdminCreditCreate { customer_id, amount, reason } = request;
    check_customer(tx, *customer_id).await?;
    let actor = tx.ctx.principal()?.user_id;
    if amount.is_negative() {
        let reference = tx.new_id::<Uuid>().to_string();
        let taken = amount.neg().map_err(LedgerError::from)?;
        let entry = Entry::charge(*customer_id, Kind::Correction, &reference, &[(Book::Credits, taken)])?;
        ledger::debit(tx, &entry.with_note(reason.as_str()).by(actor)).await.map_err(insufficient)?;
        return Ok(Created(find_line(tx, Kind::Correction, &reference).await?));
    }
    let row = new_row(tx, *customer_id, (CreditKind::Credit, *amount), reason.clone(), CreditStatus::Posted)?;
    // First the ledger: it locks the account's balance, so credits at the same time are added up one after the other.
    let line = post(tx, &row, actor).await?;
    tx.insert(&row).await?;
    let limit = tx.ctx.app.settings.credit_approval;
    let since = tx.now().minus(WINDOW);
    let posted = store::posted_since(tx, *customer_id, since).await?;
    if posted > limit.nanos() {
        return Err(Problem::state_conflict(format!(
            "An admin alone may credit a customer with at most {limit} in 24 hours. Make a credit request, which \
             another admin approves."
        )));
    }
    Ok(Created(line))
}

async fn check_customer(tx: &mut Tx<'_>, customer: AccountId) -> Result<(), Problem> {
    let mut faults = Faults::default();
    faults.unless(is_customer(tx, customer).await?, "customer_id", "is not the id of a customer");
    faults.into_result()
}

fn new_row(
    tx: &mut Tx<'_>,
    account_id: AccountId,
    (kind, amount): (CreditKind, Money),
    reason: values::Text<1, 300>,
    status: CreditStatus,
) -> Result<CreditRow, Problem> {
    Ok(CreditRow {
        id: tx.new_id(),
        account_id,
        kind,
        amount: amount.nanos(),
        reason,
        status,
        requested_by: tx.ctx.principal()?.user_id,
        created_at: tx.now(),
        decided_by: None,
        decided_at: None,
    })
}

/// Posts a credit to the ledger, once.
async fn post(tx: &mut Tx<'_>, credit: &CreditRow, actor: UserId) -> Result<LedgerLine, Problem> {
    let reference = credit.id.to_string();
    let amount = Money::from_nanos(credit.amount, CURRENCY);
    let entry = Entry::credit(credit.account_id, Kind::Credit, &reference, &[(Book::Credits, amount)])?;
    ledger::credit(tx, &entry.with_note(credit.reason.as_str()).by(actor)).await?;
    find_line(tx, Kind::Credit, &reference).await
}

/// Sets a credit line, whatever it was before.
async fn set_line(tx: &mut Tx<'_>, credit: &CreditRow) -> Result<(), Problem> {
    let minimum = Money::from_nanos(-credit.amount, CURRENCY);
    ledger::set_minimum(tx, credit.account_id, minimum).await?;
    Ok(ledger::enqueue_balance_check(tx, credit.account_id, CURRENCY).await?)
}

async fn find_line(tx: &mut Tx<'_>, kind: Kind, reference: &str) -> Result<LedgerLine, Problem> {
    let line = ledger::find(tx, kind, reference).await?;
    Ok(line.ok_or_else(|| Problem::internal("posted ledger line not found"))?.into())
}

/// A correction can take back only what is available.
fn insufficient(error: LedgerError) -> Problem {
    match error {
        LedgerError::Insufficient { required, available } => {
            let detail =
                format!("This takes back {required}, but only {available} is available on the customer's balance.");
            Problem::balance_short(required, available, detail)
        }
        error => error.into(),
    }
}

pub async fn request(
    ctx: RequestCtx,
    Body(Checked(request)): Body<Checked<CreditRequestCreate>>,
) -> Result<Committed<Created<CreditRequest>>, Problem> {
    ctx.audit_account(request.customer_id);
    ctx.audit_note("amount", request.amount.to_string());
    ctx.commit(request, |tx, request| {
        Box::pin(async move {
            let CreditRequestCreate { customer_id, kind, amount, reason } = request;
            check_customer(tx, *customer_id).await?;
            if store::count_pending(tx, MAX_PENDING).await? >= MAX_PENDING {
                return Err(Problem::state_conflict(format!("{MAX_PENDING} credit requests are pending already.")));
            }
            let requested = (kind.unwrap_or(CreditKind::Credit), *amount);
            let row = new_row(tx, *customer_id, requested, reason.clone(), CreditStatus::Pending)?;
            tx.insert(&row).await?;
            Ok(Created(view(tx, row).await?))
        })
    })
    .await
}

pub async fn list_requests(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<CreditId>>,
) -> Result<Page<CreditRequest>, Problem> {
    let rows = store::list_requests(&mut ctx, listing.before(), listing.fetch()).await?;
    let names = names_of(&mut ctx, &rows).await?;
    listing.page(rows, |row| (row.created_at, row.id), |row| CreditRequest::new(row, &names))
}

async fn names_of(conn: &mut Conn, rows: &[CreditRow]) -> Result<Names, DbError> {
    let mut names = Names::of_customers(conn, rows.iter().map(|row| row.account_id)).await?;
    let users = rows.iter().flat_map(|row| [Some(row.requested_by), row.decided_by]).flatten();
    names.add_users(conn, users).await?;
    Ok(names)
}

async fn view(conn: &mut Conn, row: CreditRow) -> Result<CreditRequest, DbError> {
    let names = names_of(conn, std::slice::from_ref(&row)).await?;
    Ok(CreditRequest::new(row, &names))
}

pub async fn show_request(mut ctx: ReadCtx, Path(id): Path<CreditId>) -> Result<Json<CreditRequest>, Problem> {
    let row = store::find_request(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(view(&mut ctx, row).await?))
}

pub async fn approve(ctx: RequestCtx, Path(id): Path<CreditId>) -> Result<Committed<Json<CreditRequest>>, Problem> {
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let (credit, admin) = decide(tx, *id, CreditStatus::Approved).await?;
            match credit.kind {
                CreditKind::Credit => {
                    post(tx, &credit, admin).await?;
                }
                CreditKind::CreditLine => set_line(tx, &credit).await?,
            }
            Ok(Json(view(tx, credit).await?))
        })
    })
    .await
}

pub async fn reject(ctx: RequestCtx, Path(id): Path<CreditId>) -> Result<Committed<Json<CreditRequest>>, Problem> {
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let (credit, _) = decide(tx, *id, CreditStatus::Rejected).await?;
            Ok(Json(view(tx, credit).await?))
        })
    })
    .await
}

/// Decides a pending request, and returns it with the admin who decided. Its author may reject it, not approve it.
async fn decide(tx: &mut Tx<'_>, id: CreditId, status: CreditStatus) -> Result<(CreditRow, UserId), Problem> {
    let admin = tx.ctx.principal()?.user_id;
    let before = store::find_request(tx, id).await?.ok_or_else(Problem::not_found)?;
    tx.ctx.audit_account(before.account_id);
    tx.ctx.audit_note("amount", Money::from_nanos(before.amount, CURRENCY).to_string());
    if before.requested_by == admin && status == CreditStatus::Approved {
        return Err(Problem::state_conflict("Another admin has to approve this credit request."));
    }
    if !store::decide(tx, id, status, admin).await? {
        return Err(Problem::state_conflict("This credit request was decided already."));
    }
    let decided = store::find_request(tx, id).await?.ok_or_else(Problem::not_found)?;
    Ok((decided, admin))
}
