//! One auto-recharge attempt: decide and store it, charge the card, record the outcome.
//!
//! The card is charged outside of any transaction, with the attempt's id as idempotency key, so a run that finds an
//! open attempt charges again and gets the same payment. A pending payment is finished by the poll job of `payments`,
//! which enqueues this job again to end the attempt.

use serde_json::{Value, json};

use super::cards::{self, Cards, Charge, Outcome, SavedCards};
use super::rules::{self, Decision, Situation};
use super::store::{self, Attempt, AttemptStatus, Settings};
use crate::dunning;
use db::{Conn, DbError, Entropy};
use identity::balance::CURRENCY;
use identity::notifications::{RechargeFailed, notify};
use identity::{accounts, onboarding};
use platform::app::App;
use platform::jobs::{Class, JobContext, JobError, Kind, enqueue_at};
use platform::ledger;
use platform::mail::{self, Recipient};
use values::{AccountId, Money, Time};

pub const ATTEMPT: Kind = Kind::new("recharge.attempt").class(Class::Payments);

/// Enqueues the job that decides whether to charge, to run at this time.
pub async fn enqueue_attempt(conn: &mut Conn, account: AccountId, at: Time) -> Result<(), DbError> {
    enqueue_at(conn, ATTEMPT, json!({ "account_id": account }), at).await?;
    Ok(())
}

pub async fn attempt_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let account: AccountId = serde_json::from_value(payload["account_id"].clone())
        .map_err(|error| JobError::Permanent(error.to_string()))?;
    attempt(&context.app, &SavedCards, account).await
}

/// Charges the card if `rules` say so.
pub async fn attempt(app: &App, cards: &impl Cards, account: AccountId) -> Result<(), JobError> {
    let started = app.db.tx((app.clone(), account), |conn, (app, account)| Box::pin(start(conn, app, *account)));
    let Some(attempt) = started.await? else { return Ok(()) };
    let charge = Charge {
        id: attempt.id,
        account: attempt.account_id,
        payment_method: attempt.payment_method_id,
        amount: Money::from_nanos(attempt.amount, CURRENCY),
    };
    let outcome = cards.charge(app, &charge).await?;
    let input = (app.clone(), attempt, outcome);
    app.db.tx(input, |conn, (app, attempt, outcome)| Box::pin(finish(conn, app, attempt, outcome))).await
}

/// The attempt to charge for: a new one, or an open one that is due to be resumed.
async fn start(conn: &mut Conn, app: &App, account: AccountId) -> Result<Option<Attempt>, JobError> {
    let now = conn.now();
    if let Some(attempt) = store::find_open(conn, account).await? {
        let outcome = cards::outcome(conn, account, attempt.id).await?;
        finish(conn, app, &attempt, &outcome).await?;
    }
    let Some(settings) = store::lock(conn, account).await? else { return Ok(None) };
    let open = store::find_open(conn, account).await?;
    let situation = Situation {
        enabled: settings.enabled && onboarding::can_be_charged(conn, account).await?,
        balance: ledger::balance(conn, account, CURRENCY).await?.current.nanos(),
        threshold: settings.threshold,
        recharge_amount: settings.recharge_amount,
        open_since: open.as_ref().map(|attempt| attempt.started_at),
        attempts_today: store::count_attempts_since(conn, account, rules::day_start(now)).await?,
        declined_at: settings.declined_at.filter(|_| settings.declines > 0),
        now,
    };
    match (rules::decide(&situation), settings.payment_method_id) {
        (Decision::Charge(amount), Some(payment_method_id)) => {
            let id = Entropy.uuid(now);
            let attempt = Attempt { id, account_id: account, payment_method_id, amount, started_at: now };
            store::insert_attempt(conn, &attempt).await?;
            Ok(Some(attempt))
        }
        (Decision::Resume, _) => Ok(open),
        (Decision::Wait(until), _) => {
            enqueue_attempt(conn, account, until).await?;
            Ok(None)
        }
        (Decision::Nothing | Decision::Charge(_), _) => Ok(None),
    }
}

async fn finish(conn: &mut Conn, app: &App, attempt: &Attempt, outcome: &Outcome) -> Result<(), JobError> {
    let account = attempt.account_id;
    let Some(mut settings) = store::lock(conn, account).await? else { return Ok(()) };
    match outcome {
        Outcome::Pending => {}
        Outcome::Paid => {
            if store::end_attempt(conn, attempt.id, AttemptStatus::Paid).await? {
                (settings.declines, settings.declined_at) = (0, None);
                store::save(conn, account, &settings).await?;
                dunning::clear(conn, account, dunning::Reason::FailedRecharge).await?;
            }
        }
        Outcome::Declined { reason } => {
            if store::end_attempt(conn, attempt.id, AttemptStatus::Declined).await? {
                record_decline(conn, app, attempt, settings, reason.clone()).await?;
            }
        }
    }
    Ok(())
}

async fn record_decline(
    conn: &mut Conn,
    app: &App,
    attempt: &Attempt,
    mut settings: Settings,
    reason: Option<String>,
) -> Result<(), DbError> {
    let now = conn.now();
    let (account, amount) = (attempt.account_id, Money::from_nanos(attempt.amount, CURRENCY));
    settings.declines = settings.declines.saturating_add(1);
    settings.declined_at = Some(now);
    let disabled = rules::switches_off(settings.declines);
    settings.enabled &= !disabled;
    store::save(conn, account, &settings).await?;
    dunning::raise(conn, account, dunning::Reason::FailedRecharge).await?;
    let payment_method_id = attempt.payment_method_id;
    let notification = RechargeFailed { payment_method_id, amount, reason, disabled };
    notify(conn, account, &notification).await?;
    if disabled && let Some(contact) = accounts::contact(conn, account).await? {
        let to = Recipient::new(&contact.contact_email, &contact.contact_name);
        mail::send(conn, app, &to, &mail::RechargeOff { amount }).await?;
    }
    Ok(())
}
