//! How often one card may pay in 24 hours and how much, whichever accounts it pays for (`TRUNKLINE_CARD_…_PER_DAY`).
//!
//! A saved card is known before it is charged: beyond the limit it is not. The card of a top-up is entered at the
//! provider's checkout and known once it has paid: beyond the limit the top-up fails with the reason `card_limit`, and
//! a job has the provider send the money back. The ledger gets both movements, so that its clearing book stays what the
//! provider holds for us, and the balance never rises.

use serde_json::{Value, json};
use uuid::Uuid;

use super::chargebacks::{self, ChargebackStatus};
use super::rules::{DAY, Purpose};
use super::store::{self, PaymentRow};
use api::problem::Problem;
use db::Conn;
use platform::app::App;
use platform::config::Velocity;
use platform::jobs::{Class, JobContext, JobError, Kind, enqueue};
use platform::ledger::{self, Book, Entry};
use platform::outside::payments::{Order, ProviderError, RefundState};
use values::{PaymentId, PaymentMethodId};

pub use super::store::purge_cards as purge;

/// Why the payment failed.
pub const REASON: &str = "card_limit";

/// Sends a payment back. An outage of the provider for most of a day is waited for.
pub const RETURN: Kind = Kind::new("payment.return").attempts(20).class(Class::Payments);

/// The name of a saved card of which the provider says nothing: it is the same only as itself.
pub fn unknown(method: PaymentMethodId) -> String {
    format!("saved {method}")
}

/// Counts a payment with this card; true if the card is beyond its limit with it.
pub async fn is_exceeded(
    conn: &mut Conn,
    payment: &PaymentRow,
    card: &str,
    velocity: Velocity,
) -> Result<bool, Problem> {
    let since = conn.now().minus(DAY);
    // Cards are named by their provider.
    let card = format!("{} {card}", payment.provider);
    let (count, sum) = store::use_card(conn, payment.id, &card, since).await?;
    let is_exceeded = count > velocity.per_day || sum > velocity.amount_per_day.nanos();
    if is_exceeded {
        tracing::warn!(payment = %payment.id, account = %payment.account_id, count, "card limit exceeded");
    }
    Ok(is_exceeded)
}

/// Whether a paid top-up goes back because of its card; then its return is stored and enqueued.
pub async fn must_return(conn: &mut Conn, app: &App, payment: &PaymentRow, order: &Order) -> Result<bool, Problem> {
    let (Purpose::Topup, Some(card), Some(amount)) = (payment.purpose, &order.paid_with, payment.money()) else {
        return Ok(false);
    };
    if !is_exceeded(conn, payment, card, app.settings.card_velocity).await? {
        return Ok(false);
    }
    let (account, reference) = (payment.account_id, payment.id.to_string());
    let parts = [(Book::Clearing, amount)];
    let paid = Entry::credit(account, ledger::Kind::Topup, reference.clone(), &parts)?;
    ledger::credit(conn, &paid.with_note("Top-up")).await?;
    let returned = Entry::charge(account, ledger::Kind::Refund, reference, &parts)?;
    ledger::debit_unguarded(conn, &returned.with_note("Top-up returned: the limit of its card is reached")).await?;
    let return_id: Uuid = conn.new_id();
    store::set_return_id(conn, payment.id, return_id).await?;
    enqueue(conn, RETURN, json!({ "payment_id": payment.id })).await?;
    Ok(true)
}

/// Has the provider send a payment back. It is identified by the reference, so repeating it has no second effect.
pub async fn return_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let app = &context.app;
    let id: PaymentId = serde_json::from_value(payload["payment_id"].clone())
        .map_err(|error| JobError::Permanent(error.to_string()))?;
    let payment = store::find(&mut *app.db.read().await?, id).await?;
    let payment = payment.ok_or_else(|| JobError::Permanent(format!("there is no payment {id}")))?;
    let (Some(order), Some(amount), Some(reference)) = (&payment.provider_order_id, payment.money(), payment.return_id)
    else {
        return Err(JobError::Permanent(format!("payment {id} is not to be returned")));
    };
    if payment.provider != app.payments.provider() {
        return Err(JobError::Failed(format!("payment {id} was made through {}", payment.provider)));
    }
    let disputed = chargebacks::against(&mut *app.db.read().await?, id).await?;
    if let Some(status) = disputed
        && app.payments.find_refund(&reference.to_string()).await.map_err(failed)?.is_none()
    {
        return Err(match status {
            ChargebackStatus::Lost => JobError::Permanent(format!(
                "the card's bank has taken payment {id} back, so it is not returned: credit {amount} to the customer"
            )),
            _ => JobError::Failed(format!("the card's bank disputes payment {id}")),
        });
    }
    let refund = app.payments.refund(order, amount, &reference.to_string()).await;
    match refund.map_err(failed)?.state {
        RefundState::Completed => Ok(()),
        RefundState::Pending => Err(JobError::Failed(format!("the return of payment {id} is being processed"))),
        RefundState::Failed => Err(JobError::Permanent(format!("the provider refused to return payment {id}"))),
    }
}

fn failed(error: ProviderError) -> JobError {
    JobError::Failed(error.to_string())
}
