//! Workbooks (XLSX): the rows of a sheet, one after the other.
//!
//! The file is kept in memory as it is, packed, and checked by `unpack` before anything else looks at it. Rows are never
//! all in memory.

mod unpack;

use std::io::Cursor;

use calamine::{DataRef, Reader, SheetType, SheetVisible, Xlsx, XlsxCellReader, XlsxError};

use super::OpenError;
use super::record::{Kind, Record};
use super::records::{ReadError, ReadRecords};

/// The largest file.
pub const MAX_XLSX_BYTES: u64 = 64 * 1024 * 1024;
/// Cells right of this many columns are ignored.
const MAX_COLUMNS: usize = 256;

type Content = Cursor<Vec<u8>>;

pub struct Workbook {
    file: Xlsx<Content>,
    first_day: i64,
}

impl Workbook {
    pub fn open(content: Vec<u8>) -> Result<Workbook, OpenError> {
        let first_day = unpack::check(&content)?;
        let file = Xlsx::new(Cursor::new(content)).map_err(|error| match error {
            XlsxError::Password => OpenError::Refused(PASSWORD.to_owned()),
            _ => unpack::damaged(),
        })?;
        Ok(Workbook { file, first_day })
    }

    /// The names of the sheets that a reader of the workbook sees, in order.
    pub fn sheets(&self) -> Vec<String> {
        let sheets = self.file.sheets_metadata().iter();
        let visible = sheets.filter(|it| it.typ == SheetType::WorkSheet && it.visible == SheetVisible::Visible);
        visible.map(|sheet| sheet.name.clone()).collect()
    }

    pub fn rows(&mut self, sheet: &str) -> Result<SheetRows<'_>, OpenError> {
        let first_day = self.first_day;
        let cells = self.file.worksheet_cells_reader(sheet).map_err(|_| unpack::damaged())?;
        Ok(SheetRows { cells, first_day, next: None, has_ended: false, record: Record::default() })
    }
}

pub const PASSWORD: &str = "the workbook is protected with a password";

/// The rows of one sheet.
pub struct SheetRows<'a> {
    cells: XlsxCellReader<'a, Content>,
    first_day: i64,
    /// The first cell of the next row.
    next: Option<Cell>,
    /// The reader must not be asked again after its last cell.
    has_ended: bool,
    record: Record,
}

struct Cell {
    row: u32,
    column: usize,
    text: String,
    kind: Kind,
}

impl ReadRecords for SheetRows<'_> {
    fn next_record(&mut self) -> Result<Option<&Record>, ReadError> {
        loop {
            let Some(first) = self.next_cell()? else { return Ok(None) };
            let (row, line) = (first.row, u64::from(first.row) + 1);
            self.record.begin(line, self.first_day);
            let mut cell = Some(first);
            while let Some(Cell { column, text, kind, .. }) = cell {
                // Cells of a row are in order; one that is not would name another column.
                if column < self.record.len() {
                    return Err(ReadError::Rest(line, "the cells of the row are out of order".into()));
                }
                if column < MAX_COLUMNS && !self.record.push(column, &text, kind) {
                    return Err(ReadError::Rest(line, "the row is longer than 65536 bytes".into()));
                }
                cell = self.next_cell()?;
                if cell.as_ref().is_some_and(|cell| cell.row != row) {
                    self.next = cell.take();
                }
            }
            if !self.record.is_blank() {
                return Ok(Some(&self.record));
            }
        }
    }

    fn last_line(&self) -> u64 {
        self.record.line
    }
}

impl SheetRows<'_> {
    fn next_cell(&mut self) -> Result<Option<Cell>, ReadError> {
        if let Some(cell) = self.next.take() {
            return Ok(Some(cell));
        }
        if self.has_ended {
            return Ok(None);
        }
        let read = self.cells.next_cell_with_formula_metadata();
        let damaged = |_| ReadError::Rest(self.record.line + 1, "the workbook is truncated or damaged".into());
        let Some(cell) = read.map_err(damaged)? else {
            self.has_ended = true;
            return Ok(None);
        };
        let (row, column) = cell.pos;
        let (text, kind) = text_of(cell.value);
        // Marked, so that a row with nothing but a formula without a result is not blank.
        let (text, kind) = match cell.formula {
            Some(_) => (if text.is_empty() { "=".to_owned() } else { text }, Kind::Formula),
            None => (text, kind),
        };
        Ok(Some(Cell { row, column: column as usize, text, kind }))
    }
}

/// The text of a cell. Numbers have the fewest digits that distinguish them, so 0.012 is not 0.012000000000000002.
fn text_of(value: DataRef<'_>) -> (String, Kind) {
    match value {
        DataRef::Empty => (String::new(), Kind::Text),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => (text, Kind::Text),
        DataRef::SharedString(text) => (text.to_owned(), Kind::Text),
        DataRef::Int(number) => (number.to_string(), Kind::Number),
        DataRef::Float(number) => (number.to_string(), Kind::Number),
        DataRef::Bool(value) => (value.to_string(), Kind::Text),
        DataRef::DateTime(moment) if moment.is_datetime() => (moment.as_f64().to_string(), Kind::Date),
        DataRef::DateTime(duration) => (duration.as_f64().to_string(), Kind::Number),
        DataRef::Error(error) => (error.to_string(), Kind::Error),
    }
}
