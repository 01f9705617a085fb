//! Sums of calls over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::minutes;
use super::store::DayRow;
use identity::balance::CURRENCY;
use values::{Country, Date, ExactMoney, Money, Rfc3339, TrunkId, text_enum};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryQuery {
    /// UTC day to sum up; today if left out.
    #[serde(default)]
    pub date: Option<Date>,
}

/// The calls that began on a UTC day.
#[derive(Serialize, JsonSchema)]
pub struct CdrSummary {
    pub date: Date,
    /// By country and destination.
    pub rows: Vec<SummaryRow>,
    pub totals: SummaryTotals,
}

#[derive(Serialize, JsonSchema)]
pub struct SummaryRow {
    /// Null for calls that were not rated.
    pub country: Option<Country>,
    pub destination_name: Option<String>,
    pub attempts: i64,
    pub answered: i64,
    /// From answer to end.
    pub minutes: f64,
    pub charge: ExactMoney,
}

impl From<DayRow> for SummaryRow {
    fn from(row: DayRow) -> Self {
        SummaryRow {
            country: row.country.parse().ok(),
            destination_name: Some(row.destination_name).filter(|name| !name.is_empty()),
            attempts: row.attempts,
            answered: row.answered,
            minutes: minutes(row.seconds),
            charge: Money::from_nanos(row.charge, CURRENCY).into(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct SummaryTotals {
    pub attempts: i64,
    pub answered: i64,
    pub minutes: f64,
    pub charge: ExactMoney,
}

text_enum! {
    pub enum AsrAcdPeriod {
        Day = "24h",
        Week = "7d",
        Month = "30d",
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AsrAcdQuery {
    /// Period that ends with the current hour; `24h` if left out.
    #[serde(default)]
    pub period: Option<AsrAcdPeriod>,
    /// Count calls of this trunk only.
    #[serde(default)]
    pub trunk_id: Option<TrunkId>,
}

/// How many calls are answered, and how long those last.
#[derive(Serialize, JsonSchema)]
pub struct AsrAcd {
    pub period: AsrAcdPeriod,
    /// The share of calls that were answered; 0 when there were none.
    #[schemars(range(min = 0, max = 1))]
    pub asr: f64,
    /// How long an answered call lasted on average.
    pub acd_seconds: i64,
    /// How many calls there were.
    pub sample_size: i64,
}

impl AsrAcd {
    #[expect(clippy::cast_precision_loss, reason = "counts of calls stay far below 2^53")]
    pub fn of(period: AsrAcdPeriod, (attempts, answered, seconds): (i64, i64, i64)) -> AsrAcd {
        let asr = if attempts > 0 { answered as f64 / attempts as f64 } else { 0.0 };
        let acd_seconds = if answered > 0 { (seconds + answered / 2) / answered } else { 0 };
        AsrAcd { period, asr, acd_seconds, sample_size: attempts }
    }
}

text_enum! {
    pub enum CapacityPeriod {
        /// The last 168 hours, a point for each.
        Week = "week",
        /// The last 30 days, a point for each.
        Month = "month",
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapacityQuery {
    /// Period to show: a `week` by hour or a `month` by day; `week` if left out.
    #[serde(default)]
    pub period: Option<CapacityPeriod>,
}

/// How many calls went on at once.
#[derive(Serialize, JsonSchema)]
pub struct Capacity {
    pub period: CapacityPeriod,
    /// The oldest first.
    pub points: Vec<CapacityPoint>,
}

#[derive(Serialize, JsonSchema)]
pub struct CapacityPoint {
    pub bucket_start: Rfc3339,
    /// The most at once in each zone, all zones together.
    pub peak_concurrent: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct QuotaList {
    pub data: Vec<Quota>,
}

/// How many calls at once an account may have in a zone, and has.
#[derive(Serialize, JsonSchema)]
pub struct Quota {
    pub zone: String,
    pub in_use: i64,
    pub limit: i64,
    /// The most at once on this UTC day.
    pub peak_today: i64,
}
