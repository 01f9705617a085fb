//! How many calls at once a customer may have in each zone: what the team chose, or else what the settings say.

mod store;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::problem::{InvalidParam, Problem};
use db::{Conn, DbError};
use identity::{accounts, onboarding};
use platform::app::App;
use values::AccountId;

/// A zone, and how many calls at once are allowed in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneQuota {
    #[schemars(length(min = 1, max = 64))]
    pub zone: String,
    #[schemars(range(min = 0, max = 1_000_000))]
    pub limit: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct ZoneQuotas {
    /// One for every zone.
    data: Vec<ZoneQuota>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneQuotasUpdate {
    /// Zones that are not named have the usual limit again.
    #[schemars(length(max = 100))]
    data: Vec<ZoneQuota>,
}

/// What holds for an account, in the order of the settings.
pub async fn quotas_of(conn: &mut Conn, app: &App, account: AccountId) -> Result<Vec<ZoneQuota>, DbError> {
    let chosen: BTreeMap<String, i64> = store::chosen(conn, account).await?.into_iter().collect();
    let usual = app.settings.calls.zone_channels;
    let quota = |zone: &str| ZoneQuota { zone: zone.to_owned(), limit: chosen.get(zone).copied().unwrap_or(usual) };
    Ok(app.settings.zones.iter().map(|zone| quota(&zone.name)).collect())
}

pub async fn quotas(mut ctx: ReadCtx, Path(id): Path<AccountId>) -> Result<Json<ZoneQuotas>, Problem> {
    let app = ctx.request.app.clone();
    Ok(Json(of_customer(&mut ctx, &app, id).await?))
}

async fn of_customer(conn: &mut Conn, app: &App, id: AccountId) -> Result<ZoneQuotas, Problem> {
    let customer = onboarding::find_account(conn, id).await?.filter(|prospect| !prospect.is_carrier);
    customer.ok_or_else(Problem::not_found)?;
    Ok(ZoneQuotas { data: quotas_of(conn, app, id).await? })
}

pub async fn set_quotas(
    ctx: RequestCtx,
    Path(id): Path<AccountId>,
    Body(wanted): Body<ZoneQuotasUpdate>,
) -> Result<Committed<Json<ZoneQuotas>>, Problem> {
    let faults = faults(&ctx.app, &wanted.data);
    if !faults.is_empty() {
        return Err(Problem::validation(faults));
    }
    ctx.audit_account(id);
    ctx.commit((id, wanted), |tx, (id, wanted)| Box::pin(replace(tx, *id, &wanted.data))).await
}

fn faults(app: &App, wanted: &[ZoneQuota]) -> Vec<InvalidParam> {
    let mut seen = BTreeSet::new();
    let fault = |(place, quota): (usize, &ZoneQuota)| {
        let reason = match quota.zone.as_str() {
            zone if app.settings.zone(zone).is_none() => format!("{zone} is no zone of ours"),
            zone if !seen.insert(zone.to_owned()) => "stands there twice".to_owned(),
            _ => return None,
        };
        Some(InvalidParam { name: format!("data.{place}.zone"), reason })
    };
    wanted.iter().enumerate().filter_map(fault).collect()
}

async fn replace(tx: &mut Tx<'_>, id: AccountId, wanted: &[ZoneQuota]) -> Result<Json<ZoneQuotas>, Problem> {
    let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
    accounts::lock(tx, id).await?;
    let before = of_customer(tx, &app, id).await?;
    tx.expect_version(&before)?;
    store::forget(tx, id).await?;
    for ZoneQuota { zone, limit } in wanted {
        store::choose(tx, id, zone, *limit, now).await?;
    }
    let after = of_customer(tx, &app, id).await?;
    tx.ctx.audit_note("quotas", json!({"from": before.data, "to": after.data}));
    Ok(Json(after))
}
