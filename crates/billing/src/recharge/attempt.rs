//! One attempt: decide and write it down, charge the card, write down what came of it.
//!
//! The card is charged under the attempt's id, outside of any transaction, so whoever finds an attempt that was never
//! ended asks again and hears of the same payment. A payment that waits is the poller's to finish. Its end leaves a job,
//! which ends the attempt with it and decides anew.

use serde_json::{Value, json};

use super::cards::{self, Cards, Charge, Outcome, SavedCards};
use super::rules::{self, Decision, Situation};
use super::store::{self, Attempt, AttemptStatus, Settings};
use crate::dunning;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use identity::notifications::{RechargeFailed, notify};
use identity::{accounts, onboarding};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind, NewJob, enqueue};
use platform::ledger;
use platform::letters::{self, Addressee};
use values::{AccountId, Money, Time};

pub const ATTEMPT: Kind = Kind::new("recharge.attempt");

/// Has it decided whether this balance refills itself, now or later.
pub async fn begin(conn: &mut Conn, app: &App, account: AccountId, at: Time) -> Result<(), DbError> {
    let (id, payload) = (app.entropy.uuid(app.clock.now()), json!({ "account_id": account }));
    enqueue(conn, &NewJob { id, kind: ATTEMPT, payload, run_at: at }).await
}

pub async fn attempt_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let account: AccountId = serde_json::from_value(payload["account_id"].clone())
        .map_err(|error| JobError::Permanent(error.to_string()))?;
    attempt(&context.app, &SavedCards, account).await
}

/// Refills the balance, if that is what is to be done now.
pub async fn attempt(app: &App, cards: &impl Cards, account: AccountId) -> Result<(), JobError> {
    let started = app.db.tx((app.clone(), account, app.clock.now()), |conn, (app, account, now)| {
        Box::pin(start(conn, app, *account, *now))
    });
    let Some(attempt) = started.await? else { return Ok(()) };
    let charge = Charge {
        id: attempt.id,
        account: attempt.account_id,
        payment_method: attempt.payment_method_id,
        amount: Money::from_nanos(attempt.amount, CURRENCY),
    };
    let outcome = cards.charge(app, &charge).await?;
    let input = (app.clone(), attempt, outcome, app.clock.now());
    app.db.tx(input, |conn, (app, attempt, outcome, now)| Box::pin(finish(conn, app, attempt, outcome, *now))).await
}

/// The attempt to go on with: a new one, or one that nobody has ended.
async fn start(conn: &mut Conn, app: &App, account: AccountId, now: Time) -> Result<Option<Attempt>, JobError> {
    if let Some(attempt) = store::open(conn, account).await? {
        let outcome = cards::outcome(conn, account, attempt.id).await?;
        finish(conn, app, &attempt, &outcome, now).await?;
    }
    let Some(settings) = store::lock(conn, account).await? else { return Ok(None) };
    let open = store::open(conn, account).await?;
    let situation = Situation {
        enabled: settings.enabled && onboarding::may_be_charged(conn, account).await?,
        balance: ledger::balance(conn, account, CURRENCY).await?.current.nanos(),
        threshold: settings.threshold,
        recharge_amount: settings.recharge_amount,
        open_since: open.as_ref().map(|attempt| attempt.started_at),
        begun_today: store::begun_since(conn, account, rules::today(now)).await?,
        declined_at: settings.declined_at.filter(|_| settings.declines > 0),
        now,
    };
    match (rules::decide(&situation), settings.payment_method_id) {
        (Decision::Charge(amount), Some(payment_method_id)) => {
            let id = app.entropy.uuid(now);
            let attempt = Attempt { id, account_id: account, payment_method_id, amount, started_at: now };
            store::begin(conn, &attempt).await?;
            Ok(Some(attempt))
        }
        (Decision::Resume, _) => Ok(open),
        (Decision::Wait(until), _) => {
            begin(conn, app, account, until).await?;
            Ok(None)
        }
        (Decision::Rest | Decision::Charge(_), _) => Ok(None),
    }
}

async fn finish(conn: &mut Conn, app: &App, attempt: &Attempt, outcome: &Outcome, now: Time) -> Result<(), JobError> {
    let account = attempt.account_id;
    let Some(mut settings) = store::lock(conn, account).await? else { return Ok(()) };
    match outcome {
        Outcome::Pending => {}
        Outcome::Paid => {
            if store::end(conn, attempt.id, AttemptStatus::Paid, now).await? {
                (settings.declines, settings.declined_at) = (0, None);
                store::save(conn, account, &settings, now).await?;
                dunning::settle(conn, account, dunning::Reason::FailedRecharge).await?;
            }
        }
        Outcome::Declined { reason } => {
            if store::end(conn, attempt.id, AttemptStatus::Declined, now).await? {
                declined(conn, app, attempt, settings, reason.clone(), now).await?;
            }
        }
    }
    Ok(())
}

async fn declined(
    conn: &mut Conn,
    app: &App,
    attempt: &Attempt,
    mut settings: Settings,
    reason: Option<String>,
    now: Time,
) -> Result<(), DbError> {
    let (account, amount) = (attempt.account_id, Money::from_nanos(attempt.amount, CURRENCY));
    settings.declines = settings.declines.saturating_add(1);
    settings.declined_at = Some(now);
    let disabled = rules::gives_up(settings.declines);
    settings.enabled &= !disabled;
    store::save(conn, account, &settings, now).await?;
    dunning::raise(conn, account, dunning::Reason::FailedRecharge, now).await?;
    let payment_method_id = attempt.payment_method_id;
    let news = RechargeFailed { payment_method_id, amount, reason, disabled };
    notify(conn, app.entropy, account, &news, now).await?;
    if disabled && let Some(contact) = accounts::contact(conn, account).await? {
        let to = Addressee::new(&contact.contact_email, &contact.contact_name);
        letters::send(conn, app, &to, &letters::RechargeOff { amount }, now).await?;
    }
    Ok(())
}
