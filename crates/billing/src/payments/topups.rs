//! Topping up at the provider's checkout.
//!
//! Three steps, since no transaction may wait for a provider. The payment is written down under the caller's key; the
//! provider opens an order under the payment's id; order, answer and audit row commit together. A crash between the
//! steps leaves a payment without an answer, which a retry with the same key finds and completes.

use futures_util::future::BoxFuture;
use uuid::Uuid;

use super::methods;
use super::rules::{Purpose, WAITING_AT_MOST, next_poll};
use super::store::{self, NewPayment, PaymentRow};
use super::types::{EitherId, OnlyEuro, OnlyPending, Topup, TopupLiveRequest, TopupLiveResponse};
use api::answer::{Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use db::Conn;
use identity::onboarding;
use platform::outside::payments::{Checkout, OrderRequest, Payer, Provider};
use values::{AccountId, Currency, Money, PaymentId, Time};

/// Where a list goes on.
pub type Position = (i64, PaymentId);

/// The last row shown, or what comes before the newest.
pub fn resume(after: Option<Position>) -> (Time, PaymentId) {
    let (at, id) = after.unwrap_or((i64::MAX, PaymentId::new(Uuid::max())));
    (Time::from_millis(at), id)
}

pub fn position(row: &PaymentRow) -> Position {
    (row.created_at.millis(), row.id)
}

pub async fn create(
    ctx: RequestCtx,
    Body(request): Body<TopupLiveRequest>,
) -> Result<Committed<Created<TopupLiveResponse>>, Problem> {
    let amount = Money::from_minor(request.amount_minor, Currency::EUR)
        .map_err(|error| Problem::invalid("amount_minor", error.to_string()))?;
    let return_url = format!("{}/", ctx.app.public_url);
    let new = new_payment(&ctx, Purpose::Topup, Some(amount))?;
    let opened =
        open_checkout(&ctx, new, return_url, |conn, account| Box::pin(onboarding::must_be_let_in(conn, account)));
    let (id, checkout) = opened.await?;
    ctx.commit((id, checkout, request.amount_minor), |tx, (id, checkout, amount_minor)| {
        Box::pin(async move {
            let now = tx.ctx.now;
            store::keep_order(tx, *id, &checkout.order_id, now).await?;
            Ok(Created(TopupLiveResponse {
                topup_id: checkout.order_id.clone(),
                checkout_url: checkout.checkout_url.clone(),
                amount_minor: *amount_minor,
                currency: OnlyEuro::Eur,
                status: OnlyPending::Pending,
            }))
        })
    })
    .await
}

/// What may be refused before anything is begun.
pub type Admission = for<'c> fn(&'c mut Conn, AccountId) -> BoxFuture<'c, Result<(), Problem>>;

/// A payment of the caller, named by its key.
pub fn new_payment(ctx: &RequestCtx, purpose: Purpose, amount: Option<Money>) -> Result<NewPayment, Problem> {
    let now = ctx.now;
    Ok(NewPayment {
        id: PaymentId::new(ctx.app.entropy.uuid(now)),
        account_id: ctx.principal()?.account_id,
        purpose,
        provider: ctx.app.payments.provider(),
        method_id: None,
        amount,
        mark: ctx.fingerprint()?,
        poll_at: next_poll(now, now),
        now,
    })
}

/// The first two steps: the payment is written down, and the provider opens its checkout.
pub async fn open_checkout(
    ctx: &RequestCtx,
    new: NewPayment,
    return_url: String,
    admit: Admission,
) -> Result<(PaymentId, Checkout), Problem> {
    let app = &ctx.app;
    let (amount, save_card) = (new.amount, new.purpose == Purpose::Card);
    let begun = app.db.tx((new, admit), |conn, (new, admit)| Box::pin(begin(conn, new, *admit)));
    let (id, payer) = begun.await?;
    ctx.audit_note("payment_id", id.to_string());
    let order = OrderRequest { reference: id.to_string(), amount, payer, save_card, return_url };
    let checkout = app.payments.open(order).await.map_err(|error| {
        tracing::warn!(%error, request_id = ctx.request_id, "the payment provider opened no order");
        Problem::unavailable("The payment provider does not answer; try again with the same Idempotency-Key.")
    })?;
    Ok((id, checkout))
}

async fn begin(conn: &mut Conn, new: &NewPayment, admit: Admission) -> Result<(PaymentId, Payer), Problem> {
    admit(conn, new.account_id).await?;
    let payer = payer(conn, new.account_id, new.provider).await?;
    let payment = store::begin(conn, new).await?;
    // Who tries again has a place already, though others may have taken the last one at the same moment.
    let is_new = payment.id == new.id;
    if is_new && store::waiting(conn, new.account_id, new.mark.key).await? >= WAITING_AT_MOST {
        return Err(Problem::state_conflict(format!(
            "{WAITING_AT_MOST} checkouts are open already; answer one of them, or wait until they close."
        )));
    }
    new.mark.check_same_body(payment.request_digest.as_deref().unwrap_or_default())?;
    Ok((payment.id, payer))
}

/// The account as the provider gets to know it.
pub async fn payer(conn: &mut Conn, account: AccountId, provider: Provider) -> Result<Payer, Problem> {
    let prospect = onboarding::prospect(conn, account).await?.ok_or_else(Problem::not_found)?;
    let provider_customer = methods::customer_of(conn, account, provider).await?;
    Ok(Payer { account, name: prospect.contact_name, email: prospect.contact_email, provider_customer })
}

pub async fn list(mut ctx: ReadCtx, listing: Listing<Unfiltered, Position>) -> Result<Page<Topup>, Problem> {
    let account = ctx.principal()?.account_id;
    let rows = store::list_of(&mut ctx, account, resume(listing.after), listing.fetch()).await?;
    listing.page(rows, position, Topup::from)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<EitherId>) -> Result<Json<Topup>, Problem> {
    let account = ctx.principal()?.account_id;
    let found = store::find_by_either(&mut ctx, account, id.ours(), id.as_str()).await?;
    Ok(Json(found.ok_or_else(Problem::not_found)?.into()))
}
