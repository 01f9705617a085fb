//! `/admin/customers/{id}/quotas`: the team reads and sets the zone quotas of a customer.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ZoneQuota, quotas_of, store};
use api::answer::Json;
use api::checks::{Checked, Checks, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::problem::Problem;
use db::Conn;
use identity::{accounts, onboarding};
use platform::app::App;
use values::AccountId;

/// Zone quotas of a customer.
#[derive(Serialize, JsonSchema)]
pub struct ZoneQuotas {
    /// One quota for each zone, in the order of the operator's settings.
    data: Vec<ZoneQuota>,
}

/// Zone quotas to set for a customer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneQuotasUpdate {
    /// Quotas to set; zones that are left out return to the default of the settings.
    #[schemars(length(max = 100))]
    data: Vec<ZoneQuota>,
}

impl Checks for ZoneQuotasUpdate {
    fn check(given: &Given<'_>) {
        let mut seen = BTreeSet::new();
        given.each("data", |quota| {
            quota.check("zone", |zone: String| {
                must(given.settings.zone(&zone).is_some(), format!("{zone} is not a zone"))
            });
            quota.check("zone", |zone: String| must(seen.insert(zone), "must not be named twice"));
        });
    }
}

pub async fn admin_quotas(mut ctx: ReadCtx, Path(id): Path<AccountId>) -> Result<Json<ZoneQuotas>, Problem> {
    let app = ctx.request.app.clone();
    Ok(Json(quotas_of_customer(&mut ctx, &app, id).await?))
}

async fn quotas_of_customer(conn: &mut Conn, app: &App, id: AccountId) -> Result<ZoneQuotas, Problem> {
    let customer = onboarding::find_account(conn, id).await?.filter(|prospect| !prospect.is_carrier);
    customer.ok_or_else(Problem::not_found)?;
    Ok(ZoneQuotas { data: quotas_of(conn, app, id).await? })
}

pub async fn set_quotas(
    ctx: RequestCtx,
    Path(id): Path<AccountId>,
    Body(Checked(update)): Body<Checked<ZoneQuotasUpdate>>,
) -> Result<Committed<Json<ZoneQuotas>>, Problem> {
    ctx.audit_account(id);
    ctx.commit((id, update), |tx, (id, update)| Box::pin(replace(tx, *id, &update.data))).await
}

async fn replace(tx: &mut Tx<'_>, id: AccountId, quotas: &[ZoneQuota]) -> Result<Json<ZoneQuotas>, Problem> {
    let app = tx.ctx.app.clone();
    accounts::lock(tx, id).await?;
    let before = quotas_of_customer(tx, &app, id).await?;
    tx.expect_version(&before)?;
    store::delete_all(tx, id).await?;
    for ZoneQuota { zone, limit } in quotas {
        store::insert(tx, id, zone, *limit).await?;
    }
    let after = quotas_of_customer(tx, &app, id).await?;
    tx.ctx.audit_note("quotas", json!({"from": before.data, "to": after.data}));
    Ok(Json(after))
}
