//! What became of a payment: by callback, by asking or by the answer to a charge, it ends once, and its money lands in
//! the ledger once.

use serde_json::{Map, Value, json};

use super::charge;
use super::methods;
use super::refunds;
use super::rules::{PaymentStatus, Purpose, is_late, is_watched, next, next_poll};
use super::store::{self, PaymentRow};
use api::problem::Problem;
use db::Conn;
use identity::notifications::{TopupCompleted, TopupFailed, notify};
use identity::onboarding::{Event, happened};
use platform::app::App;
use platform::audit::{self, Actor, Outcome};
use platform::jobs::{JobContext, JobError, Kind, NewJob, enqueue};
use platform::ledger::{self, Book, Entry};
use platform::outside::payments::{Order, OrderState, ProviderError};
use values::{PaymentId, Time};

/// The next tick makes up for one that failed.
pub const POLL: Kind = Kind::new("payment.poll").attempts(3);

/// A charge of a saved card has ended, for whoever asked for it.
pub const CHARGED: Kind = Kind::new("payment.charged");

/// Payments asked for in one run; the others are next.
const BATCH: i64 = 100;

/// What the provider says of a payment.
struct Word {
    app: App,
    id: PaymentId,
    order: Option<Order>,
    actor: Actor,
    now: Time,
}

/// Takes note of an order. One that belongs to no payment is somebody else's.
pub async fn settle(app: &App, order: Order, actor: Actor) -> Result<(), Problem> {
    let Ok(id) = order.reference.parse() else { return Ok(()) };
    take_word(Word { app: app.clone(), id, order: Some(order), actor, now: app.clock.now() }).await
}

async fn take_word(word: Word) -> Result<(), Problem> {
    let app = word.app.clone();
    app.db.tx(word, |conn, word| Box::pin(apply(conn, word))).await?;
    app.jobs_waker.notify_one();
    Ok(())
}

async fn apply(conn: &mut Conn, word: &Word) -> Result<(), Problem> {
    let Some(payment) = store::lock(conn, word.id).await? else { return Ok(()) };
    if let Some(order) = &word.order {
        store::keep_order(conn, word.id, &order.id, word.now).await?;
    }
    let state = word.order.as_ref().map(|order| order.state);
    let status = next(payment.status, state, payment.created_at, word.now);
    if !is_watched(status, state, payment.created_at, word.now) {
        store::poll_no_more(conn, word.id).await?;
    }
    if status == payment.status {
        return Ok(());
    }
    let decline = word.order.as_ref().and_then(|order| order.decline.as_deref());
    store::move_to(conn, word.id, status, decline, word.now).await?;
    match (status, &word.order) {
        (PaymentStatus::Completed, Some(order)) => complete(conn, word, &payment, order).await?,
        (PaymentStatus::Failed | PaymentStatus::Expired, _) => tell_of_failure(conn, word, &payment, decline).await?,
        _ => {}
    }
    if payment.purpose == Purpose::Recharge {
        let (id, payload) = (word.app.entropy.uuid(word.now), json!({ "account_id": payment.account_id }));
        enqueue(conn, &NewJob { id, kind: CHARGED, payload, run_at: word.now }).await?;
    }
    let entry = audit_entry(word, &payment, status);
    audit::append(conn, &word.app.keys, word.app.entropy, word.now, &entry).await?;
    Ok(())
}

/// What a payer paid is the customer's; a card that was shown is saved.
async fn complete(conn: &mut Conn, word: &Word, payment: &PaymentRow, order: &Order) -> Result<(), Problem> {
    if order.amount != payment.money() {
        let (asked, paid) = (payment.money(), order.amount);
        return Err(Problem::internal(format!("{asked:?} was asked for {} and {paid:?} was paid", payment.id)));
    }
    let (app, account, now) = (&word.app, payment.account_id, word.now);
    let Some(amount) = payment.money() else {
        return Ok(methods::save(conn, app.entropy, account, payment.provider, order, now).await?);
    };
    let note = if payment.purpose == Purpose::Recharge { "Automatic top-up" } else { "Top-up" };
    let entry = Entry::credit(account, ledger::Kind::Topup, payment.id.to_string(), &[(Book::Clearing, amount)])?;
    let posted = ledger::credit(conn, app.entropy, &entry.with_note(note), now).await?;
    store::keep_balance(conn, payment.id, posted.balance_after).await?;
    let news = TopupCompleted { topup_id: payment.id.uuid(), amount, balance_after: posted.balance_after.into() };
    notify(conn, app.entropy, account, &news, now).await?;
    happened(conn, account, Event::ToppedUp, now).await
}

/// A charge of a saved card is told of by who asked for it.
async fn tell_of_failure(
    conn: &mut Conn,
    word: &Word,
    payment: &PaymentRow,
    decline: Option<&str>,
) -> Result<(), Problem> {
    if let (Purpose::Topup, Some(amount)) = (payment.purpose, payment.money()) {
        let news = TopupFailed { topup_id: payment.id.uuid(), amount, reason: decline.map(str::to_owned) };
        notify(conn, word.app.entropy, payment.account_id, &news, word.now).await?;
    }
    Ok(())
}

fn audit_entry(word: &Word, payment: &PaymentRow, status: PaymentStatus) -> audit::Entry {
    let completed = status == PaymentStatus::Completed;
    let mut meta = Map::from_iter([("payment_id".to_owned(), Value::from(word.id.to_string()))]);
    if let Some(amount) = payment.money() {
        meta.insert("amount".to_owned(), Value::from(amount.to_string()));
    }
    audit::Entry {
        action: match payment.purpose {
            Purpose::Topup => "topup.settle",
            Purpose::Recharge => "recharge.settle",
            Purpose::Card => "payment_method.settle",
        },
        account_id: Some(payment.account_id),
        user_id: None,
        actor: Some(word.actor),
        ip: None,
        user_agent: None,
        outcome: if completed { Outcome::Success } else { Outcome::Failure },
        reason: (!completed).then(|| status.as_str().to_owned()),
        meta,
    }
}

/// Asks the provider for payments and refunds whose callback may never come or that a crash left, and gives up those
/// that waited for too long.
pub async fn poll_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (app, now) = (&context.app, context.clock.now());
    let due = store::due(&mut *app.db.read().await?, now, BATCH).await?;
    for payment in due {
        if let Err(reason) = poll(app, &payment, now).await {
            tracing::warn!(payment = %payment.id, reason, "could not ask for a payment");
        }
        let again = next_poll(payment.created_at, now);
        let later = app.db.tx((payment.id, again), |conn, (id, again)| Box::pin(store::poll_later(conn, *id, *again)));
        later.await?;
    }
    refunds::finish_due(app, now, BATCH).await
}

async fn poll(app: &App, payment: &PaymentRow, now: Time) -> Result<(), String> {
    // Another provider's orders, left from before the settings changed, can only be waited for.
    let order = if payment.provider == app.payments.provider() {
        ask(app, payment, now).await.map_err(|error| error.to_string())?
    } else {
        None
    };
    let word = Word { app: app.clone(), id: payment.id, order, actor: Actor::System, now };
    take_word(word).await.map_err(|problem| format!("{problem:?}"))
}

async fn ask(app: &App, payment: &PaymentRow, now: Time) -> Result<Option<Order>, ProviderError> {
    let late = is_late(payment.created_at, now);
    let order = match &payment.provider_order_id {
        Some(id) => app.payments.order(id).await?,
        None => app.payments.find(&payment.id.to_string()).await?,
    };
    let is_open = order.as_ref().is_none_or(|order| !order.state.is_final());
    match order {
        // The charge that was cut off, before it was made or before it was given up. A late one is not made up for:
        // nobody expects it any more.
        order if is_open && payment.purpose == Purpose::Recharge && !late => {
            if !charge::may_be_sent(app, payment).await? {
                return Ok(order);
            }
            Ok(charge::send(app, payment).await?.or(order))
        }
        // The checkout is closed first, so that whoever pays at the last moment either has paid or cannot.
        Some(order) if late && order.state == OrderState::Pending => {
            app.payments.cancel(&order.id).await?;
            app.payments.order(&order.id).await
        }
        order => Ok(order),
    }
}
