//! `/admin/reports/margin`: charge, cost and margin of all customers' calls in a period.
//!
//! Rows come from the rollups in the order of their keys, which no call changes, so pages neither skip nor repeat a row
//! while calls are recorded. A cursor keeps the period of the first page.
//!
//! - `csv`: the whole report as a file · `store`: sums by key

mod csv;
mod store;
mod types;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::buckets::{Covered, Interval, Part, Slots, covering};
use super::{Period, store as series_store};
use crate::cdrs::rollups::RollupDelta;
use crate::concurrency::{HOUR_MILLIS, hour_of};
use api::answer::PageOrCsv;
use api::checks::Checked;
use api::context::ReadCtx;
use api::page::{Listing, TotalledPage};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::names::Names;
use series_store::ByName;
use types::{Margin, MarginFormat, MarginGroup, MarginQuery};
use values::{AccountId, Date, Rfc3339, Time, TimeZone, UpstreamId};

/// What a row is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Key {
    /// By the first hour of the day, in hours since 1970.
    Day(i64),
    Id(Uuid),
    Destination(String),
}

/// The last row of a page, and the period of the report in milliseconds.
#[derive(Serialize, Deserialize)]
pub struct MarginCursor {
    from: i64,
    to: i64,
    after: Key,
}

/// What a report sums up.
#[derive(Clone)]
struct Scope {
    by: MarginGroup,
    time_zone: TimeZone,
    days: Vec<Part>,
    /// All of the period.
    slots: Vec<Slots>,
}

/// Rows in the order of their keys, with the names of customers or upstreams.
struct Rows {
    sums: Vec<(Key, RollupDelta)>,
    names: Names,
}

pub async fn margin(
    ctx: ReadCtx,
    listing: Listing<Checked<MarginQuery>, MarginCursor>,
) -> Result<PageOrCsv<TotalledPage<Margin>>, Problem> {
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let Checked(query) = &listing.filters;
    let range = match &listing.after {
        Some(MarginCursor { from, to, .. }) => (Some(at(*from)), Some(at(*to))),
        None => (query.from, query.to),
    };
    let db = request.reports_db().await;
    let period = Period::new(Some(Interval::Day), query.time_zone.clone(), range, request.now)?;
    let (from, to) = period.range;
    let scope = Scope::new(query.by.unwrap_or(MarginGroup::Day), period);
    if query.format == Some(MarginFormat::Csv) {
        return Ok(PageOrCsv::Csv(csv::file(&db, scope, (from, to))?));
    }
    let after = listing.after.as_ref().map(|cursor| cursor.after.clone());
    let input = (scope.clone(), after, listing.fetch());
    // Rows and totals of the same moment.
    let read = db.snapshot(input, |conn, (scope, after, limit)| {
        Box::pin(async move {
            let rows = scope.rows_after(conn, after.as_ref(), *limit).await?;
            Ok::<_, DbError>((rows, store::totals(conn, &scope.slots).await?))
        })
    });
    let (Rows { sums, names }, totals) = read.await?;
    let cursor =
        |(key, _): &(Key, RollupDelta)| MarginCursor { from: from.millis(), to: to.millis(), after: key.clone() };
    let page = listing.page(sums, cursor, |(key, sums)| scope.row(&key, &names, sums))?;
    Ok(PageOrCsv::Page(page.with_totals(Margin::new((None, None), totals))))
}

fn at(millis: i64) -> Rfc3339 {
    Rfc3339(Time::from_millis(millis))
}

impl Scope {
    fn new(by: MarginGroup, period: Period) -> Scope {
        let Period { time_zone, covered: Covered { hours, parts: days }, .. } = period;
        Scope { by, time_zone, days, slots: covering(hours.start, hours.end) }
    }

    /// The first rows after a key, or the first of all.
    async fn rows_after(&self, conn: &mut Conn, after: Option<&Key>, limit: i64) -> Result<Rows, DbError> {
        let mut sums: BTreeMap<Key, RollupDelta> = BTreeMap::new();
        if self.by == MarginGroup::Day {
            for part in &self.days {
                for point in series_store::names_of_all(conn, ByName::Nothing, part).await? {
                    for (at, sign) in part.counts(point.number) {
                        sums.entry(Key::Day(hour_of(at))).or_default().add(point.sums().signed(sign));
                    }
                }
            }
            sums.retain(|key, sums| Some(key) > after && *sums != RollupDelta::default());
        } else {
            // The first rows of all slots are among the first rows of each.
            for slots in &self.slots {
                for (key, more) in self.sums_in(conn, slots, after, limit).await? {
                    sums.entry(key).or_default().add(more);
                }
            }
        }
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let sums: Vec<(Key, RollupDelta)> = sums.into_iter().take(wanted).collect();
        let names = self.names(conn, &sums).await?;
        Ok(Rows { sums, names })
    }

    async fn sums_in(
        &self,
        conn: &mut Conn,
        slots: &Slots,
        after: Option<&Key>,
        limit: i64,
    ) -> Result<Vec<(Key, RollupDelta)>, DbError> {
        let id = match after {
            Some(Key::Id(id)) => Uuid::from_u128(id.as_u128().saturating_add(1)),
            _ => Uuid::nil(),
        };
        let ids = |rows: Vec<store::IdSums>| rows.into_iter().map(|row| (Key::Id(row.id), row.sums())).collect();
        match self.by {
            MarginGroup::Day => Ok(Vec::new()),
            MarginGroup::Customer => Ok(ids(store::customers(conn, slots, id, limit).await?)),
            MarginGroup::Upstream => Ok(ids(store::upstreams(conn, slots, id, limit).await?)),
            MarginGroup::Destination => {
                // No text is between a name and the same with the lowest character.
                let name = match after {
                    Some(Key::Destination(name)) => format!("{name}\u{1}"),
                    _ => String::new(),
                };
                let rows = store::destinations(conn, slots, &name, limit).await?;
                Ok(rows.into_iter().map(|row| (Key::Destination(row.name.clone()), row.sums())).collect())
            }
        }
    }

    async fn names(&self, conn: &mut Conn, rows: &[(Key, RollupDelta)]) -> Result<Names, DbError> {
        let ids: Vec<Uuid> = rows.iter().filter_map(|(key, _)| key.id()).collect();
        match self.by {
            MarginGroup::Customer => Names::of_customers(conn, ids.into_iter().map(AccountId::new)).await,
            MarginGroup::Upstream => Names::of_upstreams(conn, ids.into_iter().map(UpstreamId::new)).await,
            MarginGroup::Day | MarginGroup::Destination => Ok(Names::default()),
        }
    }

    fn row(&self, key: &Key, names: &Names, sums: RollupDelta) -> Margin {
        let same = |text: String| Some(text).filter(|text| !text.is_empty()).map(|text| (text.clone(), text)).unzip();
        let label = match key {
            Key::Day(hour) => same(self.date(*hour)),
            Key::Destination(name) => same(name.clone()),
            Key::Id(_) => (key.id().map(|id| id.to_string()), key.id().and_then(|id| names.get(id))),
        };
        Margin::new(label, sums)
    }

    /// The date of a day in the report's time zone.
    fn date(&self, first_hour: i64) -> String {
        let start = Time::from_millis(first_hour.saturating_mul(HOUR_MILLIS));
        let local = start.millis().saturating_add(self.time_zone.offset_seconds(start).saturating_mul(1000));
        Date::from(Time::from_millis(local)).to_string()
    }
}

impl Key {
    /// None for calls without an upstream.
    fn id(&self) -> Option<Uuid> {
        match self {
            Key::Id(id) => Some(*id).filter(|id| !id.is_nil()),
            _ => None,
        }
    }
}
