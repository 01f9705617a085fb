//! Reads tables row by row, from CSV or from workbooks (XLSX), and writes CSV cells.
//!
//! [`read`] reads CSV whose header names the columns, in any order and letter case; unknown columns are ignored. The
//! delimiter is comma, semicolon or tab: the one that gives the most known columns. A byte order mark, quoted fields and
//! CRLF are accepted. [`Book`] reads both formats, with a header that the caller has to find. Parsing the cells is up to
//! the caller.
//!
//! A file is read to its end even if it has faults, so that all [`Faults`] are reported at once, by line and cell.

mod book;
mod cell;
mod faults;
mod header;
mod record;
mod records;
mod row;
mod xlsx;

use std::io::{self, BufReader, Read};

pub use book::{Book, Format, OpenError, PEEKED_ROWS, Peeked, PeekedRow, Table};
pub use cell::write_cell;
pub use faults::{Fault, Faults};
pub use header::Layout;
use header::{DELIMITERS, count_known};
pub use record::Kind;
use records::{Delimited, ReadError, ReadRecords, Records};
pub use row::Row;
pub use xlsx::MAX_XLSX_BYTES;

/// The columns that a caller knows.
pub trait Column: Copy + PartialEq + 'static {
    /// Those that a header may name.
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
    let done = match read_header::<C, _>(&mut records, faults) {
        Ok(Some((delimiter, layout))) => {
            let mut rows = Delimited { records, delimiter };
            read_records(&mut rows, &layout, max_rows, faults, &mut add, &mut progress)
        }
        Ok(None) => Ok(false),
        Err(error) => Err(error),
    };
    finish(done, faults)
}

/// Turns what ends a file early into a fault.
fn finish(done: Result<bool, ReadError>, faults: &mut Faults) -> io::Result<bool> {
    match done {
        Ok(is_complete) => Ok(is_complete),
        Err(ReadError::Io(error)) => Err(error),
        Err(ReadError::Line(line, reason)) => {
            faults.add(line, None, reason);
            Ok(false)
        }
        Err(ReadError::Rest(line, reason)) => {
            faults.add(line, None, reason);
            Ok(false)
        }
    }
}

fn read_records<C: Column>(
    rows: &mut impl ReadRecords,
    layout: &Layout<C>,
    max_rows: u64,
    faults: &mut Faults,
    add: &mut impl FnMut(&Row<'_, C>, &mut Faults),
    progress: &mut impl FnMut(u64),
) -> Result<bool, ReadError> {
    let mut count = 0;
    loop {
        match rows.next_record() {
            Ok(None) => break,
            Ok(Some(record)) if layout.width == 0 && layout.is_blank(record) => continue,
            Ok(Some(record)) if count == max_rows => {
                faults.add(record.line, None, format!("the file has more than {max_rows} rows"));
                return Ok(false);
            }
            Ok(Some(record)) => {
                if let Some(row) = Row::new(record, layout, faults) {
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
        faults.add(rows.last_line(), None, "the file has no rows");
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
        Ok(None) => return Err(ReadError::Rest(1, "the file is empty".into())),
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
