//! Reads CSV files with a header, row by row, and writes CSV cells.
//!
//! The header names the columns, in any order and letter case; unknown columns are ignored. The delimiter is comma,
//! semicolon or tab: the one that gives the most known columns. A byte order mark, quoted fields and CRLF are accepted.
//! Parsing the cells is up to the caller.
//!
//! A file is read to its end even if it has faults, so that all [`Faults`] are reported at once, by line.

mod cell;
mod faults;
mod header;
mod records;
mod row;

use std::io::{self, BufReader, Read};

pub use cell::write_cell;
pub use faults::{Fault, Faults};
use header::{DELIMITERS, Layout, count_known};
use records::{ReadError, Records};
pub use row::Row;

/// The columns that a caller knows.
pub trait Column: Copy + PartialEq + 'static {
    const ALL: &'static [Self];

    /// The name in the header.
    fn name(self) -> &'static str;

    fn is_required(self) -> bool;
}

/// Rows between two progress reports.
const PROGRESS_ROWS: u64 = 4096;
const BUFFER_BYTES: usize = 256 * 1024;

/// Calls `add` for every row, and `progress` with the number of rows read so far, now and then and at the end.
///
/// Returns false if reading stopped early: no valid header, more than `max_rows` rows, or a record without an end. The
/// faults say which.
pub fn read<C: Column>(
    source: impl Read,
    max_rows: u64,
    faults: &mut Faults,
    mut add: impl FnMut(&Row<'_, C>, &mut Faults),
    mut progress: impl FnMut(u64),
) -> io::Result<bool> {
    let mut records = Records::new(BufReader::with_capacity(BUFFER_BYTES, source));
    match read_rows(&mut records, max_rows, faults, &mut add, &mut progress) {
        Ok(is_complete) => Ok(is_complete),
        Err(ReadError::Io(error)) => Err(error),
        Err(ReadError::Line(line, reason) | ReadError::Rest(line, reason)) => {
            faults.add(line, None, reason);
            Ok(false)
        }
    }
}

fn read_rows<C: Column, R: io::BufRead>(
    records: &mut Records<R>,
    max_rows: u64,
    faults: &mut Faults,
    add: &mut impl FnMut(&Row<'_, C>, &mut Faults),
    progress: &mut impl FnMut(u64),
) -> Result<bool, ReadError> {
    let Some((delimiter, layout)) = read_header::<C, R>(records, faults)? else { return Ok(false) };
    let mut count = 0;
    loop {
        match records.next(delimiter) {
            Ok(None) => break,
            Ok(Some(record)) if count == max_rows => {
                faults.add(record.line, None, format!("the file has more than {max_rows} rows"));
                return Ok(false);
            }
            Ok(Some(record)) => {
                if let Some(row) = Row::new(record, &layout, faults) {
                    add(&row, faults);
                }
            }
            Err(ReadError::Line(line, reason)) => faults.add(line, None, reason),
            Err(error) => return Err(error),
        }
        count += 1;
        if count % PROGRESS_ROWS == 0 {
            progress(count);
        }
    }
    progress(count);
    if count == 0 {
        faults.add(records.line_count(), None, "the file has no rows");
    }
    Ok(true)
}

/// Finds the delimiter and the columns. Returns `None` if the header has faults.
fn read_header<C: Column, R: io::BufRead>(
    records: &mut Records<R>,
    faults: &mut Faults,
) -> Result<Option<(u8, Layout<C>)>, ReadError> {
    let [first, others @ ..] = DELIMITERS;
    let (mut delimiter, mut most) = match records.next(first) {
        Ok(Some(header)) => (first, count_known::<C>(header)),
        Ok(None) => return Err(ReadError::Rest(1, "the file is empty")),
        Err(ReadError::Line(..)) => (first, 0),
        Err(error) => return Err(error),
    };
    for other in others {
        match records.split_again(other) {
            Ok(header) if count_known::<C>(header) > most => (delimiter, most) = (other, count_known::<C>(header)),
            _ => {}
        }
    }
    let header = records.split_again(delimiter)?;
    let (line, before) = (header.line, faults.count);
    let layout = Layout::new(header, |column: C, reason| faults.add(line, Some(column.name()), reason));
    Ok((faults.count == before).then_some((delimiter, layout)))
}
