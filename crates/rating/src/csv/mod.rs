//! Rate decks as CSV, as upstreams send them.
//!
//! The `sheet` crate splits the file. A decimal comma, and `+` or `00` before a prefix, are accepted too.
//!
//! | Column | Holds | When absent or empty |
//! |---|---|---|
//! | `prefix` | 1 to 15 digits, the first not 0 | a fault |
//! | `destination_name` | 1 to 200 characters | a fault |
//! | `country` | two letters | a fault |
//! | `rate_per_minute` | units of the deck's currency, at most 9 decimals | a fault |
//! | `connect_fee` | the same | 0 |
//! | `billing_increment_seconds` | 1 to 3600 | 1 |
//! | `minimum_seconds` | 0 to 3600 | 1 |
//! | `effective_at` | a date, or an RFC 3339 timestamp | now |
//!
//! A file with any fault is rejected as a whole; every fault is reported by line.

pub mod cells;
mod columns;
mod rows;
mod write;

use std::fmt;
use std::io::{self, Read};

pub use columns::Column;
pub use rows::Rows;
use sheet::Faults;
pub use write::DeckCsvWriter;

use crate::{Country, Entry, UnixMillis};

/// The rows of a valid file, in the order of [`Entry::sort_key`]. Each has an offer, unless it withdraws its prefix.
#[derive(Debug)]
pub struct DeckCsv {
    pub entries: Vec<Entry>,
}

/// The file could not be read or has faults.
#[derive(Debug)]
pub enum DeckCsvError {
    Io(io::Error),
    /// The file is not what it should be; the sentence says why.
    Refused(String),
    Faults(Faults),
}

impl fmt::Display for DeckCsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeckCsvError::Io(error) => write!(f, "the file cannot be read: {error}"),
            DeckCsvError::Refused(reason) => f.write_str(reason),
            DeckCsvError::Faults(faults) => match faults.first.first() {
                Some(first) => write!(f, "the file has faults ({}), first: {first}", faults.count),
                None => write!(f, "the file has faults ({})", faults.count),
            },
        }
    }
}

impl std::error::Error for DeckCsvError {}

/// What the file itself does not say.
pub struct DeckCsvOptions<'a> {
    /// The `effective_at` of rows without one.
    pub now: UnixMillis,
    /// Whether a country code exists.
    pub is_country: &'a dyn Fn(Country) -> bool,
}

impl DeckCsv {
    /// Maximum number of rows.
    pub const MAX_ROWS: u64 = 2_000_000;

    /// Reads a file. Calls `progress` with the number of rows read so far, now and then and at the end.
    pub fn read(
        source: impl Read,
        options: &DeckCsvOptions<'_>,
        progress: impl FnMut(u64),
    ) -> Result<DeckCsv, DeckCsvError> {
        let mut faults = Faults::default();
        let mut rows = Rows::new(options, None);
        let add = |row: &sheet::Row<'_, Column>, faults: &mut Faults| rows.add(row, faults);
        let is_complete =
            sheet::read(source, DeckCsv::MAX_ROWS, &mut faults, add, progress).map_err(DeckCsvError::Io)?;
        DeckCsv::collect(rows, is_complete, faults)
    }

    /// The rows of a file that was read, if it has no faults.
    pub(crate) fn collect(rows: Rows<'_>, is_complete: bool, mut faults: Faults) -> Result<DeckCsv, DeckCsvError> {
        // Duplicates are only reported if the whole file was read.
        let entries = if is_complete { rows.finish(&mut faults) } else { Vec::new() };
        if faults.count == 0 { Ok(DeckCsv { entries }) } else { Err(DeckCsvError::Faults(faults.sorted_by_line())) }
    }
}
