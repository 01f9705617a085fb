//! Fraud caps: limits that an account sets for its own calls, in case a trunk is abused.
//!
//! `GET` and `PUT /fraud-caps`: maximum spend per UTC day and maximum rate per minute; calls beyond are denied. An
//! attacker would raise them first, so every change is audited with the old values, and a raise is mailed to the
//! account.

mod store;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::concurrency::DailySpend;
use api::answer::Json;
use api::checks::{Checked, Checks, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::{CURRENCY, check_amount};
use identity::notifications::{self, FraudCapReached, NotificationPayload};
use identity::{accounts, onboarding};
use platform::app::App;
use platform::mail::{self, FraudCapsRaised, Recipient};
use values::{AccountId, ExactMoney, Money};

/// Fraud caps of an account; calls beyond them are denied.
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub struct FraudCaps {
    /// Maximum cost of all calls of a UTC day.
    pub max_spend_per_day: Money,
    /// Maximum price per minute of any call.
    pub max_rate_per_minute: ExactMoney,
}

/// New fraud caps of an account.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FraudCapsUpdate {
    /// Maximum cost of all calls of a UTC day, in EUR and whole cents; more than zero.
    max_spend_per_day: Money,
    /// Maximum price per minute of any call, in EUR; more than zero.
    max_rate_per_minute: Money,
}

/// Caps of accounts that set none: 50 EUR per day, 0.50 EUR per minute.
pub const DEFAULT: FraudCaps = FraudCaps {
    max_spend_per_day: Money::from_nanos(50_000_000_000, CURRENCY),
    max_rate_per_minute: ExactMoney(Money::from_nanos(500_000_000, CURRENCY)),
};

impl Checks for FraudCapsUpdate {
    fn check(given: &Given<'_>) {
        for cap in ["max_spend_per_day", "max_rate_per_minute"] {
            check_amount(given, cap, |amount| must(amount.is_positive(), "must be more than zero"));
        }
        given.check("max_spend_per_day", |spend: Money| must(spend.is_in_minor_units(), "must be whole cents"));
    }
}

impl FraudCapsUpdate {
    /// Whether either cap is higher than before.
    fn raises(&self, before: &FraudCaps) -> bool {
        self.max_spend_per_day.nanos() > before.max_spend_per_day.nanos()
            || self.max_rate_per_minute.nanos() > before.max_rate_per_minute.0.nanos()
    }
}

pub async fn show(mut ctx: ReadCtx) -> Result<Json<FraudCaps>, Problem> {
    let account = ctx.principal()?.account_id;
    Ok(Json(caps(&mut ctx, account).await?))
}

/// The same for the team, of any customer.
pub async fn show_of_customer(mut ctx: ReadCtx, Path(customer): Path<AccountId>) -> Result<Json<FraudCaps>, Problem> {
    onboarding::require_customer(&mut ctx, customer).await?;
    Ok(Json(caps(&mut ctx, customer).await?))
}

async fn caps(conn: &mut Conn, account: AccountId) -> Result<FraudCaps, DbError> {
    let chosen = store::find(conn, account).await?;
    Ok(chosen.map_or(DEFAULT, |(spend, rate)| FraudCaps {
        max_spend_per_day: Money::from_nanos(spend, CURRENCY),
        max_rate_per_minute: Money::from_nanos(rate, CURRENCY).into(),
    }))
}

pub async fn update(
    ctx: RequestCtx,
    Body(Checked(update)): Body<Checked<FraudCapsUpdate>>,
) -> Result<Committed<Json<FraudCaps>>, Problem> {
    ctx.commit(update, |tx, update| Box::pin(apply_update(tx, update))).await
}

async fn apply_update(tx: &mut Tx<'_>, update: &FraudCapsUpdate) -> Result<Json<FraudCaps>, Problem> {
    let (ctx, account) = (tx.ctx, tx.ctx.principal()?.account_id);
    onboarding::require_active(tx, account).await?;
    accounts::lock(tx, account).await?;
    let before = caps(tx, account).await?;
    tx.expect_version(&before)?;
    let FraudCapsUpdate { max_spend_per_day: spend, max_rate_per_minute: rate } = *update;
    store::save(tx, account, spend.nanos(), rate.nanos()).await?;
    let (spend_before, rate_before) = (before.max_spend_per_day, before.max_rate_per_minute.0);
    ctx.audit_note("max_spend_per_day", json!({"from": spend_before.to_string(), "to": spend.to_string()}));
    ctx.audit_note("max_rate_per_minute", json!({"from": rate_before.to_string(), "to": rate.to_string()}));
    if update.raises(&before)
        && let Some(contact) = accounts::contact(tx, account).await?
    {
        let to = Recipient::new(&contact.contact_email, &contact.contact_name);
        let (at, ip) = (mail::ReadableTime(ctx.now), ctx.ip);
        let mail = FraudCapsRaised { spend_before, spend, rate_before, rate, at, ip };
        mail::send(tx, &ctx.app, &to, &mail).await?;
    }
    Ok(Json(FraudCaps { max_spend_per_day: spend, max_rate_per_minute: rate.into() }))
}

/// Notifies an account, once a day, that its calls are denied by the daily cap.
pub async fn notify_reached(app: &App, day: DailySpend) -> Result<(), DbError> {
    app.db
        .tx((app.clone(), day), |conn, (app, day)| {
            Box::pin(async move {
                if day.claim_notification(conn).await? {
                    let limit = Money::from_nanos(day.limit, CURRENCY);
                    notifications::notify(conn, day.account, &FraudCapReached { max_spend_per_day: limit }).await?;
                    let mail = mail::FraudCapReached { limit };
                    notifications::send_mail(conn, app, day.account, FraudCapReached::CODE, &mail).await?;
                }
                Ok::<_, DbError>(())
            })
        })
        .await
}
