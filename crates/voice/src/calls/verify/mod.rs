//! The proof of what is kept of calls: everything that is counted beside the records is counted again from them.

mod store;

use std::collections::BTreeMap;
use std::fmt;

use rating::Rate;

use super::types::CallStatus;
use db::{Conn, DbError};

/// What was proved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    pub records: u64,
    pub live_calls: u64,
}

/// The first thing that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub what: &'static str,
    pub which: String,
    pub stored: String,
    pub counted: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { what, which, stored, counted } = self;
        write!(f, "{what} of {which}: {stored} is kept, {counted} follows from the calls")
    }
}

/// Counts again. All of it must be read as of one moment: see [`Db::snapshot`](db::Db::snapshot).
pub async fn verify(conn: &mut Conn) -> Result<Result<Verified, Fault>, DbError> {
    let mut verified = Verified::default();
    let mut wrong_price = None;
    verified.records = store::each_record(conn, |record| {
        if wrong_price.is_none() {
            wrong_price = price_fault(&record);
        }
        Ok(())
    })
    .await?;
    if let Some(fault) = wrong_price {
        return Ok(Err(fault));
    }
    verified.live_calls = store::count_live(conn).await?;
    let comparisons = [
        ("the sums of a day", store::days(conn).await?),
        ("the charges of a day", store::charged_days(conn).await?),
        ("the sums of an hour", store::hours(conn).await?),
        ("the spend of a day", store::spend(conn).await?),
        ("the load of a trunk", store::trunks(conn).await?),
        ("the load of a zone", store::zones(conn).await?),
        ("the ledger's transaction", store::charges(conn).await?),
    ];
    Ok(comparisons.into_iter().try_for_each(|(what, both)| compare(what, &both)).map(|()| verified))
}

/// Something that was kept, and the same counted again, by what it is of. What is nothing may be absent.
pub(super) struct Both {
    stored: BTreeMap<String, Vec<i64>>,
    counted: BTreeMap<String, Vec<i64>>,
}

fn compare(what: &'static str, both: &Both) -> Result<(), Fault> {
    let is_something = |sums: &&Vec<i64>| sums.iter().any(|sum| *sum != 0);
    for which in both.stored.keys().chain(both.counted.keys()) {
        let stored = both.stored.get(which).filter(is_something);
        let counted = both.counted.get(which).filter(is_something);
        if stored != counted {
            let text = |sums: Option<&Vec<i64>>| sums.map_or("nothing".to_owned(), |sums| format!("{sums:?}"));
            return Err(Fault { what, which: which.clone(), stored: text(stored), counted: text(counted) });
        }
    }
    Ok(())
}

/// A record whose charge does not follow from its own rate and length, or is charged nowhere.
fn price_fault(record: &store::Priced) -> Option<Fault> {
    let rate = || {
        let seconds = |seconds| u16::try_from(seconds).ok();
        let (increment, minimum) = (seconds(record.increment_seconds)?, seconds(record.minimum_seconds)?);
        Rate::new(record.rate_per_minute, record.connect_fee, increment, minimum).ok()
    };
    let price = match record.status {
        CallStatus::Answered => rate().and_then(|rate| rate.price(u32::try_from(record.duration_seconds).ok()?).ok()),
        _ => Some(0),
    };
    let is_charged = record.is_charged == (record.charge > 0);
    (price != Some(record.charge) || !is_charged).then(|| Fault {
        what: "the charge",
        which: record.id.to_string(),
        stored: format!(
            "{} ({})",
            record.charge,
            if record.is_charged { "in the ledger" } else { "not in the ledger" }
        ),
        counted: price.map_or("no price".to_owned(), |price| price.to_string()),
    })
}
