//! Imports one batch of rows in a transaction.
//!
//! The rows are staged in a table (`number_arrivals`), so that one join finds the DIDs that are in the inventory
//! already.

mod store;

use std::collections::{BTreeMap, HashMap, HashSet};

use super::store::{ImportRow, Progress, record_progress};
use crate::inventory::sheet::StagedRow;
use crate::inventory::store::{Terms, add_free, find_or_create_group, group_terms};
use crate::inventory::types::{InventoryId, StockState};
use db::{Conn, DbError};
use store::{ExistingNumber, StagedNumber};
use values::Time;

/// A batch of rows of an import.
pub struct Batch {
    pub import: ImportRow,
    /// Number of rows before this batch.
    pub from: i64,
    pub total: i64,
    pub numbers: Vec<StagedRow>,
    /// The terms of these numbers, by index.
    pub terms: BTreeMap<u32, Terms>,
    pub now: Time,
}

/// Change of the free count, by group.
type Free = BTreeMap<InventoryId, i64>;

/// Imports the batch. False when it was imported already.
pub async fn import_batch(conn: &mut Conn, batch: &Batch) -> Result<bool, DbError> {
    let staged = staged_numbers(conn, batch).await?;
    let mut progress = Progress { done: staged.len() as i64, ..Progress::default() };
    store::stage(conn, &staged).await?;
    let existing = store::lock_existing(conn, batch.import.upstream_id).await?;
    let mut free = Free::new();
    if !existing.is_empty() {
        update_existing(conn, batch, &existing, &mut free, &mut progress).await?;
    }
    let new = exclude(staged, &existing);
    progress.added = new.len() as i64;
    store::insert(conn, &new).await?;
    for number in &new {
        *free.entry(number.group_id).or_default() += 1;
    }
    for (group, change) in free {
        if change != 0 {
            add_free(conn, group, change).await?;
        }
    }
    store::clear(conn).await?;
    record_progress(conn, batch.import.id, batch.from, batch.total, progress).await
}

async fn staged_numbers(conn: &mut Conn, batch: &Batch) -> Result<Vec<StagedNumber>, DbError> {
    let mut groups = HashMap::new();
    for (index, terms) in &batch.terms {
        let new: InventoryId = conn.new_id();
        groups.insert(*index, (find_or_create_group(conn, terms, new).await?, terms));
    }
    let numbers = batch.numbers.iter().filter_map(|row| {
        let (group_id, terms) = groups.get(&row.terms)?;
        Some(StagedNumber {
            id: conn.new_id(),
            upstream_id: batch.import.upstream_id,
            e164: format!("+{}", row.number),
            group_id: *group_id,
            country: terms.country,
            regulatory: terms.regulatory,
            now: batch.now,
        })
    });
    Ok(numbers.collect())
}

/// Updates DIDs that are not taken to the terms of the file. An override of the team still applies.
async fn update_existing(
    conn: &mut Conn,
    batch: &Batch,
    existing: &[ExistingNumber],
    free: &mut Free,
    progress: &mut Progress,
) -> Result<(), DbError> {
    store::update_existing(conn, batch.import.upstream_id).await?;
    for number in existing {
        if number.state == StockState::Taken {
            progress.kept += 1;
            continue;
        }
        let group = final_group(conn, number).await?;
        progress.changed += i64::from(!number.is_same || group != number.group_id);
        if number.state == StockState::Free {
            *free.entry(number.group_id).or_default() -= 1;
            *free.entry(group).or_default() += 1;
        }
    }
    Ok(())
}

/// The group of a DID after the team's override is applied.
async fn final_group(conn: &mut Conn, number: &ExistingNumber) -> Result<InventoryId, DbError> {
    let Some(regulatory) = number.regulatory_override else { return Ok(number.file_group_id) };
    let terms = Terms { regulatory, ..group_terms(conn, number.file_group_id).await? };
    let group = find_or_create_group(conn, &terms, conn.new_id()).await?;
    store::regroup(conn, number.id, group).await?;
    Ok(group)
}

fn exclude(staged: Vec<StagedNumber>, existing: &[ExistingNumber]) -> Vec<StagedNumber> {
    let existing: HashSet<&str> = existing.iter().map(|number| number.e164.as_str()).collect();
    staged.into_iter().filter(|new| !existing.contains(new.e164.as_str())).collect()
}
