//! Looking at a balance: what follows from where it stands, and where to look next.

use serde_json::Value;
use uuid::Uuid;

use super::rules::Picture;
use super::{low_pct, store};
use crate::{dunning, recharge};
use db::{Conn, DbError};
use identity::accounts;
use identity::balance::CURRENCY;
use identity::notifications::{BalanceExhausted, BalanceLow, notify};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use platform::ledger::{self, BalanceChanged, LedgerError};
use platform::letters::{self, Addressee};
use values::{AccountId, Money, Time};

/// A new day has fewer days of spend behind it: balances that were low may not be any more.
pub const RECHECK: Kind = Kind::new("balance.recheck");

const BATCH: i64 = 200;
const SPEND_DAYS: i64 = 30;

pub async fn moved_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let moved: BalanceChanged =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    if moved.currency == CURRENCY { look_at(&context, moved.account_id).await } else { Ok(()) }
}

pub async fn recheck_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let mut after = AccountId::new(Uuid::nil());
    loop {
        let batch = store::low(&mut *context.db.read().await?, after, BATCH).await?;
        let Some((last,)) = batch.last() else { return Ok(()) };
        after = *last;
        for (account,) in &batch {
            look_at(&context, *account).await?;
        }
    }
}

async fn look_at(context: &JobContext<App>, account: AccountId) -> Result<(), JobError> {
    let input = (context.app.clone(), account, context.clock.now());
    let looked = context.db.tx(input, |conn, (app, account, now)| Box::pin(look(conn, app, *account, *now)));
    looked.await.map_err(|error| match error {
        LedgerError::Db(error) => JobError::Db(error),
        error => JobError::Failed(error.to_string()),
    })
}

/// The balance stands still meanwhile, so what is seen is true and no charge slips by the new mark.
async fn look(conn: &mut Conn, app: &App, account: AccountId, now: Time) -> Result<(), LedgerError> {
    let balance = ledger::lock_balance(conn, account, CURRENCY).await?;
    let picture = Picture {
        balance: balance.current.nanos(),
        minimum: balance.minimum.nanos(),
        spend: ledger::spend(conn, account, CURRENCY, SPEND_DAYS, now).await?.nanos(),
        low_pct: low_pct(conn, account).await?,
        recharge_below: recharge::threshold(conn, account).await?.map(Money::nanos),
    };
    tell_of_fall(conn, app, account, &picture, now).await?;
    if picture.is_negative() {
        dunning::raise(conn, account, dunning::Reason::NegativeBalance, now).await?;
    } else {
        dunning::settle(conn, account, dunning::Reason::NegativeBalance).await?;
    }
    if recharge::is_filled(conn, account, balance.current).await? {
        dunning::settle(conn, account, dunning::Reason::FailedRecharge).await?;
    }
    if picture.wants_recharge() {
        recharge::begin(conn, app, account, now).await?;
    }
    let mark = picture.low_water().map(money);
    Ok(ledger::set_low_water(conn, account, CURRENCY, mark).await?)
}

/// Tells of what has become true since the last look, and remembers it until it is no longer true.
async fn tell_of_fall(
    conn: &mut Conn,
    app: &App,
    account: AccountId,
    picture: &Picture,
    now: Time,
) -> Result<(), DbError> {
    // An account that never had money is not told that it has none.
    let (low_at, exhausted_at) = store::seen(conn, account).await?.unwrap_or((None, Some(now)));
    let since = |is: bool, was: Option<Time>| is.then_some(was.unwrap_or(now));
    let (is_low, is_exhausted) = (picture.is_low(), picture.is_exhausted());
    store::remember(conn, account, since(is_low, low_at), since(is_exhausted, exhausted_at)).await?;
    if is_low && low_at.is_none() {
        tell_low(conn, app, account, picture, now).await?;
    }
    if is_exhausted && exhausted_at.is_none() {
        tell_exhausted(conn, app, account, picture, now).await?;
    }
    Ok(())
}

async fn tell_low(conn: &mut Conn, app: &App, account: AccountId, picture: &Picture, now: Time) -> Result<(), DbError> {
    let (balance, threshold) = (money(picture.balance), money(picture.low_threshold().unwrap_or_default()));
    let threshold_pct = picture.low_pct.unwrap_or_default();
    let news = BalanceLow {
        balance: balance.into(),
        threshold: threshold.into(),
        threshold_pct,
        spend_30d: money(picture.spend).into(),
    };
    notify(conn, app.entropy, account, &news, now).await?;
    if let Some(to) = addressee(conn, account).await? {
        let (balance, threshold) = (to_cents(balance), to_cents(threshold));
        letters::send(conn, app, &to, &letters::BalanceLow { balance, threshold, threshold_pct }, now).await?;
    }
    Ok(())
}

async fn tell_exhausted(
    conn: &mut Conn,
    app: &App,
    account: AccountId,
    picture: &Picture,
    now: Time,
) -> Result<(), DbError> {
    let (balance, minimum) = (money(picture.balance), money(picture.minimum));
    notify(conn, app.entropy, account, &BalanceExhausted { balance: balance.into(), minimum }, now).await?;
    if let Some(to) = addressee(conn, account).await? {
        letters::send(conn, app, &to, &letters::BalanceExhausted { balance: to_cents(balance) }, now).await?;
    }
    Ok(())
}

async fn addressee(conn: &mut Conn, account: AccountId) -> Result<Option<Addressee>, DbError> {
    let contact = accounts::contact(conn, account).await?;
    Ok(contact.map(|contact| Addressee::new(&contact.contact_email, &contact.contact_name)))
}

fn money(nanos: i64) -> Money {
    Money::from_nanos(nanos, CURRENCY)
}

/// A person reads cents.
fn to_cents(money: Money) -> Money {
    Money::from_minor(money.minor(), money.currency()).unwrap_or(money)
}
