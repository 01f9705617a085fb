//! Payments as the team sees them (`/admin/payments`), and their refunds.
//!
//! A refund is claimed, sent, then finished. Claiming counts it against the payment and holds its money in the ledger,
//! in one transaction under the payment's lock, so that concurrent refunds cannot return more than was paid or than the
//! customer still has. Then the provider is called under the refund's id. Its answer finishes the refund: the hold is
//! captured, or released and no longer counted. After a crash in between, the poll job finishes the claimed refund. A
//! payment that its card's bank disputes is not refunded.

mod store;
mod types;

use std::time::Duration;

use super::apply::Failures;
use super::chargebacks::{self, ChargebackStatus};
use super::rules::{PaymentStatus, next_poll};
use super::store::{self as payments, PaymentFilter, PaymentRow};
use api::answer::Json;
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::faults::Faults;
use api::idempotency::RequestFingerprint;
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::names::Names;
use platform::app::App;
use platform::audit::{self, Outcome};
use platform::jobs::JobError;
use platform::ledger::{self, Book, Entry, Kind, LedgerError, NewHold};
use platform::outside::payments::{Provider, ProviderError, RefundState};
use store::{RefundRow, RefundStatus};
use types::{AdminPayment, AdminRefundCreate, PaymentFilters};
use values::{Money, PaymentId, RefundId, Rfc3339, Time, UserId};

/// How long money is held for a refund that the provider has not decided on.
const HOLD_TTL: Duration = Duration::from_secs(30 * 24 * 3600);

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<PaymentFilters, NewestFirst<PaymentId>>,
) -> Result<Page<AdminPayment>, Problem> {
    let PaymentFilters { status, customer_id, from, to } = listing.filters;
    let filter = PaymentFilter { account: customer_id, status, from: from.map_or(Time::EPOCH, |Rfc3339(at)| at) };
    let before = listing.before_end(to.map(|Rfc3339(at)| at));
    let rows = payments::list_all(&mut ctx, &filter, before, listing.fetch()).await?;
    let names = Names::of_customers(&mut ctx, rows.iter().map(|row| row.account_id)).await?;
    listing.page(
        rows,
        |row| (row.created_at, row.id),
        |row| {
            let customer_name = names.get(row.account_id.uuid());
            AdminPayment::new(row, customer_name)
        },
    )
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<PaymentId>) -> Result<Json<AdminPayment>, Problem> {
    // A card that was only saved is no payment.
    let row = payments::find(&mut ctx, id).await?.filter(|row| row.amount.is_some()).ok_or_else(Problem::not_found)?;
    Ok(Json(view(&mut ctx, row).await?))
}

async fn view(conn: &mut Conn, row: PaymentRow) -> Result<AdminPayment, DbError> {
    let customer_name = Names::of_customer(conn, row.account_id).await?;
    Ok(AdminPayment::new(row, customer_name))
}

pub async fn create(
    ctx: RequestCtx,
    Path(payment_id): Path<PaymentId>,
    Body(Checked(request)): Body<Checked<AdminRefundCreate>>,
) -> Result<Committed<Json<AdminPayment>>, Problem> {
    let (app, now) = (&ctx.app, ctx.now);
    ctx.audit_note("payment_id", payment_id.to_string());
    let claim = Claim {
        ctx: ctx.clone(),
        id: ctx.new_id(),
        payment_id,
        request,
        provider: app.payments.provider(),
        requested_by: ctx.principal()?.user_id,
        mark: ctx.fingerprint()?,
        now,
    };
    let (refund, payment) = app.db.tx(claim, |conn, claim| Box::pin(claim_refund(conn, claim))).await?;
    ctx.audit_note("refund_id", refund.id.to_string());
    let state = match refund.status {
        RefundStatus::Pending => send(app, &refund, &payment).await.map_err(|error| {
            tracing::warn!(%error, request_id = ctx.request_id, "payment provider did not accept the refund request");
            Problem::unavailable("The payment provider does not respond. Try again with the same Idempotency-Key.")
        })?,
        // Do not call the provider again: it might now make a refund that we have recorded as failed.
        RefundStatus::Completed => RefundState::Completed,
        RefundStatus::Failed => RefundState::Failed,
    };
    let result = RefundResult { app: app.clone(), id: refund.id, payment_id, state };
    if state == RefundState::Failed {
        app.db.tx(result, |conn, result| Box::pin(finish(conn, result))).await?;
        return Err(Problem::state_conflict("The payment provider rejected this refund. No money was moved."));
    }
    ctx.commit(result, |tx, result| {
        Box::pin(async move {
            finish(tx, result).await?;
            let payment = payments::find(tx, result.payment_id).await?.ok_or_else(Problem::not_found)?;
            Ok(Json(view(tx, payment).await?))
        })
    })
    .await
}

/// A refund to claim.
struct Claim {
    ctx: RequestCtx,
    id: RefundId,
    payment_id: PaymentId,
    request: AdminRefundCreate,
    provider: Provider,
    requested_by: UserId,
    mark: RequestFingerprint,
    now: Time,
}

/// Counts a refund against its payment and holds its money, or finds the one that the same request claimed before.
async fn claim_refund(conn: &mut Conn, claim: &Claim) -> Result<(RefundRow, PaymentRow), Problem> {
    let payment = payments::lock(conn, claim.payment_id).await?;
    let payment = payment.filter(|payment| payment.amount.is_some()).ok_or_else(Problem::not_found)?;
    claim.ctx.audit_account(payment.account_id);
    if let Some(known) = store::find_by_key(conn, claim.payment_id, claim.requested_by, claim.mark.key).await? {
        claim.mark.check_same_body(&known.request_digest)?;
        return Ok((known, payment));
    }
    if payment.provider != claim.provider {
        return Err(Problem::state_conflict(format!(
            "The payment was made through {}, which is not the configured provider. Refund it there.",
            payment.provider
        )));
    }
    check_undisputed(conn, &payment).await?;
    let amount = refund_amount(&payment, claim.request.amount)?;
    if !payments::add_refunded(conn, payment.id, amount.nanos()).await? {
        return Err(Problem::internal("a refund within the paid amount was not counted"));
    }
    let refund = RefundRow {
        id: claim.id,
        payment_id: payment.id,
        status: RefundStatus::Pending,
        amount: amount.nanos(),
        reason: claim.request.reason.to_string(),
        requested_by: claim.requested_by,
        request_key: claim.mark.key,
        request_digest: claim.mark.body_digest.to_vec(),
        poll_at: Some(next_poll(claim.now, claim.now)),
        created_at: claim.now,
    };
    store::insert(conn, &refund).await?;
    if !claim.request.allow_negative {
        let (reference, until) = (refund.id.to_string(), claim.now.plus(HOLD_TTL));
        let (account, kind) = (payment.account_id, Kind::Refund);
        let hold = NewHold { account, kind, reference: &reference, amount, until };
        hold_amount(conn, &hold).await?;
    }
    Ok((refund, payment))
}

/// A disputed payment goes back through the dispute; a refund would send it a second time. The payment is locked, so no
/// dispute of it begins meanwhile.
async fn check_undisputed(conn: &mut Conn, payment: &PaymentRow) -> Result<(), Problem> {
    match chargebacks::against(conn, payment.id).await? {
        None => Ok(()),
        Some(ChargebackStatus::Lost) => Err(Problem::state_conflict("The card's bank has taken this payment back.")),
        Some(_) => Err(Problem::state_conflict(
            "The card's bank disputes this payment. It can be refunded if the dispute is won.",
        )),
    }
}

/// Holds the money of a refund, if the customer has it. A credit line does not count: it is not money to send back.
async fn hold_amount(conn: &mut Conn, hold: &NewHold<'_>) -> Result<(), Problem> {
    let (required, none) = (hold.amount, Money::zero(hold.amount.currency()));
    let held = match ledger::hold(conn, hold).await {
        Ok(_) => required,
        Err(LedgerError::Insufficient { .. }) => none,
        Err(error) => return Err(error.into()),
    };
    let balance = ledger::balance(conn, hold.account, required.currency()).await?;
    let minimum = balance.minimum.nanos().max(0);
    let left = balance.current.nanos().saturating_sub(balance.held.nanos()).saturating_sub(minimum);
    if held == required && left >= 0 {
        return Ok(());
    }
    let available = Money::from_nanos(left.saturating_add(held.nanos()), required.currency());
    let detail = format!(
        "The refund needs {required}, but the customer has {available} available. \
         Refund no more than that, or send allow_negative: true."
    );
    Err(Problem::balance_short(required, available, detail))
}

/// The amount to refund: the requested one, or all that was not refunded yet.
fn refund_amount(payment: &PaymentRow, requested: Option<Money>) -> Result<Money, Problem> {
    let paid = payment.money().ok_or_else(Problem::not_found)?;
    if payment.status != PaymentStatus::Completed {
        let status = payment.status;
        return Err(Problem::state_conflict(format!(
            "The payment is {status}. Only a completed payment can be refunded."
        )));
    }
    let left = Money::from_nanos(paid.nanos() - payment.refunded, paid.currency());
    let amount = requested.unwrap_or(left);
    let (is_same, currency) = (amount.currency() == paid.currency(), paid.currency());
    let mut faults = Faults::default();
    faults.unless(is_same, "amount.currency", format!("must be the currency of the payment, {currency}"));
    faults.into_result()?;
    if !left.is_positive() || amount.nanos() > left.nanos() {
        return Err(Problem::state_conflict(format!("Only {left} of this payment is left to refund.")));
    }
    Ok(amount)
}

/// Has the provider make the refund. It is identified by the refund's id, so repeating the request has no second
/// effect. While the card's bank disputes the payment, and once it has taken it back, a refund that the provider does not
/// know is not made.
async fn send(app: &App, refund: &RefundRow, payment: &PaymentRow) -> Result<RefundState, ProviderError> {
    let (Some(order_id), Some(paid)) = (&payment.provider_order_id, payment.money()) else {
        return Err(ProviderError(format!("payment {} has no order", payment.id)));
    };
    let (amount, reference) = (Money::from_nanos(refund.amount, paid.currency()), refund.id.to_string());
    let disputed = chargebacks::against(&mut *app.db.read().await?, payment.id).await?;
    let Some(status) = disputed else {
        return Ok(app.payments.refund(order_id, amount, &reference).await?.state);
    };
    Ok(match app.payments.find_refund(&reference).await? {
        Some(made) => made.state,
        None if status == ChargebackStatus::Lost => RefundState::Failed,
        None => RefundState::Pending,
    })
}

/// The provider's answer to a refund.
struct RefundResult {
    app: App,
    id: RefundId,
    payment_id: PaymentId,
    state: RefundState,
}

/// Finishes a refund; false when it is not decided yet or was finished before.
async fn finish(conn: &mut Conn, result: &RefundResult) -> Result<bool, Problem> {
    // The same lock order as in claiming, to avoid deadlocks.
    let payment = payments::lock(conn, result.payment_id).await?.ok_or_else(Problem::not_found)?;
    let refund = store::lock(conn, result.id).await?.ok_or_else(Problem::not_found)?;
    let paid = payment.money().ok_or_else(Problem::not_found)?;
    if refund.status != RefundStatus::Pending {
        if refund.status == RefundStatus::Failed && result.state == RefundState::Completed {
            tracing::error!(refund = %refund.id, "the payment provider made a refund that is recorded as failed");
        }
        return Ok(false);
    }
    let (amount, reference) = (Money::from_nanos(refund.amount, paid.currency()), refund.id.to_string());
    let status = match result.state {
        RefundState::Pending => return Ok(false),
        RefundState::Completed => {
            let entry = Entry::charge(payment.account_id, Kind::Refund, reference, &[(Book::Clearing, amount)])?;
            let entry = entry.with_note(&refund.reason).by(refund.requested_by);
            ledger::capture(conn, &entry).await?;
            RefundStatus::Completed
        }
        RefundState::Failed => {
            ledger::release(conn, Kind::Refund, &reference).await?;
            payments::add_refunded(conn, payment.id, -refund.amount).await?;
            RefundStatus::Failed
        }
    };
    store::finish(conn, refund.id, status).await?;
    Ok(true)
}

/// Finishes pending refunds that a crash or a slow provider left. A provider that does not answer is left alone until the
/// next run.
pub async fn finish_due(app: &App, now: Time, batch: i64) -> Result<(), JobError> {
    let due = store::list_due(&mut *app.db.read().await?, batch).await?;
    let mut failures = Failures::default();
    for refund in due {
        let sent = finish_one(app, &refund).await;
        let again = next_poll(refund.created_at, now);
        let later = app.db.tx((refund.id, again), |conn, (id, again)| Box::pin(store::set_poll_at(conn, *id, *again)));
        later.await?;
        if failures.are_enough(refund.id, &sent) {
            break;
        }
    }
    Ok(())
}

async fn finish_one(app: &App, refund: &RefundRow) -> Result<(), ProviderError> {
    let mut reader = app.db.read().await?;
    // While the ones before it were sent, whoever asked for it may have repeated the request, and it has ended.
    let current = store::find(&mut reader, refund.id).await?;
    if current.is_none_or(|current| current.status != RefundStatus::Pending) {
        return Ok(());
    }
    let payment = payments::find(&mut reader, refund.payment_id).await?;
    drop(reader);
    let Some(payment) = payment.filter(|payment| payment.provider == app.payments.provider()) else {
        tracing::warn!(refund = %refund.id, "the payment of this refund belongs to another provider");
        return Ok(());
    };
    let state = send(app, refund, &payment).await?;
    let result = RefundResult { app: app.clone(), id: refund.id, payment_id: payment.id, state };
    let work = (result, audit_entry(refund, &payment, state));
    let finished = app.db.tx(work, |conn, (result, entry)| {
        Box::pin(async move {
            if finish(conn, result).await? {
                audit::append(conn, &result.app.keys, entry).await?;
            }
            Ok::<_, Problem>(())
        })
    });
    if let Err(problem) = finished.await {
        tracing::warn!(refund = %refund.id, ?problem, "polled refund could not be finished");
    }
    Ok(())
}

fn audit_entry(refund: &RefundRow, payment: &PaymentRow, state: RefundState) -> audit::Entry {
    let refused = state == RefundState::Failed;
    let meta = [("payment_id", payment.id.to_string()), ("refund_id", refund.id.to_string())];
    audit::Entry {
        user_id: Some(refund.requested_by),
        outcome: if refused { Outcome::Failure } else { Outcome::Success },
        reason: refused.then(|| state.as_str().to_owned()),
        ..audit::Entry::by_system("payment.refund", Some(payment.account_id), meta)
    }
}
