//! Auto-recharge: charges a saved card when the balance falls below the customer's threshold.
//!
//! `GET` and `PUT /account/auto-recharge` are the settings. `low_balance` calls [`enqueue_attempt`] when a balance
//! falls below the threshold; the job decides by `rules`, charges the card through `cards` and records the outcome
//! (`attempt`). When a charge ends, the job runs again.
//!
//! Only an admitted account that is not suspended is charged. There is one attempt at a time and at most three a day,
//! and two declines in a row switch auto-recharge off until the customer saves the settings again.

mod attempt;
mod cards;
mod rules;
mod store;

pub use attempt::{ATTEMPT, attempt, attempt_job, enqueue_attempt};
pub use cards::{Cards, Charge, Outcome, SavedCards};
pub use store::{is_switched_off, switch_off};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::dunning;
use api::answer::Json;
use api::checks::{Checked, Checks, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::faults::Faults;
use api::input::{Body, Path};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::{CURRENCY, check_amount};
use identity::{accounts, onboarding};
use platform::ledger;
use store::Settings;
use values::{AccountId, Money};

const EURO: i64 = 1_000_000_000;

/// Maximum of `threshold` and `recharge_amount`, in nanos.
const MAX_AMOUNT: i64 = 50_000 * EURO;

/// Auto-recharge settings of an account.
#[derive(Serialize, JsonSchema)]
pub struct AutoRecharge {
    /// Whether auto-recharge is on; two declined charges in a row switch it off.
    pub enabled: bool,
    /// The card is charged when the balance falls below this amount.
    pub threshold: Money,
    /// Amount to charge; if that is not enough, the smallest multiple that lifts the balance over the threshold.
    pub recharge_amount: Money,
    /// Saved card to charge; null when none was chosen or it was deleted.
    pub payment_method_id: Option<Uuid>,
}

/// New auto-recharge settings; saving them also clears earlier declines.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoRechargeUpdate {
    /// Whether auto-recharge is on.
    enabled: bool,
    /// The card is charged when the balance falls below this amount: whole cents from 0 to 50000 EUR.
    threshold: Money,
    /// Amount to charge, or the multiple of it that is needed: whole cents from 1 to 50000 EUR.
    recharge_amount: Money,
    /// Saved card of the account to charge; required while enabled.
    #[serde(default)]
    payment_method_id: Option<Uuid>,
}

/// Settings of an account that never saved any.
const DEFAULT_SETTINGS: Settings = Settings {
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

impl Checks for AutoRechargeUpdate {
    fn check(given: &Given<'_>) {
        for (name, min) in [("threshold", 0), ("recharge_amount", 1)] {
            check_amount(given, name, |amount| {
                let is_within = (min * EURO..=MAX_AMOUNT).contains(&amount.nanos()) && amount.is_in_minor_units();
                must(is_within, format!("must be whole cents from {min}.00 to 50000.00 {CURRENCY}"))
            });
        }
        given.check_with("payment_method_id", "enabled", |card: Option<Uuid>, enabled: bool| {
            must(card.is_some() || !enabled, "is required while enabled")
        });
    }
}

pub async fn show(mut ctx: ReadCtx) -> Result<Json<AutoRecharge>, Problem> {
    let account = ctx.principal()?.account_id;
    Ok(Json(settings(&mut ctx, account).await?.into()))
}

/// The same for the team, of any customer.
pub async fn show_of_customer(
    mut ctx: ReadCtx,
    Path(customer): Path<AccountId>,
) -> Result<Json<AutoRecharge>, Problem> {
    onboarding::require_customer(&mut ctx, customer).await?;
    Ok(Json(settings(&mut ctx, customer).await?.into()))
}

async fn settings(conn: &mut Conn, account: AccountId) -> Result<Settings, DbError> {
    Ok(store::settings(conn, account).await?.unwrap_or(DEFAULT_SETTINGS))
}

/// The threshold, if auto-recharge is on.
pub async fn threshold(conn: &mut Conn, account: AccountId) -> Result<Option<Money>, DbError> {
    let settings = settings(conn, account).await?;
    Ok(settings.enabled.then(|| Money::from_nanos(settings.threshold, CURRENCY)))
}

/// Whether the balance has reached the threshold, by any payment: an earlier failed recharge then no longer matters.
pub async fn is_above_threshold(conn: &mut Conn, account: AccountId, balance: Money) -> Result<bool, DbError> {
    Ok(balance.nanos() >= settings(conn, account).await?.threshold)
}

pub async fn update(
    ctx: RequestCtx,
    Body(Checked(request)): Body<Checked<AutoRechargeUpdate>>,
) -> Result<Committed<Json<AutoRecharge>>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.audit_note("enabled", request.enabled);
    ctx.commit((account, request), |tx, (account, request)| Box::pin(save(tx, *account, request))).await
}

async fn save(
    tx: &mut Tx<'_>,
    account: AccountId,
    request: &AutoRechargeUpdate,
) -> Result<Json<AutoRecharge>, Problem> {
    onboarding::require_active(tx, account).await?;
    // Deleting a card takes the same lock, and then sees that auto-recharge uses the card.
    accounts::lock(tx, account).await?;
    let before = store::lock(tx, account).await?.unwrap_or(DEFAULT_SETTINGS);
    tx.expect_version(&AutoRecharge::from(before))?;
    if let Some(card) = request.payment_method_id {
        let mut faults = Faults::default();
        let is_own = cards::is_own_card(tx, account, card).await?;
        faults.unless(is_own, "payment_method_id", "is not a saved card of this account");
        faults.into_result()?;
    }
    let settings = Settings {
        enabled: request.enabled,
        threshold: request.threshold.nanos(),
        recharge_amount: request.recharge_amount.nanos(),
        payment_method_id: request.payment_method_id,
        // Saving the settings clears earlier declines.
        declines: 0,
        declined_at: None,
    };
    store::save(tx, account, &settings).await?;
    dunning::clear(tx, account, dunning::Reason::FailedRecharge).await?;
    ledger::enqueue_balance_check(tx, account, CURRENCY).await?;
    Ok(Json(settings.into()))
}
