//! The watch over balances: who runs low hears of it, by notification and mail, once for each fall.
//!
//! The ledger leaves a job whenever a balance falls below its low-water mark or rises (`look`). The job tells of what
//! has become true, hands a balance that refills itself to `recharge` and a negative one to `dunning`, and sets the
//! next mark by `rules`. So nobody who charges an account can forget any of it, and a charge that changes nothing for
//! anybody costs nothing. `GET` and `PUT /account/low-balance-notify` say when an account counts its balance as low.

mod look;
mod rules;
mod store;

pub use look::{RECHECK, moved_job, recheck_job};

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

/// When an account hears of a low balance.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LowBalanceNotify {
    pub enabled: bool,
    /// The balance is low below this share of what was used in the last 30 days.
    #[schemars(range(min = 1, max = 100))]
    pub threshold_pct: i64,
}

/// For whoever has not chosen: at 20 per cent, about six days before the money is gone.
const DEFAULT: LowBalanceNotify = LowBalanceNotify { enabled: true, threshold_pct: 20 };

pub async fn show(mut ctx: ReadCtx) -> Result<Json<LowBalanceNotify>, Problem> {
    let account = ctx.principal()?.account_id;
    Ok(Json(settings(&mut ctx, account).await?))
}

pub async fn change(
    ctx: RequestCtx,
    Body(wanted): Body<LowBalanceNotify>,
) -> Result<Committed<Json<LowBalanceNotify>>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.commit((account, wanted), |tx, (account, wanted)| {
        Box::pin(async move {
            let before = settings(tx, *account).await?;
            tx.expect_version(&before)?;
            let (now, entropy) = (tx.ctx.now, tx.ctx.app.entropy);
            store::set(tx, *account, wanted.enabled, wanted.threshold_pct, now).await?;
            ledger::enqueue_balance_check(tx, entropy, *account, CURRENCY, now).await?;
            Ok(Json(wanted.clone()))
        })
    })
    .await
}

async fn settings(conn: &mut Conn, account: AccountId) -> Result<LowBalanceNotify, DbError> {
    let set = store::settings(conn, account).await?;
    Ok(set.map_or(DEFAULT, |(enabled, threshold_pct)| LowBalanceNotify { enabled, threshold_pct }))
}

/// The share, if the account wants to hear of it.
async fn low_pct(conn: &mut Conn, account: AccountId) -> Result<Option<i64>, DbError> {
    let settings = settings(conn, account).await?;
    Ok(settings.enabled.then_some(settings.threshold_pct))
}
