//! What became of a verification: by callback or by asking, it ends once.

use serde_json::{Map, Value};

use super::rules::{CardStatus, next};
use super::store::{self, Open};
use crate::payments::{next_poll, save_card};
use api::problem::Problem;
use db::Conn;
use identity::onboarding::{Event, apply_event};
use platform::app::App;
use platform::audit::{self, Actor, Entry, Outcome};
use platform::jobs::{JobContext, JobError, Kind};
use platform::outside::payments::{Order, OrderState};
use values::{AccountId, CardVerificationId, Time};

/// The next tick makes up for one that failed.
pub const POLL: Kind = Kind::new("card.poll").attempts(3);

/// Verifications asked for in one run; the others are next.
const BATCH: i64 = 100;

/// What the provider says of a verification.
struct Word {
    app: App,
    id: CardVerificationId,
    order: Option<Order>,
    actor: Actor,
    now: Time,
}

/// Takes note of an order. One that belongs to no verification is somebody else's.
pub async fn settle(app: &App, order: Order, actor: Actor) -> Result<(), Problem> {
    let Ok(id) = order.reference.parse() else { return Ok(()) };
    take_word(Word { app: app.clone(), id, order: Some(order), actor, now: app.clock.now() }).await
}

async fn take_word(word: Word) -> Result<(), Problem> {
    let db = word.app.db.clone();
    db.tx(word, |conn, word| Box::pin(apply(conn, word))).await
}

async fn apply(conn: &mut Conn, word: &Word) -> Result<(), Problem> {
    let Some(known) = store::lock(conn, word.id).await? else { return Ok(()) };
    let state = word.order.as_ref().map_or(OrderState::Pending, |order| order.state);
    let status = next(known.status, state, known.created_at, word.now);
    if status == known.status {
        return Ok(());
    }
    let card = word.order.as_ref().and_then(|order| order.card.as_ref());
    store::move_to(conn, word.id, status, card.map(|saved| &saved.card), word.now).await?;
    if let (CardStatus::Verified, Some(order)) = (status, &word.order) {
        save_card(conn, word.app.entropy, known.account_id, known.provider, order, word.now).await?;
    }
    let event = match status {
        CardStatus::Verified => Event::CardVerified,
        CardStatus::VerificationFailed => Event::CardFailed,
        CardStatus::PendingVerification | CardStatus::Completing => return Ok(()),
    };
    apply_event(conn, known.account_id, event, word.now).await?;
    let entry = audit_entry(word, known.account_id, status);
    audit::append(conn, &word.app.keys, word.app.entropy, word.now, &entry).await?;
    Ok(())
}

fn audit_entry(word: &Word, account: AccountId, status: CardStatus) -> Entry {
    let failed = status == CardStatus::VerificationFailed;
    Entry {
        action: "card.verify",
        account_id: Some(account),
        user_id: None,
        actor: Some(word.actor),
        ip: None,
        user_agent: None,
        outcome: if failed { Outcome::Failure } else { Outcome::Success },
        reason: failed.then(|| status.as_str().to_owned()),
        meta: Map::from_iter([("payment_method_id".to_owned(), Value::from(word.id.to_string()))]),
    }
}

/// Asks the provider for verifications whose callback may never come, and gives up those that waited for too long.
pub async fn poll_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (app, now) = (&context.app, context.clock.now());
    let due = store::due(&mut *app.db.read().await?, now, BATCH).await?;
    for open in due {
        if let Err(reason) = poll(app, &open, now).await {
            tracing::warn!(verification = %open.id, reason, "could not ask for a card verification");
        }
        let again = next_poll(open.created_at, now);
        let later = app.db.tx((open.id, again), |conn, (id, again)| Box::pin(store::poll_later(conn, *id, *again)));
        later.await?;
    }
    Ok(())
}

async fn poll(app: &App, open: &Open, now: Time) -> Result<(), String> {
    // Another provider's orders, left from before the settings changed, can only be waited for.
    let order = match &open.provider_order_id {
        Some(id) if open.provider == app.payments.provider() => {
            app.payments.order(id).await.map_err(|error| error.to_string())?
        }
        _ => None,
    };
    let word = Word { app: app.clone(), id: open.id, order, actor: Actor::System, now };
    take_word(word).await.map_err(|problem| format!("{problem:?}"))
}
