//! Zone quotas: the maximum number of concurrent calls of an account in each zone.
//!
//! A quota is what the team set for the account and zone, or else the setting `TRUNKLINE_ZONE_CHANNELS`.

mod admin;
mod store;

pub use admin::{admin_quotas, set_quotas};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::day_of;
use super::store::{ZoneLoad, list_zone_loads};
use api::answer::Json;
use api::context::ReadCtx;
use api::problem::Problem;
use db::{Conn, DbError};
use platform::app::App;
use values::AccountId;

/// Maximum number of concurrent calls of an account in a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneQuota {
    /// Name of the zone.
    #[schemars(length(min = 1, max = 64))]
    pub zone: String,
    /// Maximum number of concurrent calls in this zone; 0 allows none.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub limit: i64,
}

/// Zone quotas of the account and their use.
#[derive(Serialize, JsonSchema)]
pub struct QuotaList {
    /// One quota for each zone, in the order of the operator's settings.
    pub data: Vec<Quota>,
}

/// Quota of an account in a zone and how much of it is in use.
#[derive(Serialize, JsonSchema)]
pub struct Quota {
    /// Name of the zone.
    pub zone: String,
    /// Number of live calls in this zone.
    pub in_use: i64,
    /// Maximum number of concurrent calls in this zone.
    pub limit: i64,
    /// Peak concurrent calls in this zone on the current UTC day.
    pub peak_today: i64,
}

/// `GET /quotas`
pub async fn list_quotas(mut ctx: ReadCtx) -> Result<Json<QuotaList>, Problem> {
    let account = ctx.principal()?.account_id;
    let today = day_of(ctx.request.now);
    let app = ctx.request.app.clone();
    let quotas = quotas_of(&mut ctx, &app, account).await?;
    let loads = list_zone_loads(&mut ctx, account).await?;
    let loads: BTreeMap<&str, &ZoneLoad> = loads.iter().map(|load| (load.zone.as_str(), load)).collect();
    let data = quotas.into_iter().map(|quota| {
        let load = loads.get(quota.zone.as_str());
        Quota {
            zone: quota.zone.clone(),
            in_use: load.map_or(0, |load| load.live),
            limit: quota.limit,
            peak_today: load.map_or(0, |load| if load.day >= today { load.day_peak } else { load.live }),
        }
    });
    Ok(Json(QuotaList { data: data.collect() }))
}

/// The quotas of an account, one for each zone of the settings.
async fn quotas_of(conn: &mut Conn, app: &App, account: AccountId) -> Result<Vec<ZoneQuota>, DbError> {
    let set: BTreeMap<String, i64> = store::list(conn, account).await?.into_iter().collect();
    let default = app.settings.calls.zone_channels;
    let quota = |zone: &str| ZoneQuota { zone: zone.to_owned(), limit: set.get(zone).copied().unwrap_or(default) };
    Ok(app.settings.zones.iter().map(|zone| quota(&zone.name)).collect())
}
