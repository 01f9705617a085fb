//! Beginning to verify a card.
//!
//! Three steps, since no transaction may wait for a provider. The verification is written down under the caller's key;
//! the provider opens an order under the verification's id; order, answer, audit row and the account's move commit
//! together. A crash between the steps leaves a verification without an answer, which a retry with the same key finds
//! and completes: the provider knows the reference and opens no second order.

use super::rules::WAITING_AT_MOST;
use super::store::{self, Beginning};
use super::types::{CardSetupRequest, CardSetupResponse};
use crate::payments::{next_poll, payer};
use api::answer::Created;
use api::context::{Committed, RequestCtx};
use api::input::OptionalBody;
use api::problem::Problem;
use db::Conn;
use identity::onboarding::{self, Event, happened};
use platform::outside::payments::{OrderRequest, Payer};
use values::CardVerificationId;

pub async fn set_up(
    ctx: RequestCtx,
    _: OptionalBody<CardSetupRequest>,
) -> Result<Committed<Created<CardSetupResponse>>, Problem> {
    let (app, now) = (&ctx.app, ctx.now);
    let account = ctx.principal()?.account_id;
    let beginning = Beginning {
        id: CardVerificationId::new(app.entropy.uuid(now)),
        account_id: account,
        provider: app.payments.provider(),
        request_key: ctx.idempotency_key()?,
        poll_at: next_poll(now, now),
        now,
    };
    let (id, payer) = app.db.tx(beginning, |conn, beginning| Box::pin(begin(conn, beginning))).await?;
    ctx.audit_note("payment_method_id", id.to_string());

    let order = OrderRequest {
        reference: id.to_string(),
        amount: None,
        payer,
        save_card: true,
        return_url: format!("{}/", app.public_url),
    };
    let checkout = app.payments.open(order).await.map_err(|error| {
        tracing::warn!(%error, request_id = ctx.request_id, "the payment provider opened no order");
        Problem::unavailable("The payment provider does not answer; try again with the same Idempotency-Key.")
    })?;

    ctx.commit((account, id, checkout), |tx, (account, id, checkout)| {
        Box::pin(async move {
            let now = tx.ctx.now;
            store::keep_checkout(tx, *id, checkout, now).await?;
            happened(tx, *account, Event::CardStarted, now).await?;
            Ok(Created(CardSetupResponse { checkout_url: checkout.checkout_url.clone(), payment_method_id: *id }))
        })
    })
    .await
}

/// An account that may not show a card is refused before the provider hears of it.
async fn begin(conn: &mut Conn, beginning: &Beginning) -> Result<(CardVerificationId, Payer), Problem> {
    onboarding::must_be_active(conn, beginning.account_id).await?;
    onboarding::allows(conn, beginning.account_id, Event::CardStarted).await?;
    let payer = payer(conn, beginning.account_id, beginning.provider).await?;
    let id = store::begin(conn, beginning).await?;
    // Who tries again has a place already, though others may have taken the last one at the same moment.
    let is_new = id == beginning.id;
    if is_new && store::waiting(conn, beginning.account_id, beginning.request_key).await? >= WAITING_AT_MOST {
        return Err(Problem::state_conflict(format!(
            "{WAITING_AT_MOST} checkouts wait for a card already; answer one of them, or wait until they close."
        )));
    }
    Ok((id, payer))
}
