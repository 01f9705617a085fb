//! Verifies CDRs: prices each again and recomputes everything that is derived from them (`trunkline cdrs verify`).
//!
//! Rollups of the hot window are recomputed. What was charged for archived calls was compared when they were archived, and
//! their charges are only missing here: no sum may exceed what is stored.
//!
//! `plans`: whether each was priced by the rate plan of its customer.

mod plans;
mod store;

use std::collections::BTreeMap;
use std::fmt;

use rating::Rate;

use super::archive;
use super::terms::CallStatus;
use db::{Conn, DbError};
use plans::AllPlans;
use values::Time;

/// What was verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    pub cdrs: u64,
    pub live_calls: u64,
}

/// The first mismatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    pub what: &'static str,
    pub which: String,
    pub stored: String,
    pub computed: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { what, which, stored, computed } = self;
        write!(f, "{what} of {which}: stored {stored}, computed {computed}")
    }
}

/// Verifies all CDRs. Needs one read snapshot: see [`Db::snapshot`](db::Db::snapshot).
pub async fn verify(conn: &mut Conn) -> Result<Result<Verified, Mismatch>, DbError> {
    let mut verified = Verified::default();
    let (mut price_mismatch, plans) = (None, AllPlans::load(conn).await?);
    verified.cdrs = store::each_cdr(conn, |cdr| {
        if price_mismatch.is_none() {
            price_mismatch = check_price(&cdr).or_else(|| plans.check(&cdr));
        }
        Ok(())
    })
    .await?;
    if let Some(mismatch) = price_mismatch {
        return Ok(Err(mismatch));
    }
    verified.live_calls = store::count_live(conn).await?;
    let archived_to = archive::hot_from(conn).await?;
    let hot_from = archived_to.unwrap_or(Time::EPOCH);
    let comparisons = [
        ("daily rollup", store::days(conn, hot_from).await?),
        ("hourly rollup", store::hours(conn, hot_from).await?),
        ("usage of trunk", store::usage_trunks(conn, hot_from).await?),
        ("usage of destination", store::usage_destinations(conn, hot_from).await?),
        ("traffic of route", store::usage_routes(conn, hot_from).await?),
        ("daily spend", store::spend(conn, hot_from).await?),
        ("live calls of trunk", store::trunks(conn).await?),
        ("live calls in zone", store::zones(conn).await?),
    ];
    // Made on another day than the call, or together with those of other days.
    let charges =
        [("daily charges", store::charged_days(conn).await?), ("ledger transaction", store::charges(conn).await?)];
    let compare_charges = if archived_to.is_some() { compare_at_most } else { compare };
    let outcome = comparisons.into_iter().try_for_each(|(what, sums)| compare(what, &sums));
    let outcome = outcome.and_then(|()| charges.into_iter().try_for_each(|(what, sums)| compare_charges(what, &sums)));
    Ok(outcome.map(|()| verified))
}

/// Stored and computed sums by what they are of. Sums of zero may be absent.
pub(super) struct Sums {
    stored: BTreeMap<String, Vec<i64>>,
    computed: BTreeMap<String, Vec<i64>>,
}

fn compare(what: &'static str, sums: &Sums) -> Result<(), Mismatch> {
    let is_nonzero = |sums: &&Vec<i64>| sums.iter().any(|sum| *sum != 0);
    for which in sums.stored.keys().chain(sums.computed.keys()) {
        let stored = sums.stored.get(which).filter(is_nonzero);
        let computed = sums.computed.get(which).filter(is_nonzero);
        if stored != computed {
            return Err(mismatch(what, which, stored, computed));
        }
    }
    Ok(())
}

/// The same where the stored sums may also have archived calls.
fn compare_at_most(what: &'static str, sums: &Sums) -> Result<(), Mismatch> {
    for (which, computed) in &sums.computed {
        let stored = sums.stored.get(which);
        let stored_at = |at: usize| stored.and_then(|sums| sums.get(at)).copied().unwrap_or_default();
        if computed.iter().enumerate().any(|(at, sum)| *sum > stored_at(at)) {
            return Err(mismatch(what, which, stored, Some(computed)));
        }
    }
    Ok(())
}

fn mismatch(what: &'static str, which: &str, stored: Option<&Vec<i64>>, computed: Option<&Vec<i64>>) -> Mismatch {
    let text = |sums: Option<&Vec<i64>>| sums.map_or("nothing".to_owned(), |sums| format!("{sums:?}"));
    Mismatch { what, which: which.to_owned(), stored: text(stored), computed: text(computed) }
}

/// Checks that a charge follows from rate and duration, and that it has a ledger transaction.
fn check_price(cdr: &store::PricedCdr) -> Option<Mismatch> {
    let rate = || {
        let seconds = |seconds| u16::try_from(seconds).ok();
        let (increment, minimum) = (seconds(cdr.increment_seconds)?, seconds(cdr.minimum_seconds)?);
        Rate::new(cdr.rate_per_minute, cdr.connect_fee, increment, minimum).ok()
    };
    let price = match cdr.status {
        CallStatus::Answered => rate().and_then(|rate| rate.price(u32::try_from(cdr.duration_seconds).ok()?).ok()),
        _ => Some(0),
    };
    let is_charged = cdr.is_charged == (cdr.charge > 0);
    (price != Some(cdr.charge) || !is_charged).then(|| Mismatch {
        what: "charge",
        which: cdr.id.to_string(),
        stored: format!("{} ({})", cdr.charge, if cdr.is_charged { "in the ledger" } else { "not in the ledger" }),
        computed: price.map_or("no price".to_owned(), |price| price.to_string()),
    })
}
