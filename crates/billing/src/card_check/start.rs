//! Starts a card verification.
//!
//! Three steps, since no transaction may wait for the provider. The verification is stored under the idempotency key;
//! the provider opens an order under the verification's id; order id, response, audit row and the onboarding event
//! commit together. After a crash between the steps, a retry with the same key finds the verification and completes it:
//! the provider knows the reference and opens no second order.

use super::rules::MAX_OPEN_VERIFICATIONS;
use super::store::{self, NewVerification};
use super::types::{CardSetupRequest, CardSetupResponse};
use crate::payments::{next_poll, payer, return_url};
use api::answer::Created;
use api::checks::Checked;
use api::context::{Committed, RequestCtx};
use api::input::OptionalBody;
use api::problem::Problem;
use db::Conn;
use identity::onboarding::{self, Event, apply_event};
use platform::outside::payments::{OrderRequest, Payer};
use values::CardVerificationId;

pub async fn start(
    ctx: RequestCtx,
    OptionalBody(Checked(request)): OptionalBody<Checked<CardSetupRequest>>,
) -> Result<Committed<Created<CardSetupResponse>>, Problem> {
    let (app, now) = (&ctx.app, ctx.now);
    let (account, user) = (ctx.principal()?.account_id, ctx.principal()?.user_id);
    onboarding::require_verified_email(&mut *app.db.read().await?, app, user).await?;
    let new = NewVerification {
        id: ctx.new_id(),
        account_id: account,
        provider: app.payments.provider(),
        request_key: ctx.idempotency_key()?,
        poll_at: next_poll(now, now),
        now,
    };
    let (id, payer) = app.db.tx(new, |conn, new| Box::pin(insert_verification(conn, new))).await?;
    ctx.audit_note("payment_method_id", id.to_string());

    let order = OrderRequest {
        reference: id.to_string(),
        amount: None,
        payer,
        save_card: true,
        return_url: return_url(app, request.return_url.as_ref())?,
    };
    let checkout = app.payments.open(order).await.map_err(|error| {
        tracing::warn!(%error, request_id = ctx.request_id, "payment provider did not open an order");
        Problem::unavailable("The payment provider does not respond. Try again with the same Idempotency-Key.")
    })?;

    ctx.commit((account, id, checkout), |tx, (account, id, checkout)| {
        Box::pin(async move {
            store::set_checkout(tx, *id, checkout).await?;
            apply_event(tx, *account, Event::CardStarted).await?;
            Ok(Created(CardSetupResponse { checkout_url: checkout.checkout_url.clone(), payment_method_id: *id }))
        })
    })
    .await
}

/// Stores the verification. An account that may not verify a card is refused before the provider is called.
async fn insert_verification(conn: &mut Conn, new: &NewVerification) -> Result<(CardVerificationId, Payer), Problem> {
    onboarding::require_active(conn, new.account_id).await?;
    onboarding::check_event(conn, new.account_id, Event::CardStarted).await?;
    let payer = payer(conn, new.account_id, new.provider).await?;
    let id = store::insert_or_find(conn, new).await?;
    // A retry of the same request was counted before, so the limit does not apply to it.
    let is_new = id == new.id;
    if is_new && store::count_open(conn, new.account_id, new.request_key).await? >= MAX_OPEN_VERIFICATIONS {
        return Err(Problem::state_conflict(format!(
            "{MAX_OPEN_VERIFICATIONS} checkouts are open already. Complete one of them, or wait until they expire."
        )));
    }
    Ok((id, payer))
}
