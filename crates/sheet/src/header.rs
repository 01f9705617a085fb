//! The header: which column is at which index, and the candidates for the delimiter.

use super::Column;
use super::record::Record;

/// In order of preference, for a header with a single column.
pub const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

fn known_column<C: Column>(field: &[u8]) -> Option<usize> {
    let name = field.trim_ascii();
    C::ALL.iter().position(|column| column.name().as_bytes().eq_ignore_ascii_case(name))
}

/// The number of known columns in the header as it was split.
pub fn count_known<C: Column>(header: &Record) -> usize {
    header.fields().filter_map(known_column::<C>).count()
}

/// The index of each known column.
pub struct Layout<C> {
    indices: Vec<(C, Option<usize>)>,
    /// Fields up to the last with a name, known or not; 0 if rows may be shorter than the header.
    pub(crate) width: usize,
}

impl<C: Column> Layout<C> {
    /// Calls `fault` for columns that are missing or repeated.
    pub(crate) fn new(header: &Record, mut fault: impl FnMut(C, &'static str)) -> Layout<C> {
        let mut indices: Vec<(C, Option<usize>)> = C::ALL.iter().map(|column| (*column, None)).collect();
        let mut width = 0;
        for (index, field) in header.fields().enumerate() {
            if !field.trim_ascii().is_empty() {
                width = index + 1;
            }
            let Some((column, known_at)) = known_column::<C>(field).and_then(|known| indices.get_mut(known)) else {
                continue;
            };
            if known_at.replace(index).is_some() {
                fault(*column, "is in the header twice");
            }
        }
        for (column, index) in &indices {
            if column.is_required() && index.is_none() {
                fault(*column, "is missing from the header");
            }
        }
        Layout { indices, width }
    }

    /// Columns at given indices, whatever the header calls them. Rows may be shorter.
    pub fn mapped(columns: &[(C, usize)]) -> Layout<C> {
        Layout { indices: columns.iter().map(|(column, index)| (*column, Some(*index))).collect(), width: 0 }
    }

    pub fn index(&self, column: C) -> Option<usize> {
        self.indices.iter().find(|(known, _)| *known == column).and_then(|(_, index)| *index)
    }

    /// Whether every known column of a row is empty, such as in a note below a table.
    pub(crate) fn is_blank(&self, record: &Record) -> bool {
        let mut fields = self.indices.iter().filter_map(|(_, index)| record.field((*index)?));
        fields.all(|field| field.trim_ascii().is_empty())
    }
}
