//! One row of a file: the text of its fields and, in a workbook, what kind of cell each was.

use std::ops::Range;

/// Maximum size of a record, over all its lines.
pub const MAX_RECORD_BYTES: usize = 64 * 1024;

/// What a cell of a workbook holds. Every field of a CSV file is a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Text,
    /// With a decimal point, and no more digits than distinguish it.
    Number,
    /// A number of days since the workbook's first day, see [`Row::serial_millis`](crate::Row::serial_millis).
    Date,
    Formula,
    /// A value such as `#N/A`.
    Error,
}

/// The fields of one record, without their quotes.
#[derive(Default)]
pub struct Record {
    pub line: u64,
    /// The text of a CSV record as it was read.
    pub raw: Vec<u8>,
    pub text: Vec<u8>,
    pub fields: Vec<Range<usize>>,
    /// One for each field; empty for CSV.
    pub kinds: Vec<Kind>,
    /// The Unix day of serial number 0; none for CSV.
    pub first_day: Option<i64>,
}

impl Record {
    /// Empties the record for the next row of a workbook.
    pub fn begin(&mut self, line: u64, first_day: i64) {
        (self.line, self.first_day) = (line, Some(first_day));
        self.text.clear();
        self.fields.clear();
        self.kinds.clear();
    }

    /// Adds a cell of a workbook, after empty ones up to its column. False if the row becomes too long.
    pub fn push(&mut self, column: usize, text: &str, kind: Kind) -> bool {
        let end = self.text.len();
        while self.fields.len() < column {
            self.fields.push(end..end);
            self.kinds.push(Kind::Text);
        }
        self.text.extend_from_slice(text.as_bytes());
        self.fields.push(end..self.text.len());
        self.kinds.push(kind);
        self.text.len() <= MAX_RECORD_BYTES
    }

    /// `None` if the record has fewer fields.
    pub fn field(&self, index: usize) -> Option<&[u8]> {
        self.text.get(self.fields.get(index)?.clone())
    }

    pub fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.fields.len()).filter_map(|index| self.field(index))
    }

    pub fn kind(&self, index: usize) -> Kind {
        self.kinds.get(index).copied().unwrap_or(Kind::Text)
    }

    pub fn len(&self) -> usize {
        self.fields.len()
    }

    pub fn is_blank(&self) -> bool {
        self.text.trim_ascii().is_empty()
    }

    pub fn is_of_workbook(&self) -> bool {
        self.first_day.is_some()
    }
}

/// The letters of a column: `A` for 0, `AA` for 26.
pub fn column_letters(index: usize) -> String {
    let mut letters = Vec::new();
    let mut rest = index + 1;
    while rest > 0 {
        letters.push(b'A' + u8::try_from((rest - 1) % 26).unwrap_or_default());
        rest = (rest - 1) / 26;
    }
    letters.iter().rev().map(|letter| char::from(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_letters() {
        for (index, letters) in [(0, "A"), (1, "B"), (25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA"), (16_383, "XFD")] {
            assert_eq!(column_letters(index), letters);
        }
    }
}
