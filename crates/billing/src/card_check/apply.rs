//! Applies the provider's order to a card verification, after a webhook or a poll.

use serde_json::{Map, Value};

use super::rules::{CardStatus, next_status};
use super::store::{self, DueVerification};
use crate::payments::{Failures, next_poll, save_card};
use api::problem::Problem;
use db::Conn;
use identity::onboarding::{Event, apply_event};
use platform::app::App;
use platform::audit::{self, Actor, Entry, Outcome};
use platform::jobs::{Class, JobContext, JobError, Kind};
use platform::outside::payments::{Order, OrderState, ProviderError};
use values::{AccountId, CardVerificationId, Time};

/// Few attempts, since the schedule enqueues it again every minute.
pub const POLL: Kind = Kind::new("card.poll").attempts(3).class(Class::Payments);

/// Verifications polled in one run.
const BATCH: i64 = 100;

/// What the provider reports about a verification.
struct ProviderUpdate {
    app: App,
    id: CardVerificationId,
    order: Option<Order>,
    actor: Actor,
    now: Time,
}

/// Applies an order to its verification. Orders of other features are ignored.
pub async fn apply_order(app: &App, order: Order, actor: Actor) -> Result<(), Problem> {
    let Ok(id) = order.reference.parse() else { return Ok(()) };
    apply_update(ProviderUpdate { app: app.clone(), id, order: Some(order), actor, now: app.clock.now() }).await
}

async fn apply_update(update: ProviderUpdate) -> Result<(), Problem> {
    let db = update.app.db.clone();
    db.tx(update, |conn, update| Box::pin(apply(conn, update))).await
}

async fn apply(conn: &mut Conn, update: &ProviderUpdate) -> Result<(), Problem> {
    let Some(known) = store::lock(conn, update.id).await? else { return Ok(()) };
    let state = update.order.as_ref().map_or(OrderState::Pending, |order| order.state);
    let status = next_status(known.status, state, known.created_at, update.now);
    if status == known.status {
        return Ok(());
    }
    let card = update.order.as_ref().and_then(|order| order.card.as_ref());
    store::set_status(conn, update.id, status, card.map(|saved| &saved.card)).await?;
    if let (CardStatus::Verified, Some(order)) = (status, &update.order) {
        save_card(conn, known.account_id, known.provider, order).await?;
    }
    let event = match status {
        CardStatus::Verified => Event::CardVerified,
        CardStatus::VerificationFailed => Event::CardFailed,
        CardStatus::PendingVerification | CardStatus::Completing => return Ok(()),
    };
    apply_event(conn, known.account_id, event).await?;
    let entry = audit_entry(update, known.account_id, status);
    audit::append(conn, &update.app.keys, &entry).await?;
    Ok(())
}

fn audit_entry(update: &ProviderUpdate, account: AccountId, status: CardStatus) -> Entry {
    let failed = status == CardStatus::VerificationFailed;
    Entry {
        action: "card.verify",
        account_id: Some(account),
        user_id: None,
        actor: Some(update.actor),
        ip: None,
        user_agent: None,
        outcome: if failed { Outcome::Failure } else { Outcome::Success },
        reason: failed.then(|| status.as_str().to_owned()),
        meta: Map::from_iter([("payment_method_id".to_owned(), Value::from(update.id.to_string()))]),
    }
}

/// Polls the provider for verifications whose webhook did not arrive, and fails those that are too old. A provider that
/// does not answer is left alone until the next run.
pub async fn poll_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (app, now) = (&context.app, context.clock.now());
    let due = store::list_due(&mut *app.db.read().await?, BATCH).await?;
    let mut failures = Failures::default();
    for verification in due {
        let fetched = poll(app, &verification, now).await;
        let again = next_poll(verification.created_at, now);
        let later =
            app.db.tx((verification.id, again), |conn, (id, again)| Box::pin(store::set_poll_at(conn, *id, *again)));
        later.await?;
        if failures.are_enough(verification.id, &fetched) {
            break;
        }
    }
    Ok(())
}

async fn poll(app: &App, due: &DueVerification, now: Time) -> Result<(), ProviderError> {
    // Orders of a provider that is no longer configured cannot be fetched; their verifications expire.
    let order = match &due.provider_order_id {
        Some(id) if due.provider == app.payments.provider() => app.payments.order(id).await?,
        _ => None,
    };
    let update = ProviderUpdate { app: app.clone(), id: due.id, order, actor: Actor::System, now };
    if let Err(problem) = apply_update(update).await {
        tracing::warn!(verification = %due.id, ?problem, "polled card verification could not be changed");
    }
    Ok(())
}
