//! A row and its cells. What is wrong with a cell is said in words that follow the column's name.

use super::header::Layout;
use super::records::Record;
use super::{Column, Faults};

pub struct Row<'a, C> {
    record: &'a Record,
    layout: &'a Layout<C>,
}

impl<'a, C: Column> Row<'a, C> {
    /// A row that is too short was cut off; one that is longer may only be so by blanks.
    pub(super) fn of(record: &'a Record, layout: &'a Layout<C>, faults: &mut Faults) -> Option<Row<'a, C>> {
        let beyond = record.fields().skip(layout.width).all(|field| field.trim_ascii().is_empty());
        if record.len() >= layout.width && beyond {
            return Some(Row { record, layout });
        }
        let reason = format!("the row has {} fields and the header {}", record.len(), layout.width);
        faults.add(record.line, None, reason);
        None
    }

    pub fn line(&self) -> u64 {
        self.record.line
    }

    /// Says what is wrong with this row.
    pub fn fault(&self, faults: &mut Faults, column: C, reason: impl Into<String>) {
        faults.add(self.record.line, Some(column.name()), reason);
    }

    /// The trimmed text of a cell, empty if it is not there.
    pub fn cell(&self, column: C, faults: &mut Faults) -> Option<&'a str> {
        let field = self.layout.place(column).and_then(|place| self.record.field(place)).unwrap_or_default();
        let text = str::from_utf8(field).ok();
        if text.is_none() {
            self.fault(faults, column, "must be UTF-8");
        }
        text.map(str::trim)
    }

    /// What a cell holds that must not be empty.
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

    /// What a cell holds, or what it means that it is empty.
    pub fn optional<T>(
        &self,
        column: C,
        faults: &mut Faults,
        absent: T,
        parse: impl FnOnce(&'a str) -> Result<T, &'static str>,
    ) -> Option<T> {
        let cell = self.cell(column, faults)?;
        let parsed = if cell.is_empty() { Ok(absent) } else { parse(cell) };
        parsed.map_err(|reason| self.fault(faults, column, reason)).ok()
    }
}
