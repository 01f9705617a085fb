//! A file of rows in either format, CSV or XLSX, whose header the caller has to find.
//!
//! [`Book::peek`] shows the first rows, of each sheet of a workbook or of CSV split at each delimiter. The caller picks
//! one of these tables and says at which line its header is and which column is where; [`Book::read`] then reads the
//! rows below.

use std::io::{self, BufReader, Cursor, Read};

use super::header::{DELIMITERS, Layout};
use super::record::{Kind, Record};
use super::records::{Delimited, ReadError, ReadRecords, Records};
use super::xlsx::{MAX_XLSX_BYTES, PASSWORD, Workbook};
use super::{BUFFER_BYTES, Column, Faults, Row, finish, read_records};

/// Rows that are searched for a header.
pub const PEEKED_ROWS: usize = 50;
/// What is read of a CSV file to find its header.
const PEEKED_BYTES: u64 = 256 * 1024;

const ZIP: &[u8] = b"PK";
/// The first bytes of Excel workbooks before 2007, and of newer ones with a password.
const COMPOUND_FILE: &[u8] = &[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Csv,
    Xlsx,
}

/// Why a file cannot be read at all.
#[derive(Debug)]
pub enum OpenError {
    Io(io::Error),
    /// It is not what it should be.
    Refused(String),
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> OpenError {
        OpenError::Io(error)
    }
}

pub enum Book<R> {
    /// What was read to find the header, and the rest.
    Csv(Vec<u8>, R),
    Xlsx(Box<Workbook>),
}

/// A table of a file: a sheet of a workbook, or CSV split at a delimiter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Table {
    Delimited(u8),
    Sheet(String),
}

/// The first rows of a table.
pub struct Peeked {
    pub table: Table,
    pub rows: Vec<PeekedRow>,
}

pub struct PeekedRow {
    pub line: u64,
    /// The trimmed texts of the cells, and what kind each is.
    pub cells: Vec<(String, Kind)>,
}

impl<R: Read> Book<R> {
    /// Opens a file. A workbook is read into memory, packed as it is.
    pub fn open(mut source: R) -> Result<Book<R>, OpenError> {
        let mut head = Vec::new();
        source.by_ref().take(PEEKED_BYTES).read_to_end(&mut head)?;
        if head.starts_with(ZIP) {
            source.take(MAX_XLSX_BYTES).read_to_end(&mut head)?;
            if head.len() as u64 > MAX_XLSX_BYTES {
                let limit = MAX_XLSX_BYTES / 1024 / 1024;
                return Err(OpenError::Refused(format!("the workbook is larger than {limit} MiB")));
            }
            return Ok(Book::Xlsx(Box::new(Workbook::open(head)?)));
        }
        if head.starts_with(COMPOUND_FILE) {
            source.take(MAX_XLSX_BYTES).read_to_end(&mut head)?;
            let reason =
                if is_encrypted(&head) { PASSWORD } else { "the file is an XLS workbook; save it as XLSX or CSV" };
            return Err(OpenError::Refused(reason.to_owned()));
        }
        Ok(Book::Csv(head, source))
    }

    pub fn format(&self) -> Format {
        match self {
            Book::Csv(..) => Format::Csv,
            Book::Xlsx(_) => Format::Xlsx,
        }
    }

    /// The text of a CSV file from its beginning; `None` for a workbook.
    pub fn into_csv(self) -> Option<impl Read> {
        match self {
            Book::Csv(head, rest) => Some(Cursor::new(head).chain(rest)),
            Book::Xlsx(_) => None,
        }
    }

    /// The first rows of every table.
    pub fn peek(&mut self) -> Result<Vec<Peeked>, OpenError> {
        match self {
            Book::Csv(head, _) => Ok(DELIMITERS.into_iter().map(|delimiter| peek_delimited(head, delimiter)).collect()),
            Book::Xlsx(workbook) => {
                let mut tables = Vec::new();
                for sheet in workbook.sheets() {
                    let rows = first_rows(&mut workbook.rows(&sheet)?);
                    tables.push(Peeked { table: Table::Sheet(sheet), rows });
                }
                Ok(tables)
            }
        }
    }

    /// Reads the rows of a table below a line; see [`read`](super::read). Rows without text in any column of the layout
    /// are skipped.
    pub fn read<C: Column>(
        self,
        (table, header): (&Table, u64),
        layout: &Layout<C>,
        max_rows: u64,
        faults: &mut Faults,
        mut add: impl FnMut(&Row<'_, C>, &mut Faults),
        mut progress: impl FnMut(u64),
    ) -> Result<bool, OpenError> {
        let done = match (self, table) {
            (Book::Csv(head, rest), Table::Delimited(delimiter)) => {
                let source = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(rest));
                let mut rows =
                    Below { rows: Delimited { records: Records::new(source), delimiter: *delimiter }, header };
                read_records(&mut rows, layout, max_rows, faults, &mut add, &mut progress)
            }
            (Book::Xlsx(mut workbook), Table::Sheet(sheet)) => {
                let mut rows = Below { rows: workbook.rows(sheet)?, header };
                read_records(&mut rows, layout, max_rows, faults, &mut add, &mut progress)
            }
            _ => return Err(OpenError::Refused("the table is of another format".to_owned())),
        };
        Ok(finish(done, faults)?)
    }
}

/// Rows below a line.
struct Below<T> {
    rows: T,
    header: u64,
}

impl<T: ReadRecords> ReadRecords for Below<T> {
    fn next_record(&mut self) -> Result<Option<&Record>, ReadError> {
        while self.rows.last_line() < self.header {
            match self.rows.next_record() {
                // Above the table anything may be written.
                Ok(Some(_)) | Err(ReadError::Line(..)) => {}
                Ok(None) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        self.rows.next_record()
    }

    fn last_line(&self) -> u64 {
        self.rows.last_line()
    }
}

fn peek_delimited(head: &[u8], delimiter: u8) -> Peeked {
    let rows = first_rows(&mut Delimited { records: Records::new(head), delimiter });
    Peeked { table: Table::Delimited(delimiter), rows }
}

/// Up to the first row that cannot be read; reading the whole table reports it.
fn first_rows(source: &mut impl ReadRecords) -> Vec<PeekedRow> {
    let mut rows = Vec::new();
    while rows.len() < PEEKED_ROWS {
        match source.next_record() {
            Ok(Some(record)) => rows.push(PeekedRow::new(record)),
            Err(ReadError::Line(..)) => {}
            Ok(None) | Err(_) => break,
        }
    }
    rows
}

impl PeekedRow {
    fn new(record: &Record) -> PeekedRow {
        let text = |field: &[u8]| String::from_utf8_lossy(field).trim().to_owned();
        let cells = record.fields().enumerate().map(|(index, field)| (text(field), record.kind(index))).collect();
        PeekedRow { line: record.line, cells }
    }
}

/// A workbook with a password is kept in a stream of this name, in UTF-16.
fn is_encrypted(content: &[u8]) -> bool {
    let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    content.windows(name.len()).any(|window| window == name)
}
