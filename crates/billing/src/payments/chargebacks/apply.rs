//! Applies a dispute that the provider reports: freezes its amount, ends it, and tells the customer and the team.
//!
//! The payment is locked first, as for refunds, so a payment is never refunded and disputed at the same time, and
//! events of one dispute are applied one after the other. A dispute that is already decided when it becomes known is
//! opened and decided in one transaction.

use std::time::Duration;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::store::{self, ChargebackRow, ChargebackStatus};
use crate::payments::rules::PaymentStatus;
use crate::payments::store::{self as payments, PaymentRow};
use crate::payments::{apply_order, auto_recharge};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::notifications::{PaymentDisputeLost, PaymentDisputeWon, PaymentDisputed, notify};
use identity::{onboarding, users};
use platform::app::App;
use platform::audit::{self, Actor, Outcome};
use platform::jobs::{Class, JobContext, JobError, Kind};
use platform::ledger::{self, Book, Entry};
use platform::mail::{self, DisputeStage, Recipient};
use platform::outside::payments::{Dispute, DisputeState, Provider};
use values::{ChargebackId, Money};

/// Enqueued by a webhook about a dispute.
pub const FETCH: Kind = Kind::new("chargeback.follow_up").class(Class::Payments);

/// Few attempts, since the schedule enqueues it again every hour.
pub const POLL: Kind = Kind::new("chargeback.poll").attempts(3).class(Class::Payments);

/// Disputes opened this long ago are looked for, in case their webhook was lost.
const POLL_WINDOW: Duration = Duration::from_secs(3 * 24 * 3600);

/// Open chargebacks polled at a time.
const BATCH: i64 = 100;

/// How many admins are told by mail.
const MAX_ADMINS: i64 = 50;

/// A dispute as the provider reports it.
struct ProviderUpdate {
    app: App,
    provider: Provider,
    dispute: Dispute,
    actor: Actor,
}

/// Fetches the dispute that a webhook named, and applies it.
pub async fn fetch_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let id =
        payload["dispute_id"].as_str().ok_or_else(|| JobError::Permanent("the payload has no dispute_id".into()))?;
    let dispute = context.app.payments.dispute(id).await.map_err(failed)?;
    match dispute {
        Some(dispute) => apply_dispute(&context.app, dispute, Actor::Webhook).await,
        // The provider does not know it, so there is nothing to apply.
        None => Ok(()),
    }
}

/// Polls the provider for new disputes and for decisions, in case a webhook was lost. The next poll does what an outage
/// of the provider kept this one from.
pub async fn poll_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let app = &context.app;
    let since = context.clock.now().minus(POLL_WINDOW);
    let Some(recent) = answer_or_log(app.payments.disputes_since(since).await) else { return Ok(()) };
    for dispute in recent {
        apply_or_log(app, dispute).await;
    }
    let mut after = ChargebackId::new(Uuid::nil());
    loop {
        let open = store::list_open(&mut *app.db.read().await?, app.payments.provider(), after, BATCH).await?;
        let Some(last) = open.last() else { return Ok(()) };
        after = last.id;
        for chargeback in &open {
            let answer = app.payments.dispute(&chargeback.provider_dispute_id).await;
            let Some(found) = answer_or_log(answer) else { return Ok(()) };
            if let Some(dispute) = found {
                apply_or_log(app, dispute).await;
            }
        }
    }
}

fn answer_or_log<T, E: std::fmt::Display>(answer: Result<T, E>) -> Option<T> {
    answer.inspect_err(|error| tracing::warn!(%error, "disputes could not be polled, retrying with the next poll")).ok()
}

/// One dispute that cannot be applied does not keep the others from it.
async fn apply_or_log(app: &App, dispute: Dispute) {
    let id = dispute.id.clone();
    if let Err(error) = apply_dispute(app, dispute, Actor::System).await {
        tracing::warn!(dispute = id, ?error, "dispute could not be applied");
    }
}

async fn apply_dispute(app: &App, dispute: Dispute, actor: Actor) -> Result<(), JobError> {
    // Its order first: the webhook of the payment may have been lost, or be later than that of the dispute.
    let order = app.payments.order(&dispute.order_id).await.map_err(failed)?;
    if let Some(order) = order {
        apply_order(app, order, actor).await.map_err(problem)?;
    }
    let update = ProviderUpdate { app: app.clone(), provider: app.payments.provider(), dispute, actor };
    app.db.tx(update, |conn, update| Box::pin(apply(conn, update))).await.map_err(problem)
}

async fn apply(conn: &mut Conn, update: &ProviderUpdate) -> Result<(), Problem> {
    let dispute = &update.dispute;
    let Some(payment) = payments::lock_order(conn, update.provider, &dispute.order_id).await? else {
        tracing::warn!(dispute = dispute.id, order_id = dispute.order_id, "dispute of an unknown order");
        return Ok(());
    };
    let chargeback = match store::lock_dispute(conn, update.provider, &dispute.id).await? {
        Some(known) => known,
        None => open(conn, update, &payment).await?,
    };
    match dispute.state {
        DisputeState::Open => Ok(()),
        DisputeState::Won => decide(conn, update, &chargeback, ChargebackStatus::Won).await,
        DisputeState::Lost => decide(conn, update, &chargeback, ChargebackStatus::Lost).await,
    }
}

/// Stores the chargeback and freezes its amount.
async fn open(conn: &mut Conn, update: &ProviderUpdate, payment: &PaymentRow) -> Result<ChargebackRow, Problem> {
    // A payment that went back because of its card's limit was paid too, and its bank does not look at that.
    let is_paid = payment.status == PaymentStatus::Completed || payment.return_id.is_some();
    let Some(paid) = payment.money().filter(|_| is_paid) else {
        return Err(Problem::internal(format!("payment {} is disputed, but not completed", payment.id)));
    };
    let chargeback = ChargebackRow {
        id: conn.new_id(),
        account_id: payment.account_id,
        payment_id: payment.id,
        provider: update.provider,
        provider_dispute_id: update.dispute.id.clone(),
        status: ChargebackStatus::Open,
        amount: frozen_amount(paid, update.dispute.amount).nanos(),
        currency: paid.currency(),
        created_at: conn.now(),
        decided_at: None,
    };
    conn.insert(&chargeback).await?;
    let (account, amount) = (chargeback.account_id, chargeback.money());
    let parts = [(Book::Disputes, amount)];
    let entry = Entry::charge(account, ledger::Kind::Dispute, chargeback.id.to_string(), &parts)?;
    let posted = ledger::debit_unguarded(conn, &entry.with_note("Disputed payment, frozen")).await?;
    // It would charge the same card for what its bank takes back.
    let recharge_off = auto_recharge::switch_off(conn, account).await?;
    let notification = PaymentDisputed {
        topup_id: payment.id.uuid(),
        amount,
        balance_after: posted.balance_after.into(),
        auto_recharge_disabled: recharge_off,
    };
    notify(conn, account, &notification).await?;
    let stage = DisputeStage::Opened { recharge_off };
    send_mails(conn, &update.app, &chargeback, stage, posted.balance_after).await?;
    append_audit(conn, update, &chargeback, "chargeback.open").await?;
    Ok(chargeback)
}

/// A bank cannot ask for more than was paid. An amount in another currency stands for the whole payment.
fn frozen_amount(paid: Money, disputed: Money) -> Money {
    let is_part = disputed.currency() == paid.currency() && disputed.is_positive() && disputed.nanos() <= paid.nanos();
    if is_part { disputed } else { paid }
}

/// Ends an open chargeback, once.
async fn decide(
    conn: &mut Conn,
    update: &ProviderUpdate,
    chargeback: &ChargebackRow,
    status: ChargebackStatus,
) -> Result<(), Problem> {
    if !store::decide(conn, chargeback.id, status).await? {
        return Ok(());
    }
    let (account, reference, amount) = (chargeback.account_id, chargeback.id.to_string(), chargeback.money());
    let release = Entry::credit(account, ledger::Kind::DisputeRelease, reference.clone(), &[(Book::Disputes, amount)])?;
    let mut posted = ledger::credit(conn, &release.with_note("End of a dispute")).await?;
    let topup_id = chargeback.payment_id.uuid();
    let (stage, action) = if status == ChargebackStatus::Won {
        let balance_after = posted.balance_after.into();
        notify(conn, account, &PaymentDisputeWon { topup_id, amount, balance_after }).await?;
        (DisputeStage::Won, "chargeback.win")
    } else {
        let charge = Entry::charge(account, ledger::Kind::Chargeback, reference, &[(Book::Clearing, amount)])?;
        posted = ledger::debit_unguarded(conn, &charge.with_note("Payment taken back by the card's bank")).await?;
        let balance_after = posted.balance_after.into();
        notify(conn, account, &PaymentDisputeLost { topup_id, amount, balance_after }).await?;
        (DisputeStage::Lost, "chargeback.lose")
    };
    send_mails(conn, &update.app, chargeback, stage, posted.balance_after).await?;
    append_audit(conn, update, chargeback, action).await
}

/// Tells the customer and the admins by mail.
async fn send_mails(
    conn: &mut Conn,
    app: &App,
    chargeback: &ChargebackRow,
    stage: DisputeStage,
    balance: Money,
) -> Result<(), DbError> {
    let Some(customer) = onboarding::find_account(conn, chargeback.account_id).await? else { return Ok(()) };
    let (amount, balance) = (chargeback.money(), to_cents(balance));
    let to = Recipient::new(&customer.contact_email, &customer.contact_name);
    mail::send(conn, app, &to, &mail::PaymentDispute { stage, amount, balance }).await?;
    for admin in users::list_admins(conn, MAX_ADMINS).await? {
        let (company, dispute) = (customer.company_name.to_string(), chargeback.provider_dispute_id.clone());
        let told = mail::TeamDispute { stage, company, amount, balance, dispute };
        mail::send(conn, app, &Recipient::new(&admin.email, &admin.name), &told).await?;
    }
    Ok(())
}

/// Rounds to whole cents, for mails.
fn to_cents(money: Money) -> Money {
    Money::from_minor(money.minor(), money.currency()).unwrap_or(money)
}

async fn append_audit(
    conn: &mut Conn,
    update: &ProviderUpdate,
    chargeback: &ChargebackRow,
    action: &'static str,
) -> Result<(), Problem> {
    let meta = [
        ("chargeback_id", chargeback.id.to_string()),
        ("payment_id", chargeback.payment_id.to_string()),
        ("amount", chargeback.money().to_string()),
    ];
    let entry = audit::Entry {
        action,
        account_id: Some(chargeback.account_id),
        user_id: None,
        actor: Some(update.actor),
        ip: None,
        user_agent: None,
        outcome: Outcome::Success,
        reason: None,
        meta: Map::from_iter(meta.map(|(name, value)| (name.to_owned(), Value::from(value)))),
    };
    Ok(audit::append(conn, &update.app.keys, &entry).await?)
}

fn failed(error: impl std::fmt::Display) -> JobError {
    JobError::Failed(error.to_string())
}

fn problem(problem: Problem) -> JobError {
    JobError::Failed(format!("{problem:?}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use values::Currency;

    #[test]
    fn no_more_than_the_payment_is_frozen() {
        let eur = |cents| Money::from_minor(cents, Currency::EUR).unwrap();
        let usd = Money::from_minor(10, "USD".parse().unwrap()).unwrap();
        assert_eq!(frozen_amount(eur(100), eur(40)), eur(40));
        for other in [eur(100), eur(101), eur(0), eur(-5), usd] {
            assert_eq!(frozen_amount(eur(100), other), eur(100));
        }
    }
}
