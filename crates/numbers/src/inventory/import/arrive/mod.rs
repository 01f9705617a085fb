//! Some thousand numbers into the stock, in one transaction.
//!
//! They pass through a table of their own, so that the database finds out in one go which of them it knows.

mod store;

use std::collections::{BTreeMap, HashMap, HashSet};

use super::store::{ImportRow, Progress, proceed};
use crate::inventory::sheet::Arrival;
use crate::inventory::store::{Terms, count, group_of, terms};
use crate::inventory::types::{InventoryId, StockId, StockState};
use db::{Conn, DbError};
use platform::entropy::Entropy;
use store::{Known, New};
use values::Time;

/// A part of an import.
pub struct Batch {
    pub import: ImportRow,
    /// How many numbers came before.
    pub from: i64,
    pub total: i64,
    pub numbers: Vec<Arrival>,
    /// The terms that these numbers name.
    pub terms: BTreeMap<u32, Terms>,
    pub entropy: Entropy,
    pub now: Time,
}

/// By how much the free numbers of each group change.
type Free = BTreeMap<InventoryId, i64>;

/// Puts the numbers into the stock, once. False when somebody else has done so.
pub async fn arrive(conn: &mut Conn, batch: &Batch) -> Result<bool, DbError> {
    let arriving = described(conn, batch).await?;
    let mut progress = Progress { done: arriving.len() as i64, ..Progress::default() };
    store::fill(conn, &arriving).await?;
    let known = store::known(conn, batch.import.upstream_id).await?;
    let mut free = Free::new();
    if !known.is_empty() {
        change(conn, batch, &known, &mut free, &mut progress).await?;
    }
    let fresh = without(arriving, &known);
    progress.added = fresh.len() as i64;
    store::add(conn, &fresh).await?;
    for new in &fresh {
        *free.entry(new.group_id).or_default() += 1;
    }
    for (group, change) in free {
        if change != 0 {
            count(conn, group, change).await?;
        }
    }
    store::empty(conn).await?;
    proceed(conn, batch.import.id, batch.from, batch.total, progress).await
}

async fn described(conn: &mut Conn, batch: &Batch) -> Result<Vec<New>, DbError> {
    let mut groups = HashMap::new();
    for (place, terms) in &batch.terms {
        let new = InventoryId::new(batch.entropy.uuid(batch.now));
        groups.insert(*place, (group_of(conn, terms, new).await?, terms));
    }
    let described = batch.numbers.iter().filter_map(|arrival| {
        let (group_id, terms) = groups.get(&arrival.terms)?;
        Some(New {
            id: StockId::new(batch.entropy.uuid(batch.now)),
            upstream_id: batch.import.upstream_id,
            e164: format!("+{}", arrival.number),
            group_id: *group_id,
            country: terms.country,
            regulatory: terms.regulatory,
            now: batch.now,
        })
    });
    Ok(described.collect())
}

/// Changes those that nobody has to what the file says. Where the team has said something else, that still counts.
async fn change(
    conn: &mut Conn,
    batch: &Batch,
    known: &[Known],
    free: &mut Free,
    progress: &mut Progress,
) -> Result<(), DbError> {
    store::change_known(conn, batch.import.upstream_id, batch.now).await?;
    for number in known {
        if number.state == StockState::Taken {
            progress.kept += 1;
            continue;
        }
        let group = settled_group(conn, batch, number).await?;
        progress.changed += i64::from(!number.is_same || group != number.group_id);
        if number.state == StockState::Free {
            *free.entry(number.group_id).or_default() -= 1;
            *free.entry(group).or_default() += 1;
        }
    }
    Ok(())
}

/// The group that a number is in now, once the word of the team was heard.
async fn settled_group(conn: &mut Conn, batch: &Batch, number: &Known) -> Result<InventoryId, DbError> {
    let Some(regulatory) = number.regulatory_override else { return Ok(number.said) };
    let wanted = Terms { regulatory, ..terms(conn, number.said).await? };
    let group = group_of(conn, &wanted, InventoryId::new(batch.entropy.uuid(batch.now))).await?;
    store::regroup(conn, number.id, group).await?;
    Ok(group)
}

fn without(arriving: Vec<New>, known: &[Known]) -> Vec<New> {
    let known: HashSet<&str> = known.iter().map(|number| number.e164.as_str()).collect();
    arriving.into_iter().filter(|new| !known.contains(new.e164.as_str())).collect()
}
