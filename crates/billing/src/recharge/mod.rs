//! Auto-recharge: a balance that falls below its threshold refills itself from a saved card.
//!
//! `GET` and `PUT /account/auto-recharge` hold the settings. The watch over balances calls [`begin`] when one falls
//! below; a job then decides by `rules`, charges the card behind `cards`, and writes down what came of it (`attempt`).
//! The end of a charge decides anew.
//! Only an account that was let in and is not suspended is charged. Attempts go one at a time, three a day at most, and
//! a card that is declined twice in a row is not tried again until the customer says so.

mod attempt;
mod cards;
mod rules;
mod store;

pub use attempt::{ATTEMPT, attempt, attempt_job, begin};
pub use cards::{Cards, Charge, Outcome};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::dunning;
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::Body;
use api::problem::{InvalidParam, Problem};
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use identity::{accounts, onboarding};
use platform::ledger;
use store::Settings;
use values::{AccountId, Money};

const EURO: i64 = 1_000_000_000;

/// What `threshold` and `recharge_amount` may be at most, in nanos.
const MOST: i64 = 50_000 * EURO;

#[derive(Serialize, JsonSchema)]
pub struct AutoRecharge {
    pub enabled: bool,
    /// Below this the balance refills itself.
    pub threshold: Money,
    /// What is charged, or the multiple of it that lifts the balance over the threshold.
    pub recharge_amount: Money,
    pub payment_method_id: Option<Uuid>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoRechargeUpdate {
    enabled: bool,
    /// In EUR, from 0 to 50000.
    threshold: Money,
    /// In EUR, from 1 to 50000.
    recharge_amount: Money,
    /// One of the account's own; needed while enabled.
    #[serde(default)]
    payment_method_id: Option<Uuid>,
}

/// What an account that never chose anything is shown.
const UNTOUCHED: Settings = Settings {
    enabled: false,
    threshold: 20 * EURO,
    recharge_amount: 100 * EURO,
    payment_method_id: None,
    declines: 0,
    declined_at: None,
};

impl From<Settings> for AutoRecharge {
    fn from(settings: Settings) -> Self {
        AutoRecharge {
            enabled: settings.enabled,
            threshold: Money::from_nanos(settings.threshold, CURRENCY),
            recharge_amount: Money::from_nanos(settings.recharge_amount, CURRENCY),
            payment_method_id: settings.payment_method_id,
        }
    }
}

impl AutoRechargeUpdate {
    /// Everything that is wrong with it by itself.
    fn faults(&self) -> Vec<InvalidParam> {
        let mut faults = Vec::new();
        let mut wrong = |name: &str, reason: String| faults.push(InvalidParam { name: name.into(), reason });
        for (name, amount, least) in [("threshold", self.threshold, 0), ("recharge_amount", self.recharge_amount, 1)] {
            let in_range = (least * EURO..=MOST).contains(&amount.nanos());
            if amount.currency() != CURRENCY {
                wrong(&format!("{name}.currency"), format!("must be {CURRENCY}"));
            } else if !in_range || Money::from_minor(amount.minor(), CURRENCY) != Ok(amount) {
                wrong(name, format!("must be whole cents from {least}.00 to 50000.00 {CURRENCY}"));
            }
        }
        if self.enabled && self.payment_method_id.is_none() {
            wrong("payment_method_id", "is needed while enabled".into());
        }
        faults
    }
}

pub async fn show(mut ctx: ReadCtx) -> Result<Json<AutoRecharge>, Problem> {
    let account = ctx.principal()?.account_id;
    Ok(Json(settings(&mut ctx, account).await?.into()))
}

async fn settings(conn: &mut Conn, account: AccountId) -> Result<Settings, DbError> {
    Ok(store::settings(conn, account).await?.unwrap_or(UNTOUCHED))
}

/// Below what the balance refills itself, if it does.
pub async fn threshold(conn: &mut Conn, account: AccountId) -> Result<Option<Money>, DbError> {
    let settings = settings(conn, account).await?;
    Ok(settings.enabled.then(|| Money::from_nanos(settings.threshold, CURRENCY)))
}

/// Whether the balance is where it was to be kept, by whatever means: then no recharge that failed matters any more.
pub async fn is_filled(conn: &mut Conn, account: AccountId, balance: Money) -> Result<bool, DbError> {
    Ok(balance.nanos() >= settings(conn, account).await?.threshold)
}

pub async fn change(
    ctx: RequestCtx,
    Body(wanted): Body<AutoRechargeUpdate>,
) -> Result<Committed<Json<AutoRecharge>>, Problem> {
    let faults = wanted.faults();
    if !faults.is_empty() {
        return Err(Problem::validation(faults));
    }
    let account = ctx.principal()?.account_id;
    ctx.note("enabled", wanted.enabled);
    ctx.commit((account, wanted), |tx, (account, wanted)| Box::pin(save(tx, *account, wanted))).await
}

async fn save(tx: &mut Tx<'_>, account: AccountId, wanted: &AutoRechargeUpdate) -> Result<Json<AutoRecharge>, Problem> {
    onboarding::must_be_active(tx, account).await?;
    // Who removes a card meanwhile waits, and then sees that it is needed here.
    accounts::lock(tx, account).await?;
    let before = store::lock(tx, account).await?.unwrap_or(UNTOUCHED);
    tx.expect_version(&AutoRecharge::from(before))?;
    if let Some(card) = wanted.payment_method_id
        && !cards::is_own(tx, account, card).await?
    {
        return Err(Problem::invalid("payment_method_id", "names no card of yours"));
    }
    let (now, entropy) = (tx.ctx.now, tx.ctx.app.entropy);
    let settings = Settings {
        enabled: wanted.enabled,
        threshold: wanted.threshold.nanos(),
        recharge_amount: wanted.recharge_amount.nanos(),
        payment_method_id: wanted.payment_method_id,
        // Whoever looked at the settings and saved them gets a fresh start.
        declines: 0,
        declined_at: None,
    };
    store::save(tx, account, &settings, now).await?;
    dunning::settle(tx, account, dunning::Reason::FailedRecharge).await?;
    ledger::enqueue_balance_check(tx, entropy, account, CURRENCY, now).await?;
    Ok(Json(settings.into()))
}
