//! Charges of a saved card without its holder, as auto-recharge makes them.
//!
//! ```ignore
//! // In the transaction that decides to charge; repeated with the same key it leads to the same payment.
//! let payment = payments::claim_charge(conn, &app, &NewCharge { account, method, amount, key }, now).await?;
//! // After it has committed, outside any transaction.
//! let charged = payments::run_charge(&app, payment).await?;
//! ```
//!
//! A charge that was interrupted by a crash, or that the provider did not answer, is finished by the poll job. When it
//! ends, a [`CHARGED`](super::CHARGED) job is enqueued; [`find_charge`] returns its outcome.

use std::time::Duration;

use uuid::Uuid;

use super::apply::apply_order;
use super::auto_recharge;
use super::card_limit;
use super::methods;
use super::rules::{PaymentStatus, Purpose, next_poll};
use super::store::{self, NewPayment, PaymentRow};
use super::topups::payer;
use super::types::Topup;
use api::idempotency::RequestFingerprint;
use api::input::sha256;
use api::problem::Problem;
use db::{Conn, DbError, Entropy};
use identity::events::{self, EventType};
use identity::onboarding;
use platform::app::App;
use platform::audit::Actor;
use platform::outside::payments::{ChargeRequest, Order, ProviderError};
use values::{AccountId, Money, PaymentId, PaymentMethodId};

/// Time limit of a charge, which is a handful of requests to the provider.
const CHARGE_TIMEOUT: Duration = Duration::from_secs(90);

/// How long a node may send a charge alone. Longer than the timeout, since another node's clock may be ahead.
const CHARGE_LEASE: Duration = Duration::from_secs(180);

/// Pause after a request that the provider did not answer, since it may still be processing it.
const RETRY_PAUSE: Duration = Duration::from_secs(30);

/// A charge to claim.
#[derive(Clone, Debug)]
pub struct NewCharge {
    pub account: AccountId,
    /// The account's saved card.
    pub method: PaymentMethodId,
    pub amount: Money,
    /// Idempotency key of the charge: one payment for each key.
    pub key: Uuid,
}

/// The outcome of a charge. `Pending`: the provider has not decided; `Failed` and `Expired`: nothing was charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChargeOutcome {
    pub payment: PaymentId,
    pub status: PaymentStatus,
    /// Why the card was declined.
    pub decline: Option<String>,
}

impl From<PaymentRow> for ChargeOutcome {
    fn from(row: PaymentRow) -> Self {
        ChargeOutcome { payment: row.id, status: row.status, decline: row.decline }
    }
}

/// Claims the payment and charges the card, for callers without a transaction of their own.
pub async fn charge(app: &App, charge: NewCharge) -> Result<ChargeOutcome, Problem> {
    let work = (app.clone(), charge);
    let claim = app.db.tx(work, |conn, (app, charge)| Box::pin(claim_charge(conn, app, charge)));
    let payment = claim.await?;
    run_charge(app, payment).await
}

/// Stores the payment that charges this card; it has failed already if the card is used too often. A card of another
/// account is 404.
pub async fn claim_charge(conn: &mut Conn, app: &App, charge: &NewCharge) -> Result<PaymentId, Problem> {
    let now = conn.now();
    let (provider, found) = (app.payments.provider(), methods::lock(conn, charge.method).await?);
    let card = found.filter(|method| method.account_id == charge.account).ok_or_else(Problem::not_found)?;
    if card.provider != provider {
        return Err(Problem::state_conflict(format!(
            "This card is saved at {}, but payments go through {provider}. Save it again.",
            card.provider
        )));
    }
    let (method, amount) = (card.id, charge.amount);
    let mark = RequestFingerprint { key: charge.key, body_digest: sha256(format!("{method} {amount}").as_bytes()) };
    let new = NewPayment {
        id: PaymentId::new(Entropy.uuid(now)),
        account_id: charge.account,
        purpose: Purpose::Recharge,
        provider,
        method_id: Some(method),
        amount: Some(amount),
        poll_at: next_poll(now, now),
        mark,
        now,
    };
    let payment = store::insert_or_find(conn, &new).await?;
    new.mark.check_same_body(payment.request_digest.as_deref().unwrap_or_default())?;
    let id = payment.id;
    if id == new.id {
        let name = card.card.unwrap_or_else(|| card_limit::unknown(method));
        let velocity = app.settings.card_velocity;
        if card_limit::is_exceeded(conn, &payment, &name, velocity).await? {
            store::set_status(conn, payment.id, PaymentStatus::Failed, Some(card_limit::REASON)).await?;
            store::stop_polling(conn, payment.id).await?;
        }
        events::record(conn, new.account_id, EventType::TopupCreated, &Topup::from(payment)).await?;
    }
    Ok(id)
}

/// Charges the card of a claimed payment and applies the outcome. Safe to repeat. If the provider does not answer, the
/// account may not be charged now, or another node is sending the charge, the poll job finishes the payment.
pub async fn run_charge(app: &App, id: PaymentId) -> Result<ChargeOutcome, Problem> {
    let payment = store::find(&mut *app.db.read().await?, id).await?.ok_or_else(Problem::not_found)?;
    if payment.status != PaymentStatus::Pending || !may_charge(app, &payment).await? {
        return Ok(payment.into());
    }
    match send_charge(app, &payment).await {
        Ok(Some(order)) => apply_order(app, order, Actor::System).await?,
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, payment = %id, "card charge failed, will be polled"),
    }
    let payment = store::find(&mut *app.db.read().await?, id).await?.ok_or_else(Problem::not_found)?;
    Ok(payment.into())
}

/// The charge of this key, if it was claimed.
pub async fn find_charge(conn: &mut Conn, account: AccountId, key: Uuid) -> Result<Option<ChargeOutcome>, DbError> {
    Ok(store::find_by_key(conn, account, Purpose::Recharge, key).await?.map(ChargeOutcome::from))
}

/// Whether the card may be charged now. A suspended account is not charged, nor one whose auto-recharge was switched off
/// while the provider did not answer; its payment expires like any other.
pub(super) async fn may_charge(app: &App, payment: &PaymentRow) -> Result<bool, DbError> {
    let mut reader = app.db.read().await?;
    let is_switched_off = auto_recharge::is_switched_off(&mut reader, payment.account_id).await?;
    Ok(!is_switched_off && onboarding::can_be_charged(&mut reader, payment.account_id).await?)
}

/// Has the provider charge the card, unless another node is doing so: providers do not promise that two simultaneous
/// requests lead to one charge.
pub(super) async fn send_charge(app: &App, payment: &PaymentRow) -> Result<Option<Order>, ProviderError> {
    let (id, now) = (payment.id, app.clock.now());
    let until = now.plus(CHARGE_LEASE);
    let lease = app.db.tx((id, until), |conn, (id, until)| Box::pin(store::lease_charge(conn, *id, *until)));
    if !lease.await? {
        return Ok(None);
    }
    let sent = tokio::time::timeout(CHARGE_TIMEOUT, request_charge(app, payment)).await;
    let sent = sent.unwrap_or_else(|_| Err(ProviderError("the charge timed out".into())));
    let pause = if sent.is_ok() { Duration::ZERO } else { RETRY_PAUSE };
    let release = (id, until, app.clock.now().plus(pause));
    app.db.tx(release, |conn, (id, until, free)| Box::pin(store::release_charge(conn, *id, *until, *free))).await?;
    sent.map(Some)
}

async fn request_charge(app: &App, payment: &PaymentRow) -> Result<Order, ProviderError> {
    let mut reader = app.db.read().await?;
    let (Some(method), Some(amount)) = (payment.method_id, payment.money()) else {
        return Err(ProviderError(format!("payment {} has no saved card", payment.id)));
    };
    let method =
        methods::find(&mut reader, method).await?.ok_or_else(|| ProviderError("the saved card was deleted".into()))?;
    let mut payer = payer(&mut reader, payment.account_id, payment.provider)
        .await
        .map_err(|problem| ProviderError(format!("{problem:?}")))?;
    drop(reader);
    payer.provider_customer = method.provider_customer;
    let reference = payment.id.to_string();
    app.payments.charge(ChargeRequest { reference, amount, payer, card_token: method.token }).await
}
