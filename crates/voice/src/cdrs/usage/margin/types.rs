//! The margin report in the API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cdrs::rollups::RollupDelta;
use crate::cdrs::usage::types::{Label, check_range, money};
use api::checks::{Checks, Given};
use values::{ExactMoney, Rfc3339, TimeZone, text_enum};

text_enum! {
    /// By what a margin report sums calls up.
    pub enum MarginGroup {
        Day = "day",
        Customer = "customer",
        Destination = "destination",
        Upstream = "upstream",
    }
}

text_enum! {
    /// Format of a margin report.
    pub enum MarginFormat {
        /// One page.
        Json = "json",
        /// All rows, with a header line.
        Csv = "csv",
    }
}

/// Which calls to sum up, and by what.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarginQuery {
    /// Sum up calls that began at this time or later (RFC 3339), rounded down to the day; by default 30 days before
    /// `to`.
    #[serde(default)]
    pub from: Option<Rfc3339>,
    /// Sum up calls that began before this time (RFC 3339), rounded up to the day; now if left out. At most 400 days
    /// after `from`.
    #[serde(default)]
    pub to: Option<Rfc3339>,
    /// One row for each of these; `day` if left out.
    #[serde(default)]
    pub by: Option<MarginGroup>,
    /// Time zone of the days; UTC if left out. Its clocks must be whole hours from UTC.
    #[serde(default)]
    pub time_zone: Option<TimeZone>,
    /// `json`, the default, returns one page; `csv` streams all rows as a file.
    #[serde(default)]
    pub format: Option<MarginFormat>,
}

impl Checks for MarginQuery {
    fn check(given: &Given<'_>) {
        check_range(given);
    }
}

/// What calls brought in and cost.
#[derive(Serialize, JsonSchema)]
pub struct Margin {
    /// Date, id of the customer or upstream, or name of the destination; null for calls without one, and in totals.
    pub key: Option<String>,
    /// Name to show; null for calls without one, and in totals.
    pub name: Option<String>,
    /// Number of calls, answered or not.
    pub attempts: i64,
    /// Number of answered calls.
    pub answered: i64,
    /// Minutes from answer to end, all calls together.
    pub minutes: f64,
    /// Charges of these calls.
    pub charge: ExactMoney,
    /// What upstreams charge for these calls.
    pub cost: ExactMoney,
    /// Charges minus cost; may be negative.
    pub margin: ExactMoney,
    /// Margin in percent of the charges, with two decimals; null without charges.
    pub margin_pct: Option<f64>,
}

impl Margin {
    #[expect(clippy::cast_precision_loss, reason = "seconds of calls stay far below 2^53, a percentage is rounded")]
    pub fn new((key, name): Label, sums: RollupDelta) -> Margin {
        let RollupDelta { attempts, answered, seconds, charge, cost } = sums;
        let margin = charge - cost;
        let margin_pct = (charge != 0).then(|| (margin as f64 / charge as f64 * 10_000.0).round() / 100.0);
        Margin {
            key,
            name,
            attempts,
            answered,
            minutes: seconds as f64 / 60.0,
            charge: money(charge),
            cost: money(cost),
            margin: money(margin),
            margin_pct,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percentage(charge: i64, cost: i64) -> Option<f64> {
        Margin::new((None, None), RollupDelta { charge, cost, ..RollupDelta::default() }).margin_pct
    }

    #[test]
    fn the_margin_is_in_percent_of_the_charges() {
        assert_eq!(percentage(3_000_000_000, 2_000_000_000), Some(33.33));
        assert_eq!(percentage(1, 2), Some(-100.0));
        assert_eq!(percentage(0, 2), None);
    }
}
