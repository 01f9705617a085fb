//! Exchange rates: the value of the euro by day, and conversion by it.
//!
//! The team sets the rates of a day with `PUT /admin/fx-rates`, the CLI imports the European Central Bank's file with
//! `trunkline fx import`, and with `TRUNKLINE_FX_URL` a job fetches it every day; the last write wins. [`rates_on`]
//! gives the rates of a day, and a conversion returns the day and rates that it used (`rate`).

mod rate;
mod store;

pub use rate::{BASE, Converted, FxError, Rate, Rates};
pub use store::rates_on;

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use api::answer::Json;
use api::checks::{Checked, Checks, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Query};
use api::problem::Problem;
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::{Class, JobContext, JobError, Kind};
use platform::outside::fx::Sheet;
use platform::routing::tariff;
use values::{Currency, Date};

pub const FETCH: Kind = Kind::new("fx.fetch").class(Class::Outside);

/// Exchange rates of a day.
#[derive(Serialize, JsonSchema)]
pub struct FxRates {
    /// Base currency, always EUR.
    pub base: Currency,
    /// Day of the rates; null when no rates are stored.
    pub date: Option<Date>,
    /// Value of one unit of the base currency, by currency code.
    pub rates: BTreeMap<String, Rate>,
}

impl From<Option<Rates>> for FxRates {
    fn from(rates: Option<Rates>) -> Self {
        let date = rates.as_ref().map(|rates| rates.date);
        let entries = rates.into_iter().flat_map(|rates| rates.rates);
        FxRates { base: BASE, date, rates: entries.map(|(currency, rate)| (currency.to_string(), rate)).collect() }
    }
}

/// Exchange rates to set for a day; they replace all rates of that day.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FxRatesUpdate {
    /// Base currency; must be EUR.
    #[serde(rename = "base")]
    _base: Currency,
    /// Day of the rates; today or earlier.
    date: Date,
    /// Value of one unit of the base currency, by currency code.
    #[schemars(schema_with = "rates_schema")]
    rates: BTreeMap<Currency, Rate>,
}

fn rates_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "minProperties": 1,
        "propertyNames": generator.subschema_for::<Currency>(),
        "additionalProperties": generator.subschema_for::<Rate>(),
    })
}

impl Checks for FxRatesUpdate {
    fn check(given: &Given<'_>) {
        given.check("base", |base: Currency| must(base == BASE, format!("must be {BASE}")));
        given.check("date", |date: Date| must(date <= given.now.into(), "must not be in the future"));
        given.check(&format!("rates.{BASE}"), |_: Rate| must(false, "must not be the base currency"));
    }
}

/// The day of the rates to get.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AsOf {
    /// Return the newest rates of this day or earlier; default: today.
    #[serde(default)]
    date: Option<Date>,
}

pub async fn show(mut ctx: ReadCtx, Query(as_of): Query<AsOf>) -> Result<Json<FxRates>, Problem> {
    let day = as_of.date.unwrap_or(ctx.request.now.into());
    Ok(Json(rates_on(&mut ctx, day).await?.into()))
}

pub async fn update(
    ctx: RequestCtx,
    Body(Checked(update)): Body<Checked<FxRatesUpdate>>,
) -> Result<Committed<Json<FxRates>>, Problem> {
    let rates = Rates { date: update.date, rates: update.rates };
    ctx.audit_note("date", rates.date.to_string());
    ctx.commit(rates, |tx, rates| {
        Box::pin(async move {
            let now = tx.ctx.now;
            tariff::lock(tx).await?;
            let before = FxRates::from(rates_on(tx, now.into()).await?);
            tx.expect_version(&before)?;
            store::replace(tx, rates).await?;
            store::apply_to_tariff(tx).await?;
            Ok(Json(Some(rates.clone()).into()))
        })
    })
    .await
}

/// Imports published rates and returns the number of days. Currencies that are no longer in use are skipped.
pub async fn import(conn: &mut Conn, sheets: &[Sheet]) -> Result<usize, DbError> {
    // So that two sets of one day do not mix.
    tariff::lock(conn).await?;
    for sheet in sheets {
        let rates = sheet.rates.iter().filter_map(|(code, rate)| Some((code.parse().ok()?, rate.parse().ok()?)));
        let rates = Rates { date: sheet.date, rates: rates.filter(|(currency, _)| *currency != BASE).collect() };
        if !rates.rates.is_empty() {
            store::replace(conn, &rates).await?;
        }
    }
    store::apply_to_tariff(conn).await?;
    Ok(sheets.len())
}

/// Fetches the rates of the day, if a URL is set.
pub async fn fetch_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let Some(feed) = &context.app.fx else { return Ok(()) };
    let sheets = feed.fetch().await.map_err(|error| JobError::Failed(error.to_string()))?;
    let input = sheets;
    let days = context.db.tx(input, |conn, sheets| Box::pin(import(conn, sheets))).await?;
    tracing::info!(days, "imported exchange rates");
    Ok(())
}
