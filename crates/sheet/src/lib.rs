//! Tables as people send them: CSV with a header, read row by row; and the cells of those that they are sent.
//!
//! The header names the columns, in any order and any letter case; columns that nobody knows are ignored. Fields are
//! parted by comma, semicolon or tab, whichever makes most of the header. Taken as they come are a byte order mark,
//! quotes, and lines that end with CRLF. What the cells hold is the business of whoever reads them.
//!
//! A table is read to its end whatever is wrong with it, so that every fault is told at once, with its line.

mod cell;
mod faults;
mod header;
mod records;
mod row;

use std::io::{self, BufReader, Read};

pub use cell::write_cell;
pub use faults::{Fault, Faults};
use header::{DELIMITERS, Layout, known};
use records::{Records, Unreadable};
pub use row::Row;

/// What a column of a table holds.
pub trait Column: Copy + PartialEq + 'static {
    const ALL: &'static [Self];

    /// As it stands in the header.
    fn name(self) -> &'static str;

    fn is_required(self) -> bool;
}

/// How many rows lie between two reports of progress.
const REPORTED: u64 = 4096;
const BUFFER_BYTES: usize = 256 * 1024;

/// Shows `add` every row, so many at most, and tells `progress` now and then and at the end how many there were. False
/// when the table breaks off or has no header, which the faults say.
pub fn read<C: Column>(
    source: impl Read,
    most_rows: u64,
    faults: &mut Faults,
    mut add: impl FnMut(&Row<'_, C>, &mut Faults),
    mut progress: impl FnMut(u64),
) -> io::Result<bool> {
    let mut records = Records::new(BufReader::with_capacity(BUFFER_BYTES, source));
    match read_rows(&mut records, most_rows, faults, &mut add, &mut progress) {
        Ok(whole) => Ok(whole),
        Err(Unreadable::Io(error)) => Err(error),
        Err(Unreadable::Line(line, reason) | Unreadable::Rest(line, reason)) => {
            faults.add(line, None, reason);
            Ok(false)
        }
    }
}

fn read_rows<C: Column, R: io::BufRead>(
    records: &mut Records<R>,
    most_rows: u64,
    faults: &mut Faults,
    add: &mut impl FnMut(&Row<'_, C>, &mut Faults),
    progress: &mut impl FnMut(u64),
) -> Result<bool, Unreadable> {
    let Some((delimiter, layout)) = read_header::<C, R>(records, faults)? else { return Ok(false) };
    let mut count = 0;
    loop {
        match records.next(delimiter) {
            Ok(None) => break,
            Ok(Some(record)) if count == most_rows => {
                faults.add(record.line, None, format!("there are more than {most_rows} rows"));
                return Ok(false);
            }
            Ok(Some(record)) => {
                if let Some(row) = Row::of(record, &layout, faults) {
                    add(&row, faults);
                }
            }
            Err(Unreadable::Line(line, reason)) => faults.add(line, None, reason),
            Err(error) => return Err(error),
        }
        count += 1;
        if count % REPORTED == 0 {
            progress(count);
        }
    }
    progress(count);
    if count == 0 {
        faults.add(records.line_count(), None, "there are no rows");
    }
    Ok(true)
}

/// Nothing if the header is not one; the faults say why.
fn read_header<C: Column, R: io::BufRead>(
    records: &mut Records<R>,
    faults: &mut Faults,
) -> Result<Option<(u8, Layout<C>)>, Unreadable> {
    let [first, others @ ..] = DELIMITERS;
    let (mut delimiter, mut most) = match records.next(first) {
        Ok(Some(header)) => (first, known::<C>(header)),
        Ok(None) => return Err(Unreadable::Rest(1, "the sheet is empty")),
        Err(Unreadable::Line(..)) => (first, 0),
        Err(error) => return Err(error),
    };
    for other in others {
        match records.again(other) {
            Ok(header) if known::<C>(header) > most => (delimiter, most) = (other, known::<C>(header)),
            _ => {}
        }
    }
    let header = records.again(delimiter)?;
    let (line, before) = (header.line, faults.count);
    let layout = Layout::of(header, |column: C, reason| faults.add(line, Some(column.name()), reason));
    Ok((faults.count == before).then_some((delimiter, layout)))
}
