//! Applies the provider's order to a payment, after a webhook, a poll or a charge.
//!
//! The payment is locked, so it changes status once and its money is posted to the ledger once, however often the same
//! order is applied.

use std::fmt;

use serde_json::{Map, Value, json};

use super::card_limit;
use super::charge;
use super::methods;
use super::refunds;
use super::rules::{PaymentStatus, Purpose, is_expired, needs_polling, next_poll, next_status};
use super::store::{self, PaymentRow};
use super::types::Topup;
use api::problem::Problem;
use db::Conn;
use identity::events::{self, EventType};
use identity::notifications::{TopupCompleted, TopupFailed, notify};
use identity::onboarding::{Event, apply_event};
use platform::app::App;
use platform::audit::{self, Actor, Outcome};
use platform::jobs::{Class, JobContext, JobError, Kind, enqueue};
use platform::ledger::{self, Book, Entry};
use platform::outside::payments::{Order, OrderState, ProviderError};
use values::{PaymentId, Time};

/// Few attempts, since the schedule enqueues it again every minute.
pub const POLL: Kind = Kind::new("payment.poll").attempts(3).class(Class::Payments);

/// Enqueued when a charge of a saved card has ended.
pub const CHARGED: Kind = Kind::new("payment.charged").class(Class::Payments);

/// Payments polled in one run.
const BATCH: i64 = 100;

/// After so many failures one after the other, a run ends.
const FAILURES_IN_A_ROW: usize = 3;

/// What the provider reports about a payment.
struct ProviderUpdate {
    app: App,
    id: PaymentId,
    order: Option<Order>,
    actor: Actor,
    now: Time,
}

/// Applies an order to its payment. Orders of other features are ignored.
pub async fn apply_order(app: &App, order: Order, actor: Actor) -> Result<(), Problem> {
    let Ok(id) = order.reference.parse() else { return Ok(()) };
    apply_update(ProviderUpdate { app: app.clone(), id, order: Some(order), actor, now: app.clock.now() }).await
}

async fn apply_update(update: ProviderUpdate) -> Result<(), Problem> {
    let db = update.app.db.clone();
    db.tx(update, |conn, update| Box::pin(apply(conn, update))).await
}

async fn apply(conn: &mut Conn, update: &ProviderUpdate) -> Result<(), Problem> {
    let Some(payment) = store::lock(conn, update.id).await? else { return Ok(()) };
    if let Some(order) = &update.order {
        store::set_order_id(conn, update.id, &order.id).await?;
    }
    let state = update.order.as_ref().map(|order| order.state);
    let status = next_status(payment.status, state, payment.created_at, update.now);
    if !needs_polling(status, state, payment.created_at, update.now) {
        store::stop_polling(conn, update.id).await?;
    }
    if status == payment.status || payment.return_id.is_some() {
        return Ok(());
    }
    let mut decline = update.order.as_ref().and_then(|order| order.decline.as_deref());
    let mut status = status;
    if let (PaymentStatus::Completed, Some(order)) = (status, &update.order)
        && card_limit::must_return(conn, &update.app, &payment, order).await?
    {
        (status, decline) = (PaymentStatus::Failed, Some(card_limit::REASON));
    }
    store::set_status(conn, update.id, status, decline).await?;
    match (status, &update.order) {
        (PaymentStatus::Completed, Some(order)) => complete(conn, &payment, order).await?,
        (PaymentStatus::Failed | PaymentStatus::Expired, _) => notify_failure(conn, &payment, decline).await?,
        _ => {}
    }
    record_event(conn, update.id, status).await?;
    if payment.purpose == Purpose::Recharge {
        enqueue(conn, CHARGED, json!({ "account_id": payment.account_id })).await?;
    }
    let entry = audit_entry(update, &payment, status);
    audit::append(conn, &update.app.keys, &entry).await?;
    Ok(())
}

/// Credits the money to the customer, or saves the card that was entered.
async fn complete(conn: &mut Conn, payment: &PaymentRow, order: &Order) -> Result<(), Problem> {
    if order.amount != payment.money() {
        let (expected, paid) = (payment.money(), order.amount);
        return Err(Problem::internal(format!("payment {}: expected {expected:?}, paid {paid:?}", payment.id)));
    }
    let account = payment.account_id;
    let Some(amount) = payment.money() else {
        return Ok(methods::save(conn, account, payment.provider, order).await?);
    };
    let note = if payment.purpose == Purpose::Recharge { "Automatic top-up" } else { "Top-up" };
    let entry = Entry::credit(account, ledger::Kind::Topup, payment.id.to_string(), &[(Book::Clearing, amount)])?;
    let posted = ledger::credit(conn, &entry.with_note(note)).await?;
    store::set_balance_after(conn, payment.id, posted.balance_after).await?;
    let notification =
        TopupCompleted { topup_id: payment.id.uuid(), amount, balance_after: posted.balance_after.into() };
    notify(conn, account, &notification).await?;
    apply_event(conn, account, Event::ToppedUp).await
}

/// Notifies of a failed top-up. Auto-recharge notifies of its own failed charges.
async fn notify_failure(conn: &mut Conn, payment: &PaymentRow, decline: Option<&str>) -> Result<(), Problem> {
    if let (Purpose::Topup, Some(amount)) = (payment.purpose, payment.money()) {
        let notification = TopupFailed { topup_id: payment.id.uuid(), amount, reason: decline.map(str::to_owned) };
        notify(conn, payment.account_id, &notification).await?;
    }
    Ok(())
}

/// Records how a top-up or an auto-recharge ended.
async fn record_event(conn: &mut Conn, id: PaymentId, status: PaymentStatus) -> Result<(), Problem> {
    let kind = match status {
        PaymentStatus::Completed => EventType::TopupCompleted,
        PaymentStatus::Failed | PaymentStatus::Expired => EventType::TopupFailed,
        _ => return Ok(()),
    };
    if let Some(payment) = store::find(conn, id).await?.filter(|payment| payment.purpose != Purpose::Card) {
        events::record(conn, payment.account_id, kind, &Topup::from(payment)).await?;
    }
    Ok(())
}

fn audit_entry(update: &ProviderUpdate, payment: &PaymentRow, status: PaymentStatus) -> audit::Entry {
    let completed = status == PaymentStatus::Completed;
    let mut meta = Map::from_iter([("payment_id".to_owned(), Value::from(update.id.to_string()))]);
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
        actor: Some(update.actor),
        ip: None,
        user_agent: None,
        outcome: if completed { Outcome::Success } else { Outcome::Failure },
        reason: (!completed).then(|| status.as_str().to_owned()),
        meta,
    }
}

/// Polls the provider for payments and refunds whose webhook did not arrive or that a crash interrupted, and expires
/// payments whose checkout was open for too long. A provider that does not answer is left alone until the next run.
pub async fn poll_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (app, now) = (&context.app, context.clock.now());
    let due = store::list_due(&mut *app.db.read().await?, BATCH).await?;
    let mut failures = Failures::default();
    for payment in due {
        let fetched = poll(app, &payment, now).await;
        let again = next_poll(payment.created_at, now);
        let later = app.db.tx((payment.id, again), |conn, (id, again)| Box::pin(store::set_poll_at(conn, *id, *again)));
        later.await?;
        if failures.are_enough(payment.id, &fetched) {
            break;
        }
    }
    refunds::finish_due(app, now, BATCH).await
}

/// How many requests in a row failed. A single one may fail because of its order alone.
#[derive(Default)]
pub struct Failures(usize);

impl Failures {
    /// Logs a failure of what has this id; whether the provider seems to be away.
    pub fn are_enough(&mut self, id: impl fmt::Display, outcome: &Result<(), ProviderError>) -> bool {
        match outcome {
            Ok(()) => self.0 = 0,
            Err(error) => {
                tracing::warn!(%id, %error, "payment provider could not be polled");
                self.0 += 1;
            }
        }
        self.0 >= FAILURES_IN_A_ROW
    }
}

async fn poll(app: &App, payment: &PaymentRow, now: Time) -> Result<(), ProviderError> {
    // Orders of a provider that is no longer configured cannot be fetched; their payments expire.
    let order = if payment.provider == app.payments.provider() { fetch_order(app, payment, now).await? } else { None };
    let update = ProviderUpdate { app: app.clone(), id: payment.id, order, actor: Actor::System, now };
    if let Err(problem) = apply_update(update).await {
        tracing::warn!(payment = %payment.id, ?problem, "polled payment could not be changed");
    }
    Ok(())
}

async fn fetch_order(app: &App, payment: &PaymentRow, now: Time) -> Result<Option<Order>, ProviderError> {
    let late = is_expired(payment.created_at, now);
    let order = match &payment.provider_order_id {
        Some(id) => app.payments.order(id).await?,
        None => app.payments.find(&payment.id.to_string()).await?,
    };
    let is_open = order.as_ref().is_none_or(|order| !order.state.is_final());
    match order {
        // A charge that was interrupted is sent again, but not after the payment has expired.
        order if is_open && payment.purpose == Purpose::Recharge && !late => {
            if !charge::may_charge(app, payment).await? {
                return Ok(order);
            }
            Ok(charge::send_charge(app, payment).await?.or(order))
        }
        // Close the checkout before the payment expires, so that a last-moment payer has either paid or cannot.
        Some(order) if late && order.state == OrderState::Pending => {
            app.payments.cancel(&order.id).await?;
            app.payments.order(&order.id).await
        }
        order => Ok(order),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_are_enough_to_leave_a_provider_alone() {
        let mut failures = Failures::default();
        let failed = || Err(ProviderError("refused".to_owned()));
        for (outcome, are_enough) in [
            (failed(), false),
            (failed(), false),
            (Ok(()), false),
            (failed(), false),
            (failed(), false),
            (failed(), true),
        ] {
            assert_eq!(failures.are_enough(1, &outcome), are_enough);
        }
    }
}
