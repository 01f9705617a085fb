//! Checks a balance: sends alerts, starts auto-recharge, updates dunning and sets the next low-water mark.

use serde_json::Value;
use uuid::Uuid;

use super::rules::BalanceState;
use super::{low_pct, store};
use crate::dunning;
use crate::payments::auto_recharge;
use db::{Conn, DbError};
use identity::accounts;
use identity::balance::CURRENCY;
use identity::notifications::{BalanceExhausted, BalanceLow, NotificationCode, notify, send_mail};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use platform::ledger::{self, BalanceChanged, LedgerError};
use platform::mail::{self, Recipient};
use values::{AccountId, Money, Time};

/// Daily: as days leave the 30-day spend, low balances may stop being low.
pub const RECHECK: Kind = Kind::new("balance.recheck");

const BATCH: i64 = 200;
const SPEND_DAYS: i64 = 30;

pub async fn moved_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let moved: BalanceChanged =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    if moved.currency == CURRENCY { check_account(&context, moved.account_id).await } else { Ok(()) }
}

pub async fn recheck_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let mut after = AccountId::new(Uuid::nil());
    loop {
        let batch = store::list_low(&mut *context.db.read().await?, after, BATCH).await?;
        let Some((last,)) = batch.last() else { return Ok(()) };
        after = *last;
        for (account,) in &batch {
            check_account(&context, *account).await?;
        }
    }
}

async fn check_account(context: &JobContext<App>, account: AccountId) -> Result<(), JobError> {
    let input = (context.app.clone(), account);
    let checked = context.db.tx(input, |conn, (app, account)| Box::pin(check_balance(conn, app, *account)));
    checked.await.map_err(|error| match error {
        LedgerError::Db(error) => JobError::Db(error),
        error => JobError::Failed(error.to_string()),
    })
}

/// The balance is locked meanwhile, so no charge passes the new mark unnoticed.
async fn check_balance(conn: &mut Conn, app: &App, account: AccountId) -> Result<(), LedgerError> {
    let now = conn.now();
    let balance = ledger::lock_balance(conn, account, CURRENCY).await?;
    let state = BalanceState {
        balance: balance.current.nanos(),
        minimum: balance.minimum.nanos(),
        spend: ledger::spend(conn, account, CURRENCY, SPEND_DAYS).await?.nanos(),
        low_pct: low_pct(conn, account).await?,
        recharge_below: auto_recharge::threshold(conn, account).await?.map(Money::nanos),
    };
    send_alerts(conn, app, account, &state).await?;
    if state.is_negative() {
        dunning::raise(conn, account, dunning::Reason::NegativeBalance).await?;
    } else {
        dunning::clear(conn, account, dunning::Reason::NegativeBalance).await?;
    }
    if auto_recharge::is_above_threshold(conn, account, balance.current).await? {
        dunning::clear(conn, account, dunning::Reason::FailedRecharge).await?;
    }
    if state.wants_recharge() {
        auto_recharge::enqueue_attempt(conn, account, now).await?;
    }
    let mark = state.low_water().map(money);
    Ok(ledger::set_low_water(conn, account, CURRENCY, mark).await?)
}

/// Alerts when the balance has become low or exhausted since the last check, and stores that until it no longer is.
async fn send_alerts(conn: &mut Conn, app: &App, account: AccountId, state: &BalanceState) -> Result<(), DbError> {
    let now = conn.now();
    // A new account without money gets no alert that its balance is exhausted.
    let (low_at, exhausted_at) = store::alert_state(conn, account).await?.unwrap_or((None, Some(now)));
    let since = |is: bool, was: Option<Time>| is.then_some(was.unwrap_or(now));
    let (is_low, is_exhausted) = (state.is_low(), state.is_exhausted());
    store::save_alert_state(conn, account, since(is_low, low_at), since(is_exhausted, exhausted_at)).await?;
    if is_low && low_at.is_none() {
        alert_low(conn, app, account, state).await?;
    }
    if is_exhausted && exhausted_at.is_none() {
        alert_exhausted(conn, app, account, state).await?;
    }
    Ok(())
}

async fn alert_low(conn: &mut Conn, app: &App, account: AccountId, state: &BalanceState) -> Result<(), DbError> {
    let (balance, threshold) = (money(state.balance), money(state.low_threshold().unwrap_or_default()));
    let threshold_pct = state.low_pct.unwrap_or_default();
    let notification = BalanceLow {
        balance: balance.into(),
        threshold: threshold.into(),
        threshold_pct,
        spend_30d: money(state.spend).into(),
    };
    notify(conn, account, &notification).await?;
    if let Some(to) = addressee(conn, account).await? {
        let (balance, threshold) = (to_cents(balance), to_cents(threshold));
        mail::send(conn, app, &to, &mail::BalanceLow { balance, threshold, threshold_pct }).await?;
    }
    Ok(())
}

async fn alert_exhausted(conn: &mut Conn, app: &App, account: AccountId, state: &BalanceState) -> Result<(), DbError> {
    let (balance, minimum) = (money(state.balance), money(state.minimum));
    notify(conn, account, &BalanceExhausted { balance: balance.into(), minimum }).await?;
    let mail = mail::BalanceExhausted { balance: to_cents(balance) };
    send_mail(conn, app, account, NotificationCode::BalanceExhausted, &mail).await
}

async fn addressee(conn: &mut Conn, account: AccountId) -> Result<Option<Recipient>, DbError> {
    let contact = accounts::contact(conn, account).await?;
    Ok(contact.map(|contact| Recipient::new(&contact.contact_email, &contact.contact_name)))
}

fn money(nanos: i64) -> Money {
    Money::from_nanos(nanos, CURRENCY)
}

/// Rounds to whole cents, for mails.
fn to_cents(money: Money) -> Money {
    Money::from_minor(money.minor(), money.currency()).unwrap_or(money)
}
