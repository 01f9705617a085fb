//! Usage of an account (`/usage`) and traffic of all customers (`/admin/traffic`) over time, and the margin of a period
//! (`/admin/reports/margin`).
//!
//! Series come from rollups by hour and UTC day, which the transaction of every CDR keeps, so a series costs the same
//! however many calls it sums up. Days of another time zone are UTC days with some hours exchanged.
//!
//! - `buckets`: the points in time · `series`: what fits a response · `store`: the rollups
//! - `margin`: charge, cost and margin of a period

mod buckets;
mod margin;
mod series;
mod store;
mod types;

pub use margin::margin;
pub use store::{DestinationHours, RouteHours, add, add_routes};

use std::slice;
use std::time::Duration;

use uuid::Uuid;

use super::rollups::RollupDelta;
use api::answer::Json;
use api::checks::Checked;
use api::context::ReadCtx;
use api::faults::Faults;
use api::input::Query;
use api::problem::Problem;
use buckets::{Covered, Interval, NotWholeHours, Part, cover};
use db::{Conn, DbError};
use identity::names::Names;
use series::{Folded, Points};
use store::{ById, ByName, IdPoint, NamePoint};
use types::{Label, Traffic, TrafficGroup, TrafficQuery, TrafficSeries, Usage, UsageGroup, UsageQuery, UsageSeries};
use values::{Country, Rfc3339, Time, TimeZone, TrunkId, UpstreamId};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// What a series is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key {
    All,
    Id(Uuid),
    Country(String),
    Destination(String),
}

pub async fn usage(
    mut ctx: ReadCtx,
    Query(Checked(query)): Query<Checked<UsageQuery>>,
) -> Result<Json<Usage>, Problem> {
    let account = ctx.principal()?.account_id;
    let period = Period::new(query.interval, query.time_zone, (query.from, query.to), ctx.request.now)?;
    let mut points = Points::new();
    let parts = &period.covered.parts;
    match query.group_by {
        Some(UsageGroup::Trunk) => {
            for part in parts {
                add_ids(&mut points, part, store::trunks_of(&mut ctx, account, part).await?)?;
            }
        }
        group => {
            let (by, key) = by_name(group);
            for (part, rows) in parts.iter().zip(store::names_of(&mut ctx, account, by, parts).await?) {
                add_names(&mut points, part, key, rows)?;
            }
        }
    }
    let Folded { series, other } = points.fold();
    let names = match query.group_by {
        Some(UsageGroup::Trunk) => Names::of_trunks(&mut ctx, ids(&series).map(TrunkId::new)).await?,
        _ => Names::default(),
    };
    let Period { interval, time_zone, .. } = period;
    Ok(Json(Usage {
        interval,
        time_zone,
        series: series.into_iter().map(|(key, points)| UsageSeries::new(label(&key, &names), points)).collect(),
        other: (!other.is_empty()).then(|| UsageSeries::new((None, None), other)),
    }))
}

pub async fn traffic(
    mut ctx: ReadCtx,
    Query(Checked(query)): Query<Checked<TrafficQuery>>,
) -> Result<Json<Traffic>, Problem> {
    let period = Period::new(query.interval, query.time_zone, (query.from, query.to), ctx.request.now)?;
    let mut points = Points::new();
    for part in &period.covered.parts {
        let rows = match (query.group_by.map(grouping), query.customer_id) {
            (Some(Grouping::Id(_)), Some(account)) => Rows::Ids(store::trunks_of(&mut ctx, account, part).await?),
            (Some(Grouping::Id(by)), None) => Rows::Ids(store::ids_of_all(&mut ctx, by, part).await?),
            (group, customer) => {
                let (by, key) = by_name(group.and_then(Grouping::name));
                Rows::Names(
                    key,
                    match customer {
                        Some(account) => store::names_of(&mut ctx, account, by, slice::from_ref(part))
                            .await?
                            .pop()
                            .unwrap_or_default(),
                        None => store::names_of_all(&mut ctx, by, part).await?,
                    },
                )
            }
        };
        match rows {
            Rows::Ids(rows) => add_ids(&mut points, part, rows)?,
            Rows::Names(key, rows) => add_names(&mut points, part, key, rows)?,
        }
    }
    let Folded { series, other } = points.fold();
    let names = names(&mut ctx, query.group_by, ids(&series).collect()).await?;
    let Period { interval, time_zone, .. } = period;
    Ok(Json(Traffic {
        interval,
        time_zone,
        series: series.into_iter().map(|(key, points)| TrafficSeries::new(label(&key, &names), points)).collect(),
        other: (!other.is_empty()).then(|| TrafficSeries::new((None, None), other)),
    }))
}

/// Interval and range of a request.
struct Period {
    interval: Interval,
    time_zone: TimeZone,
    /// As asked for, not rounded.
    range: (Time, Time),
    covered: Covered,
}

impl Period {
    fn new(
        interval: Option<Interval>,
        time_zone: Option<TimeZone>,
        (from, to): (Option<Rfc3339>, Option<Rfc3339>),
        now: Time,
    ) -> Result<Period, Problem> {
        let (interval, time_zone) = (interval.unwrap_or(Interval::Day), time_zone.unwrap_or(TimeZone::UTC));
        let (default_days, max_days) = match interval {
            Interval::Hour => (1, 32),
            Interval::Day => (30, 400),
        };
        let to = to.map_or(now, |Rfc3339(to)| to);
        let from = from.map_or(to.minus(DAY * default_days), |Rfc3339(from)| from);
        let mut faults = Faults::default();
        faults.unless(from < to, "from", "must be before to, which is now if left out");
        let is_short = to.since(from) <= DAY * max_days;
        faults.unless(is_short, "to", format!("must be at most {max_days} days after from for this interval"));
        let covered = if is_short { cover(interval, &time_zone, (from, to)) } else { Ok(Covered::default()) };
        faults.unless(covered.is_ok(), "time_zone", "must be whole hours from UTC in this range");
        faults.into_result()?;
        let covered = covered.map_err(|NotWholeHours| Problem::internal("a refused time zone went on"))?;
        Ok(Period { interval, time_zone, range: (from, to), covered })
    }
}

enum Grouping {
    Id(ById),
    Name(UsageGroup),
}

impl Grouping {
    fn name(self) -> Option<UsageGroup> {
        match self {
            Grouping::Name(group) => Some(group),
            Grouping::Id(_) => None,
        }
    }
}

enum Rows {
    Ids(Vec<IdPoint>),
    Names(fn(String) -> Key, Vec<NamePoint>),
}

fn grouping(group: TrafficGroup) -> Grouping {
    match group {
        TrafficGroup::Trunk => Grouping::Id(ById::Trunk),
        TrafficGroup::Customer => Grouping::Id(ById::Customer),
        TrafficGroup::Upstream => Grouping::Id(ById::Upstream),
        TrafficGroup::Country => Grouping::Name(UsageGroup::Country),
        TrafficGroup::Destination => Grouping::Name(UsageGroup::Destination),
    }
}

fn by_name(group: Option<UsageGroup>) -> (ByName, fn(String) -> Key) {
    match group {
        Some(UsageGroup::Country) => (ByName::Country, Key::Country),
        Some(UsageGroup::Destination) => (ByName::Destination, Key::Destination),
        _ => (ByName::Nothing, |_| Key::All),
    }
}

/// More than a response could sum up in bounded time.
fn check_number(rows: usize) -> Result<(), Problem> {
    let mut faults = Faults::default();
    faults.unless(
        store::is_within_limit(rows),
        "group_by",
        "has too many series for this range; choose a shorter one or the interval day",
    );
    faults.into_result()
}

fn add_ids(points: &mut Points<Key>, part: &Part, rows: Vec<IdPoint>) -> Result<(), Problem> {
    check_number(rows.len())?;
    for IdPoint { number, id, attempts, answered, seconds, charge, cost } in rows {
        points.add(Key::Id(id), part.counts(number), RollupDelta { attempts, answered, seconds, charge, cost });
    }
    Ok(())
}

fn add_names(
    points: &mut Points<Key>,
    part: &Part,
    key: fn(String) -> Key,
    rows: Vec<NamePoint>,
) -> Result<(), Problem> {
    check_number(rows.len())?;
    for NamePoint { number, name, attempts, answered, seconds, charge, cost } in rows {
        points.add(key(name), part.counts(number), RollupDelta { attempts, answered, seconds, charge, cost });
    }
    Ok(())
}

fn ids<P>(series: &[(Key, P)]) -> impl Iterator<Item = Uuid> {
    series.iter().filter_map(|(key, _)| match key {
        Key::Id(id) => Some(*id),
        _ => None,
    })
}

async fn names(conn: &mut Conn, group: Option<TrafficGroup>, ids: Vec<Uuid>) -> Result<Names, DbError> {
    match group {
        Some(TrafficGroup::Trunk) => Names::of_trunks(conn, ids.into_iter().map(TrunkId::new)).await,
        Some(TrafficGroup::Customer) => Names::of_customers(conn, ids.into_iter().map(values::AccountId::new)).await,
        Some(TrafficGroup::Upstream) => Names::of_upstreams(conn, ids.into_iter().map(UpstreamId::new)).await,
        _ => Ok(Names::default()),
    }
}

fn label(key: &Key, names: &Names) -> Label {
    let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    match key {
        Key::All => (None, None),
        Key::Id(id) if id.is_nil() => (None, None),
        Key::Id(id) => (Some(id.to_string()), names.get(*id)),
        Key::Country(code) => (text(code), code.parse::<Country>().ok().map(|country| country.name().to_owned())),
        Key::Destination(name) => (text(name), text(name)),
    }
}
