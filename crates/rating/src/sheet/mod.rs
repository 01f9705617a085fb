//! A deck as a sheet: CSV as carriers send it.
//!
//! The header names the columns, in any order and any letter case; others are ignored. Fields are parted by comma,
//! semicolon or tab, whichever makes most of the header. Taken as they come are a byte order mark, quotes, lines that
//! end with CRLF, a decimal comma, and a `+` or `00` before a prefix.
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
mod faults;
mod records;
mod rows;
mod write;

use std::fmt;
use std::io::{self, BufReader, Read};

use columns::{DELIMITERS, Layout, known};
pub use faults::{Fault, Faults};
use records::{Records, Unreadable};
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

/// How many rows lie between two reports of progress.
const REPORTED: u64 = 4096;

impl Sheet {
    pub const MOST_ROWS: u64 = 2_000_000;

    /// Tells `progress` now and then, and at the end, how many rows have been read.
    pub fn read(source: impl Read, reading: &Reading<'_>, mut progress: impl FnMut(u64)) -> Result<Sheet, BadSheet> {
        let mut records = Records::new(BufReader::with_capacity(256 * 1024, source));
        let mut faults = Faults::default();
        match read_rows(&mut records, reading, &mut faults, &mut progress) {
            Ok(entries) if faults.count == 0 => Ok(Sheet { entries }),
            Ok(_) => Err(BadSheet::Faults(in_order(faults))),
            Err(Unreadable::Io(error)) => Err(BadSheet::Io(error)),
            Err(Unreadable::Line(line, reason) | Unreadable::Rest(line, reason)) => {
                faults.add(line, None, reason);
                Err(BadSheet::Faults(in_order(faults)))
            }
        }
    }
}

/// Faults that show only once all rows are there, as duplicates do, come last.
fn in_order(mut faults: Faults) -> Faults {
    faults.first.sort_by_key(|fault| fault.line);
    faults
}

fn read_rows<R: io::BufRead>(
    records: &mut Records<R>,
    reading: &Reading<'_>,
    faults: &mut Faults,
    progress: &mut impl FnMut(u64),
) -> Result<Vec<Entry>, Unreadable> {
    let Some((delimiter, layout)) = read_header(records, faults)? else { return Ok(Vec::new()) };
    let mut rows = Rows::new(layout, reading, faults);
    let mut count = 0;
    loop {
        match records.next(delimiter) {
            Ok(None) => break,
            Ok(Some(_)) if count == Sheet::MOST_ROWS => {
                return Err(Unreadable::Rest(records.line_count(), "there are more than 2000000 rows"));
            }
            Ok(Some(record)) => rows.add(record),
            Err(Unreadable::Line(line, reason)) => rows.fault(line, None, reason),
            Err(error) => return Err(error),
        }
        count += 1;
        if count % REPORTED == 0 {
            progress(count);
        }
    }
    if count % REPORTED != 0 {
        progress(count);
    }
    if count == 0 {
        rows.fault(records.line_count(), None, "there are no rows");
    }
    Ok(rows.finish())
}

/// Nothing if the header is not one; the faults say why.
fn read_header<R: io::BufRead>(
    records: &mut Records<R>,
    faults: &mut Faults,
) -> Result<Option<(u8, Layout)>, Unreadable> {
    let [first, others @ ..] = DELIMITERS;
    let (mut delimiter, mut most) = match records.next(first) {
        Ok(Some(header)) => (first, known(header)),
        Ok(None) => return Err(Unreadable::Rest(1, "the sheet is empty")),
        Err(Unreadable::Line(..)) => (first, 0),
        Err(error) => return Err(error),
    };
    for other in others {
        match records.again(other) {
            Ok(header) if known(header) > most => (delimiter, most) = (other, known(header)),
            _ => {}
        }
    }
    let header = records.again(delimiter)?;
    let line = header.line;
    let layout = Layout::of(header, |column, reason| faults.add(line, Some(column.name()), reason));
    Ok((faults.count == 0).then_some((delimiter, layout)))
}
