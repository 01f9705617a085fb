//! Top-ups at the provider's checkout.
//!
//! Three steps, since no transaction may wait for the provider. The payment is stored under the idempotency key; the
//! provider opens an order under the payment's id; order id, response and audit row commit together. After a crash
//! between the steps, a retry with the same key finds the payment and completes it.

use futures_util::future::BoxFuture;

use super::methods;
use super::rules::{DAY, MAX_OPEN_CHECKOUTS, Purpose, next_poll};
use super::store::{self, NewPayment};
use super::types::{
    NewTopupStatus, Topup, TopupCurrency, TopupFilters, TopupId, TopupLiveRequest, TopupLiveResponse, return_url,
};
use api::answer::{Created, Json};
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use db::Conn;
use identity::events::{self, EventType};
use identity::onboarding;
use platform::config::Velocity;
use platform::outside::payments::{Checkout, OrderRequest, Payer, Provider};
use values::{AccountId, Currency, Money, PaymentId, Rfc3339, Time};

pub async fn create(
    ctx: RequestCtx,
    Body(Checked(request)): Body<Checked<TopupLiveRequest>>,
) -> Result<Committed<Created<TopupLiveResponse>>, Problem> {
    let amount = Money::from_minor(request.amount_minor, Currency::EUR).map_err(Problem::internal)?;
    let return_url = return_url(&ctx.app, request.return_url.as_ref())?;
    let new = new_payment(&ctx, Purpose::Topup, Some(amount))?;
    let opened = open_checkout(&ctx, new, return_url, |conn, account| {
        Box::pin(onboarding::require_beta_approved(conn, account))
    });
    let (id, checkout) = opened.await?;
    ctx.commit((id, checkout, request.amount_minor), |tx, (id, checkout, amount_minor)| {
        Box::pin(async move {
            store::set_checkout(tx, *id, checkout).await?;
            Ok(Created(TopupLiveResponse {
                topup_id: checkout.order_id.clone(),
                checkout_url: checkout.checkout_url.clone(),
                amount_minor: *amount_minor,
                currency: TopupCurrency::Eur,
                status: NewTopupStatus::Pending,
            }))
        })
    })
    .await
}

/// A check that runs before a payment is stored.
pub type Precondition = for<'c> fn(&'c mut Conn, AccountId) -> BoxFuture<'c, Result<(), Problem>>;

/// A new payment of the caller under its idempotency key.
pub fn new_payment(ctx: &RequestCtx, purpose: Purpose, amount: Option<Money>) -> Result<NewPayment, Problem> {
    let now = ctx.now;
    Ok(NewPayment {
        id: ctx.new_id(),
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

/// The first two steps: stores the payment and has the provider open a checkout.
pub async fn open_checkout(
    ctx: &RequestCtx,
    new: NewPayment,
    return_url: String,
    precondition: Precondition,
) -> Result<(PaymentId, Checkout), Problem> {
    let app = &ctx.app;
    let (amount, save_card) = (new.amount, new.purpose == Purpose::Card);
    let velocity = app.settings.topup_velocity;
    let inserted = app.db.tx((new, precondition, velocity), |conn, (new, precondition, velocity)| {
        Box::pin(insert_payment(conn, new, *precondition, *velocity))
    });
    let (id, payer) = inserted.await?;
    ctx.audit_note("payment_id", id.to_string());
    let order = OrderRequest { reference: id.to_string(), amount, payer, save_card, return_url };
    let checkout = app.payments.open(order).await.map_err(|error| {
        tracing::warn!(%error, request_id = ctx.request_id, "payment provider did not open an order");
        Problem::unavailable("The payment provider does not respond. Try again with the same Idempotency-Key.")
    })?;
    Ok((id, checkout))
}

async fn insert_payment(
    conn: &mut Conn,
    new: &NewPayment,
    precondition: Precondition,
    velocity: Velocity,
) -> Result<(PaymentId, Payer), Problem> {
    precondition(conn, new.account_id).await?;
    let payer = payer(conn, new.account_id, new.provider).await?;
    let payment = store::insert_or_find(conn, new).await?;
    // A retry of the same request was counted before, so the limit does not apply to it.
    let is_new = payment.id == new.id;
    if is_new && store::count_open_checkouts(conn, new.account_id, new.mark.key).await? >= MAX_OPEN_CHECKOUTS {
        return Err(Problem::state_conflict(format!(
            "{MAX_OPEN_CHECKOUTS} checkouts are open already. Complete one of them, or wait until they expire."
        )));
    }
    if is_new && new.purpose == Purpose::Topup {
        check_velocity(conn, new, velocity).await?;
    }
    new.mark.check_same_body(payment.request_digest.as_deref().unwrap_or_default())?;
    let id = payment.id;
    if is_new && new.purpose == Purpose::Topup {
        events::record(conn, new.account_id, EventType::TopupCreated, &Topup::from(payment)).await?;
    }
    Ok((id, payer))
}

/// Stolen cards are tried out in many small top-ups, and emptied in few large ones. The new payment is counted.
async fn check_velocity(conn: &mut Conn, new: &NewPayment, velocity: Velocity) -> Result<(), Problem> {
    let (count, sum) = store::topups_since(conn, new.account_id, new.now.minus(DAY)).await?;
    if count > velocity.per_day {
        return Err(Problem::state_conflict(format!("An account can make {} top-ups in 24 hours.", velocity.per_day)));
    }
    if sum > velocity.amount_per_day.nanos() {
        let limit = velocity.amount_per_day;
        return Err(Problem::state_conflict(format!(
            "An account can top up by {limit} in 24 hours, open checkouts included. Ask us to raise the limit."
        )));
    }
    Ok(())
}

/// The account as the provider knows it.
pub async fn payer(conn: &mut Conn, account: AccountId, provider: Provider) -> Result<Payer, Problem> {
    let prospect = onboarding::find_account(conn, account).await?.ok_or_else(Problem::not_found)?;
    let provider_customer = methods::provider_customer_of(conn, account, provider).await?;
    Ok(Payer { account, name: prospect.contact_name, email: prospect.contact_email, provider_customer })
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<TopupFilters, NewestFirst<PaymentId>>,
) -> Result<Page<Topup>, Problem> {
    let account = ctx.principal()?.account_id;
    let TopupFilters { status, from, to } = listing.filters;
    let from = from.map_or(Time::EPOCH, |Rfc3339(at)| at);
    let before = listing.before_end(to.map(|Rfc3339(at)| at));
    let rows = store::list_for_account(&mut ctx, account, status, from, before, listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), Topup::from)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<TopupId>) -> Result<Json<Topup>, Problem> {
    let account = ctx.principal()?.account_id;
    let found = store::find_by_any_id(&mut ctx, account, id.payment_id(), id.as_str()).await?;
    Ok(Json(found.ok_or_else(Problem::not_found)?.into()))
}
