//! A deck as a sheet: CSV as carriers send it.
//!
//! The crate `sheet` reads it. Beside what that takes as it comes, so are a decimal comma, and a `+` or `00` before a
//! prefix.
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
//! | `effective_at` | a date, or a moment after RFC 3339 | now |
//!
//! A sheet is good as a whole or not at all, and every fault is told with its line.

mod cells;
mod columns;
mod rows;
mod write;

use std::fmt;
use std::io::{self, Read};

use ::sheet::Faults;
use rows::Rows;
pub use write::SheetWriter;

use crate::{Country, Entry, Moment};

/// The rows of a good sheet, in the order of [`Entry::place`]. Each has an offer.
#[derive(Debug)]
pub struct Sheet {
    pub entries: Vec<Entry>,
}

/// Why there is no sheet.
#[derive(Debug)]
pub enum BadSheet {
    Io(io::Error),
    Faults(Faults),
}

impl fmt::Display for BadSheet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadSheet::Io(error) => write!(f, "the sheet cannot be read: {error}"),
            BadSheet::Faults(faults) => match faults.first.first() {
                Some(first) => write!(f, "the sheet has {} faults, the first in {first}", faults.count),
                None => write!(f, "the sheet has {} faults", faults.count),
            },
        }
    }
}

impl std::error::Error for BadSheet {}

/// What a sheet does not say itself.
pub struct Reading<'a> {
    /// When a row comes into force that does not say.
    pub now: Moment,
    pub is_country: &'a dyn Fn(Country) -> bool,
}

impl Sheet {
    pub const MOST_ROWS: u64 = 2_000_000;

    /// Tells `progress` now and then, and at the end, how many rows have been read.
    pub fn read(source: impl Read, reading: &Reading<'_>, progress: impl FnMut(u64)) -> Result<Sheet, BadSheet> {
        let mut faults = Faults::default();
        let mut rows = Rows::new(reading);
        let add = |row: &::sheet::Row<'_, columns::Column>, faults: &mut Faults| rows.add(row, faults);
        let is_whole = ::sheet::read(source, Sheet::MOST_ROWS, &mut faults, add, progress).map_err(BadSheet::Io)?;
        // Of a table that breaks off, rows that are there twice are the least of its faults.
        let entries = if is_whole { rows.finish(&mut faults) } else { Vec::new() };
        if faults.count == 0 { Ok(Sheet { entries }) } else { Err(BadSheet::Faults(faults.sorted_by_line())) }
    }
}
