//! Low-balance alerts: a notification and a mail when a balance becomes low or exhausted, once for each fall.
//!
//! The ledger enqueues a job whenever a balance falls below its low-water mark or rises. The job (`check`) sends
//! alerts, starts auto-recharge, adds a negative balance to `dunning`, and sets the next mark by `rules`. So no code
//! that charges an account has to do this itself, and a charge that does not cross the mark costs nothing extra.
//! `GET` and `PUT /account/low-balance-notify` are the settings.

mod check;
mod rules;
mod store;

pub use check::{RECHECK, moved_job, recheck_job};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::Body;
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use platform::ledger;
use values::AccountId;

/// Low-balance alert settings of an account.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LowBalanceNotify {
    /// Whether the low-balance alert is sent; the alert that the balance is exhausted is always sent.
    pub enabled: bool,
    /// The balance is low below this percentage of the spend of the last 30 days.
    #[schemars(range(min = 1, max = 100))]
    pub threshold_pct: i64,
}

/// Settings of an account that never saved any: 20 % of 30 days is about six days of spend.
const DEFAULT: LowBalanceNotify = LowBalanceNotify { enabled: true, threshold_pct: 20 };

pub async fn show(mut ctx: ReadCtx) -> Result<Json<LowBalanceNotify>, Problem> {
    let account = ctx.principal()?.account_id;
    Ok(Json(settings(&mut ctx, account).await?))
}

pub async fn update(
    ctx: RequestCtx,
    Body(request): Body<LowBalanceNotify>,
) -> Result<Committed<Json<LowBalanceNotify>>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.commit((account, request), |tx, (account, request)| {
        Box::pin(async move {
            let before = settings(tx, *account).await?;
            tx.expect_version(&before)?;
            store::set(tx, *account, request.enabled, request.threshold_pct).await?;
            ledger::enqueue_balance_check(tx, *account, CURRENCY).await?;
            Ok(Json(request.clone()))
        })
    })
    .await
}

async fn settings(conn: &mut Conn, account: AccountId) -> Result<LowBalanceNotify, DbError> {
    let set = store::settings(conn, account).await?;
    Ok(set.map_or(DEFAULT, |(enabled, threshold_pct)| LowBalanceNotify { enabled, threshold_pct }))
}

/// The percentage, if alerts are on.
async fn low_pct(conn: &mut Conn, account: AccountId) -> Result<Option<i64>, DbError> {
    let settings = settings(conn, account).await?;
    Ok(settings.enabled.then_some(settings.threshold_pct))
}
