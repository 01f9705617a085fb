//! A row and its cells. The reason of a fault continues a sentence that begins with the column's name: "must be UTF-8".

use super::header::Layout;
use super::records::Record;
use super::{Column, Faults};

pub struct Row<'a, C> {
    record: &'a Record,
    layout: &'a Layout<C>,
}

impl<'a, C: Column> Row<'a, C> {
    /// Reports a fault and returns `None` for a row with fewer fields than the header, or more that are not blank.
    pub(super) fn new(record: &'a Record, layout: &'a Layout<C>, faults: &mut Faults) -> Option<Row<'a, C>> {
        let is_rest_blank = record.fields().skip(layout.width).all(|field| field.trim_ascii().is_empty());
        if record.len() >= layout.width && is_rest_blank {
            return Some(Row { record, layout });
        }
        let reason = format!("the row has {} fields, the header has {}", record.len(), layout.width);
        faults.add(record.line, None, reason);
        None
    }

    pub fn line(&self) -> u64 {
        self.record.line
    }

    /// Adds a fault of a cell in this row.
    pub fn fault(&self, faults: &mut Faults, column: C, reason: impl Into<String>) {
        faults.add(self.record.line, Some(column.name()), reason);
    }

    /// The trimmed text of a cell; empty if the column is absent. `None` after a fault.
    pub fn cell(&self, column: C, faults: &mut Faults) -> Option<&'a str> {
        let field = self.layout.index(column).and_then(|index| self.record.field(index)).unwrap_or_default();
        let text = str::from_utf8(field).ok();
        if text.is_none() {
            self.fault(faults, column, "must be UTF-8");
        }
        text.map(str::trim)
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
