//! Searches the numbers of an account: newest first, or, by their first digits, in the order of the numbers.
//!
//! Each page reads along the index of its filters. Only a search by digits applies the others to what it reads, at most
//! [`MAX_SCANNED`] numbers, so such a page may be short and yet have a next one.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::store::{self, NumberRow};
use super::types::{NumberFilters, NumberId};
use db::{Conn, DbError};
use values::{AccountId, E164, Time};

/// Numbers that are read for one page.
const MAX_SCANNED: usize = 10_000;
/// Numbers that one statement reads where some may not match.
const BATCH: i64 = 500;

/// The sort key of the list.
#[derive(Clone, Serialize, Deserialize)]
pub enum NumberCursor {
    /// Start of the rental in Unix milliseconds, and id.
    Newest(i64, NumberId),
    Number(E164),
}

/// A page of numbers, and the cursor of the next one.
pub struct NumberPage {
    pub rows: Vec<NumberRow>,
    pub next: Option<NumberCursor>,
}

/// Returns a page after a cursor, or the first one.
pub async fn page(
    conn: &mut Conn,
    account: AccountId,
    filters: &NumberFilters,
    after: Option<&NumberCursor>,
    limit: usize,
) -> Result<NumberPage, DbError> {
    if let Some(digits) = &filters.q {
        return by_number(conn, account, filters, &format!("+{digits}"), after, limit).await;
    }
    let before = match after {
        Some(NumberCursor::Newest(at, id)) => (Time::from_millis(*at), *id),
        _ => (Time::from_millis(i64::MAX), NumberId::new(Uuid::max())),
    };
    // One row more than the page tells whether there is a next one.
    let fetch = i64::try_from(limit).unwrap_or(i64::MAX - 1) + 1;
    let mut rows = match (filters.trunk_id, filters.country) {
        (Some(trunk), _) if !store::owns_trunk(conn, account, trunk).await? => Vec::new(),
        (Some(trunk), None) => store::list_of_trunk(conn, trunk, before, fetch).await?,
        (Some(trunk), Some(country)) => store::list_of_trunk_in(conn, trunk, country, before, fetch).await?,
        (None, country) => store::list(conn, account, country, before, fetch).await?,
    };
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|row| NumberCursor::Newest(row.since.millis(), row.id));
    Ok(NumberPage { rows, next })
}

async fn by_number(
    conn: &mut Conn,
    account: AccountId,
    filters: &NumberFilters,
    prefix: &str,
    after: Option<&NumberCursor>,
    limit: usize,
) -> Result<NumberPage, DbError> {
    let mut start = match after {
        Some(NumberCursor::Number(number)) => past(number),
        _ => prefix.to_owned(),
    };
    let end = format!("{prefix}{}", char::MAX);
    let matches = |row: &NumberRow| {
        filters.trunk_id.is_none_or(|trunk| trunk == row.trunk_id)
            && filters.country.is_none_or(|country| country == row.country)
    };
    let (mut rows, mut scanned): (Vec<NumberRow>, usize) = (Vec::new(), 0);
    loop {
        let read = store::list_by_number(conn, account, (&start, &end), BATCH).await?;
        let is_last = (read.len() as u64) < BATCH.unsigned_abs();
        scanned += read.len();
        let last = read.last().map(|row| row.e164.clone());
        for row in read.into_iter().filter(matches) {
            if rows.len() == limit {
                let next = rows.last().map(|row| NumberCursor::Number(row.e164.clone()));
                return Ok(NumberPage { rows, next });
            }
            rows.push(row);
        }
        match last {
            Some(last) if !is_last && scanned < MAX_SCANNED => start = past(&last),
            Some(last) if !is_last => return Ok(NumberPage { rows, next: Some(NumberCursor::Number(last)) }),
            _ => return Ok(NumberPage { rows, next: None }),
        }
    }
}

/// A text that sorts after a number and before all longer ones that begin with it.
fn past(number: &E164) -> String {
    format!("{number} ")
}
