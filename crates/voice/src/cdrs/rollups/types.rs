//! Rollups in the API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::minutes;
use super::store::DayRow;
use identity::balance::CURRENCY;
use values::{Country, Date, ExactMoney, Money, TrunkId, text_enum};

/// Which day to sum up.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryQuery {
    /// UTC day to sum up; today if left out.
    #[serde(default)]
    pub date: Option<Date>,
}

/// Calls that began on a UTC day, by destination.
#[derive(Serialize, JsonSchema)]
pub struct CdrSummary {
    /// The UTC day (YYYY-MM-DD).
    pub date: Date,
    /// One row for each destination, sorted by country and name.
    pub rows: Vec<SummaryRow>,
    /// Totals of all rows.
    pub totals: SummaryTotals,
}

/// Calls of a day to one destination.
#[derive(Serialize, JsonSchema)]
pub struct SummaryRow {
    /// Country of the destination (ISO 3166-1 alpha-2); null for calls without a rate.
    pub country: Option<Country>,
    /// Name of the destination; null for calls without a rate and for inbound calls.
    pub destination_name: Option<String>,
    /// Number of calls, answered or not.
    pub attempts: i64,
    /// Number of answered calls.
    pub answered: i64,
    /// Minutes from answer to end, all calls together.
    pub minutes: f64,
    /// Charges of these calls.
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

/// Totals of a day's calls.
#[derive(Serialize, JsonSchema)]
pub struct SummaryTotals {
    /// Number of calls, answered or not.
    pub attempts: i64,
    /// Number of answered calls.
    pub answered: i64,
    /// Minutes from answer to end, all calls together.
    pub minutes: f64,
    /// Charges of these calls.
    pub charge: ExactMoney,
}

text_enum! {
    /// Period of an ASR and ACD report; it ends with the current hour.
    pub enum AsrAcdPeriod {
        Day = "24h",
        Week = "7d",
        Month = "30d",
    }
}

/// Which calls to count.
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

/// Answer-seizure ratio (ASR) and average call duration (ACD).
#[derive(Serialize, JsonSchema)]
pub struct AsrAcd {
    /// The period of the report.
    pub period: AsrAcdPeriod,
    /// Answered calls divided by all calls, from 0 to 1; 0 without calls.
    #[schemars(range(min = 0, max = 1))]
    pub asr: f64,
    /// Average duration of an answered call in whole seconds; 0 without answered calls.
    pub acd_seconds: i64,
    /// Number of calls in the period, answered or not.
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
