//! Charging a saved card while its holder is away, as auto-recharge does.
//!
//! ```ignore
//! // In the transaction that decides to charge; repeated with the same key it leads to the same payment.
//! let payment = payments::claim_charge(conn, &app, &NewCharge { account, method, amount, key }, now).await?;
//! // After it has committed, outside any transaction.
//! let charged = payments::run_charge(&app, payment).await?;
//! ```
//!
//! A charge that a crash or a silent provider leaves undone is finished by the poller. Its end leaves a job
//! ([`CHARGED`](super::CHARGED)), and [`find_charge`] tells how it stands.

use std::time::Duration;

use uuid::Uuid;

use super::methods;
use super::rules::{PaymentStatus, Purpose, next_poll};
use super::settle::settle;
use super::store::{self, NewPayment, PaymentRow};
use super::topups::payer;
use api::idempotency::RequestFingerprint;
use api::input::sha256;
use api::problem::Problem;
use db::{Conn, DbError};
use identity::onboarding;
use platform::app::App;
use platform::audit::Actor;
use platform::outside::payments::{ChargeRequest, Order, ProviderError};
use values::{AccountId, Money, PaymentId, PaymentMethodId, Time};

/// The longest that asking for a charge may take, which is a handful of requests.
const LONGEST: Duration = Duration::from_secs(90);

/// How long a charge is ours. It outlasts the longest, though another node's clock may be ahead.
const OURS: Duration = Duration::from_secs(180);

/// How long a provider that did not answer may still be at it: nobody asks again before.
const AFTERMATH: Duration = Duration::from_secs(30);

/// A charge to be.
#[derive(Clone, Debug)]
pub struct NewCharge {
    pub account: AccountId,
    /// The account's saved card.
    pub method: PaymentMethodId,
    pub amount: Money,
    /// The caller's name for this charge: one payment for each.
    pub key: Uuid,
}

/// How a charge stands. `Pending` means that the provider has not said; `Failed` and `Expired` that nothing was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charged {
    pub payment: PaymentId,
    pub status: PaymentStatus,
    /// Why the card was declined.
    pub decline: Option<String>,
}

impl From<PaymentRow> for Charged {
    fn from(row: PaymentRow) -> Self {
        Charged { payment: row.id, status: row.status, decline: row.decline }
    }
}

/// Claims the payment and charges the card: both halves, for whoever has no transaction of its own.
pub async fn charge(app: &App, charge: NewCharge) -> Result<Charged, Problem> {
    let work = (app.clone(), charge);
    let claim = app.db.tx(work, |conn, (app, charge)| Box::pin(claim_charge(conn, app, charge, app.clock.now())));
    let payment = claim.await?;
    run_charge(app, payment).await
}

/// Writes down that this card is to be charged. A card that is not the account's is 404.
pub async fn claim_charge(conn: &mut Conn, app: &App, charge: &NewCharge, now: Time) -> Result<PaymentId, Problem> {
    let (provider, found) = (app.payments.provider(), methods::lock(conn, charge.method).await?);
    let card = found.filter(|method| method.account_id == charge.account).ok_or_else(Problem::not_found)?;
    if card.provider != provider {
        return Err(Problem::state_conflict(format!(
            "This card is kept by {}; payments go through {provider}.",
            card.provider
        )));
    }
    let (method, amount) = (card.id, charge.amount);
    let mark = RequestFingerprint { key: charge.key, body_digest: sha256(format!("{method} {amount}").as_bytes()) };
    let new = NewPayment {
        id: PaymentId::new(app.entropy.uuid(now)),
        account_id: charge.account,
        purpose: Purpose::Recharge,
        provider,
        method_id: Some(method),
        amount: Some(amount),
        poll_at: next_poll(now, now),
        mark,
        now,
    };
    let payment = store::begin(conn, &new).await?;
    new.mark.check_same_body(payment.request_digest.as_deref().unwrap_or_default())?;
    Ok(payment.id)
}

/// Charges the card of a claimed payment and settles it. Safe to repeat. Where the provider does not answer, the account
/// may not be charged now, or somebody else is charging the card, the payment waits for the poller.
pub async fn run_charge(app: &App, id: PaymentId) -> Result<Charged, Problem> {
    let payment = store::find(&mut *app.db.read().await?, id).await?.ok_or_else(Problem::not_found)?;
    if payment.status != PaymentStatus::Pending || !may_be_sent(app, &payment).await? {
        return Ok(payment.into());
    }
    match send(app, &payment).await {
        Ok(Some(order)) => settle(app, order, Actor::System).await?,
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, payment = %id, "the payment provider charged no card"),
    }
    let payment = store::find(&mut *app.db.read().await?, id).await?.ok_or_else(Problem::not_found)?;
    Ok(payment.into())
}

/// How the charge of this key stands, if it was claimed.
pub async fn find_charge(conn: &mut Conn, account: AccountId, key: Uuid) -> Result<Option<Charged>, DbError> {
    Ok(store::find_by_key(conn, account, Purpose::Recharge, key).await?.map(Charged::from))
}

/// Whether the card may be charged now. An account that was suspended since it was decided is left alone; a payment
/// that waits for it expires as any other.
pub(super) async fn may_be_sent(app: &App, payment: &PaymentRow) -> Result<bool, DbError> {
    onboarding::may_be_charged(&mut *app.db.read().await?, payment.account_id).await
}

/// Asks the provider to charge the card of a payment, unless somebody else is at it. No provider promises that two who
/// ask at the same moment lead to one charge.
pub(super) async fn send(app: &App, payment: &PaymentRow) -> Result<Option<Order>, ProviderError> {
    let (id, now) = (payment.id, app.clock.now());
    let until = now.plus(OURS);
    let take =
        app.db.tx((id, until, now), |conn, (id, until, now)| Box::pin(store::take_charge(conn, *id, *until, *now)));
    if !take.await? {
        return Ok(None);
    }
    let sent = tokio::time::timeout(LONGEST, ask(app, payment)).await;
    let sent = sent.unwrap_or_else(|_| Err(ProviderError("the charge takes too long".into())));
    let rest = if sent.is_ok() { Duration::ZERO } else { AFTERMATH };
    let leave = (id, until, app.clock.now().plus(rest));
    app.db.tx(leave, |conn, (id, until, free)| Box::pin(store::leave_charge(conn, *id, *until, *free))).await?;
    sent.map(Some)
}

async fn ask(app: &App, payment: &PaymentRow) -> Result<Order, ProviderError> {
    let mut reader = app.db.read().await?;
    let (Some(method), Some(amount)) = (payment.method_id, payment.money()) else {
        return Err(ProviderError(format!("{} charges no card", payment.id)));
    };
    let method = methods::find(&mut reader, method).await?.ok_or_else(|| ProviderError("the card is gone".into()))?;
    let mut payer = payer(&mut reader, payment.account_id, payment.provider)
        .await
        .map_err(|problem| ProviderError(format!("{problem:?}")))?;
    drop(reader);
    payer.provider_customer = method.provider_customer;
    let reference = payment.id.to_string();
    app.payments.charge(ChargeRequest { reference, amount, payer, card_token: method.token }).await
}
