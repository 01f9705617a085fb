//! Usage and traffic series in the API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::buckets::Interval;
use super::series::Series;
use crate::cdrs::rollups::RollupDelta;
use api::checks::{Checks, Given, must};
use identity::balance::CURRENCY;
use values::{AccountId, ExactMoney, Money, Rfc3339, Time, TimeZone, text_enum};

text_enum! {
    /// By what an account's calls are summed up.
    pub enum UsageGroup {
        Destination = "destination",
        Country = "country",
        Trunk = "trunk",
    }
}

text_enum! {
    /// By what the calls of all customers are summed up.
    pub enum TrafficGroup {
        Destination = "destination",
        Country = "country",
        Trunk = "trunk",
        Customer = "customer",
        Upstream = "upstream",
    }
}

/// Which usage to sum up.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageQuery {
    /// Sum up calls that began at this time or later (RFC 3339), rounded down to the interval; by default 30 days before
    /// `to`, or 24 hours if the interval is `hour`.
    #[serde(default)]
    pub from: Option<Rfc3339>,
    /// Sum up calls that began before this time (RFC 3339), rounded up to the interval; now if left out. At most 400 days
    /// after `from`, or 32 days if the interval is `hour`.
    #[serde(default)]
    pub to: Option<Rfc3339>,
    /// Interval of the points; `day` if left out.
    #[serde(default)]
    pub interval: Option<Interval>,
    /// One series for each of these; one series of all calls if left out.
    #[serde(default)]
    pub group_by: Option<UsageGroup>,
    /// Time zone of the days; UTC if left out. Its clocks must be whole hours from UTC.
    #[serde(default)]
    pub time_zone: Option<TimeZone>,
}

impl Checks for UsageQuery {
    fn check(given: &Given<'_>) {
        check_range(given);
    }
}

/// Which traffic to sum up.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficQuery {
    /// Sum up calls that began at this time or later (RFC 3339), rounded down to the interval; by default 30 days before
    /// `to`, or 24 hours if the interval is `hour`.
    #[serde(default)]
    pub from: Option<Rfc3339>,
    /// Sum up calls that began before this time (RFC 3339), rounded up to the interval; now if left out. At most 400 days
    /// after `from`, or 32 days if the interval is `hour`.
    #[serde(default)]
    pub to: Option<Rfc3339>,
    /// Interval of the points; `day` if left out.
    #[serde(default)]
    pub interval: Option<Interval>,
    /// One series for each of these; one series of all calls if left out.
    #[serde(default)]
    pub group_by: Option<TrafficGroup>,
    /// Sum up calls of this customer only; not with `group_by` `customer` or `upstream`.
    #[serde(default)]
    pub customer_id: Option<AccountId>,
    /// Time zone of the days; UTC if left out. Its clocks must be whole hours from UTC.
    #[serde(default)]
    pub time_zone: Option<TimeZone>,
}

impl Checks for TrafficQuery {
    fn check(given: &Given<'_>) {
        check_range(given);
        given.check_with("group_by", "customer_id", |group: TrafficGroup, _: AccountId| {
            let is_of_all = matches!(group, TrafficGroup::Customer | TrafficGroup::Upstream);
            must(!is_of_all, "must be trunk, country or destination with a customer_id")
        });
    }
}

pub fn check_range(given: &Given<'_>) {
    given.check_with("to", "from", |to: Rfc3339, from: Rfc3339| must(to.0 > from.0, "must be after from"));
}

/// Calls of an interval.
#[derive(Serialize, JsonSchema)]
pub struct UsagePoint {
    /// Start of the interval (RFC 3339, UTC).
    pub at: Rfc3339,
    /// Number of calls, answered or not.
    pub attempts: i64,
    /// Number of answered calls.
    pub answered: i64,
    /// Minutes from answer to end, all calls together.
    pub minutes: f64,
    /// Charges of these calls.
    pub charge: ExactMoney,
    /// Answered calls divided by all calls, from 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub asr: f64,
    /// Average duration of an answered call in whole seconds; 0 without answered calls.
    pub acd_seconds: i64,
}

/// Usage over time, of one trunk, country or destination.
#[derive(Serialize, JsonSchema)]
pub struct UsageSeries {
    /// Id of the trunk, code of the country (ISO 3166-1 alpha-2) or name of the destination; null for calls without one,
    /// and without `group_by`.
    pub key: Option<String>,
    /// Name to show; null for calls without one, without `group_by` and for a trunk that is deleted.
    pub name: Option<String>,
    /// One point for each interval with calls, oldest first.
    pub points: Vec<UsagePoint>,
}

/// Usage of an account over time.
#[derive(Serialize, JsonSchema)]
pub struct Usage {
    /// Interval of the points.
    pub interval: Interval,
    /// Time zone of the days.
    pub time_zone: TimeZone,
    /// One series for each trunk, country or destination, the highest charge first.
    pub series: Vec<UsageSeries>,
    /// All other calls together, if the series have more than 5000 points; otherwise null.
    pub other: Option<UsageSeries>,
}

/// Calls of an interval, with cost and margin.
#[derive(Serialize, JsonSchema)]
pub struct TrafficPoint {
    #[serde(flatten)]
    pub usage: UsagePoint,
    /// What upstreams charge for these calls.
    pub cost: ExactMoney,
    /// Charges minus cost; may be negative.
    pub margin: ExactMoney,
}

/// Traffic over time, of one customer, upstream, trunk, country or destination.
#[derive(Serialize, JsonSchema)]
pub struct TrafficSeries {
    /// Id of the customer, upstream or trunk, code of the country (ISO 3166-1 alpha-2) or name of the destination; null
    /// for calls without one, and without `group_by`.
    pub key: Option<String>,
    /// Name to show; null for calls without one, without `group_by` and for a trunk that is deleted.
    pub name: Option<String>,
    /// One point for each interval with calls, oldest first.
    pub points: Vec<TrafficPoint>,
}

/// Traffic of all customers over time.
#[derive(Serialize, JsonSchema)]
pub struct Traffic {
    /// Interval of the points.
    pub interval: Interval,
    /// Time zone of the days.
    pub time_zone: TimeZone,
    /// One series for each customer, upstream, trunk, country or destination, the highest charge first.
    pub series: Vec<TrafficSeries>,
    /// All other calls together, if the series have more than 5000 points; otherwise null.
    pub other: Option<TrafficSeries>,
}

impl UsagePoint {
    #[expect(clippy::cast_precision_loss, reason = "counts and seconds of calls stay far below 2^53")]
    fn new(at: Time, sums: RollupDelta) -> UsagePoint {
        let RollupDelta { attempts, answered, seconds, charge, .. } = sums;
        UsagePoint {
            at: Rfc3339(at),
            attempts,
            answered,
            minutes: seconds as f64 / 60.0,
            charge: money(charge),
            asr: if attempts > 0 { answered as f64 / attempts as f64 } else { 0.0 },
            acd_seconds: if answered > 0 { (seconds + answered / 2) / answered } else { 0 },
        }
    }
}

pub fn money(nanos: i64) -> ExactMoney {
    Money::from_nanos(nanos, CURRENCY).into()
}

/// Key and name of a series.
pub type Label = (Option<String>, Option<String>);

impl UsageSeries {
    pub fn new((key, name): Label, points: Series) -> UsageSeries {
        let points = points.into_iter().map(|(at, sums)| UsagePoint::new(at, sums)).collect();
        UsageSeries { key, name, points }
    }
}

impl TrafficSeries {
    pub fn new((key, name): Label, points: Series) -> TrafficSeries {
        let point = |(at, sums): (Time, RollupDelta)| TrafficPoint {
            usage: UsagePoint::new(at, sums),
            cost: money(sums.cost),
            margin: money(sums.charge - sums.cost),
        };
        TrafficSeries { key, name, points: points.into_iter().map(point).collect() }
    }
}
