//! A row and its cells. The reason of a fault continues a sentence that begins with the column's name: "must be UTF-8".

use super::header::Layout;
use super::record::{Kind, Record, column_letters};
use super::{Column, Fault, Faults};

const DAY_MILLIS: f64 = 86_400_000.0;
/// The serial number of 31 December 9999.
const MAX_SERIAL: f64 = 2_958_466.0;

pub struct Row<'a, C> {
    record: &'a Record,
    layout: &'a Layout<C>,
}

impl<'a, C: Column> Row<'a, C> {
    /// Reports a fault and returns `None` for a row with fewer fields than the header, or more that are not blank.
    pub(super) fn new(record: &'a Record, layout: &'a Layout<C>, faults: &mut Faults) -> Option<Row<'a, C>> {
        let is_rest_blank = record.fields().skip(layout.width).all(|field| field.trim_ascii().is_empty());
        if layout.width == 0 || (record.len() >= layout.width && is_rest_blank) {
            return Some(Row { record, layout });
        }
        let reason = format!("the row has {} fields, the header has {}", record.len(), layout.width);
        faults.add(record.line, None, reason);
        None
    }

    pub fn line(&self) -> u64 {
        self.record.line
    }

    /// Whether the file has this column.
    pub fn has(&self, column: C) -> bool {
        self.layout.index(column).is_some()
    }

    /// The name of a cell of a workbook, such as `B7`.
    pub fn cell_name(&self, column: C) -> Option<String> {
        let index = self.layout.index(column).filter(|_| self.record.is_of_workbook())?;
        Some(format!("{}{}", column_letters(index), self.record.line))
    }

    /// Adds a fault of a cell in this row.
    pub fn fault(&self, faults: &mut Faults, column: C, reason: impl Into<String>) {
        let (line, cell) = (self.record.line, self.cell_name(column));
        faults.push(Fault { line, column: Some(column.name()), cell, reason: reason.into() });
    }

    pub fn kind(&self, column: C) -> Kind {
        self.layout.index(column).map_or(Kind::Text, |index| self.record.kind(index))
    }

    /// The trimmed text of a cell; empty if the column is absent. `None` after a fault.
    pub fn cell(&self, column: C, faults: &mut Faults) -> Option<&'a str> {
        if self.kind(column) == Kind::Date {
            self.fault(faults, column, "must not be a date; format the cell as text");
            return None;
        }
        self.cell_or_date(column, faults)
    }

    /// The same, where the cell may be a date: then it is a serial number.
    pub fn cell_or_date(&self, column: C, faults: &mut Faults) -> Option<&'a str> {
        let index = self.layout.index(column);
        let text = str::from_utf8(index.and_then(|index| self.record.field(index)).unwrap_or_default());
        let refusal = match (self.kind(column), &text) {
            (Kind::Formula, _) => "must be a value, not a formula",
            (Kind::Error, _) => "must not be an error value",
            (_, Err(_)) => "must be UTF-8",
            (_, Ok(text)) => return Some(text.trim()),
        };
        self.fault(faults, column, refusal);
        None
    }

    /// The time of a serial number of this row's workbook, in Unix milliseconds to the second; `None` in CSV.
    pub fn serial_millis(&self, serial: &str) -> Option<i64> {
        let serial: f64 = serial.parse().ok().filter(|serial| (1.0..MAX_SERIAL).contains(serial))?;
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        let seconds = (serial * DAY_MILLIS / 1000.0).round() as i64;
        Some((self.record.first_day? * 86_400 + seconds) * 1000)
    }

    /// Parses a cell that must not be empty. `None` after a fault.
    pub fn required<T>(
        &self,
        column: C,
        faults: &mut Faults,
        parse: impl FnOnce(&'a str) -> Result<T, &'static str>,
    ) -> Option<T> {
        let cell = self.cell(column, faults)?;
        let parsed = if cell.is_empty() { Err("must not be empty") } else { parse(cell) };
        parsed.map_err(|reason| self.fault(faults, column, reason)).ok()
    }

    /// Parses a cell, or returns `default` if it is empty. `None` after a fault.
    pub fn optional<T>(
        &self,
        column: C,
        faults: &mut Faults,
        default: T,
        parse: impl FnOnce(&'a str) -> Result<T, &'static str>,
    ) -> Option<T> {
        let cell = self.cell(column, faults)?;
        let parsed = if cell.is_empty() { Ok(default) } else { parse(cell) };
        parsed.map_err(|reason| self.fault(faults, column, reason)).ok()
    }
}
