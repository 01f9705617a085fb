//! The header of a table: which column is where, and what parts the fields.

use super::Column;
use super::records::Record;

/// In order of preference, should a header have but one column.
pub const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

fn named<C: Column>(field: &[u8]) -> Option<usize> {
    let name = field.trim_ascii();
    C::ALL.iter().position(|column| column.name().as_bytes().eq_ignore_ascii_case(name))
}

/// How many known columns a header has when it is cut this way.
pub fn known<C: Column>(header: &Record) -> usize {
    header.fields().filter_map(named::<C>).count()
}

/// Where each column is, and how many fields there are up to the last with a name.
pub struct Layout<C> {
    places: Vec<(C, Option<usize>)>,
    pub width: usize,
}

impl<C: Column> Layout<C> {
    /// Tells `fault` of columns that are missing or there twice.
    pub fn of(header: &Record, mut fault: impl FnMut(C, &'static str)) -> Layout<C> {
        let mut places: Vec<(C, Option<usize>)> = C::ALL.iter().map(|column| (*column, None)).collect();
        let mut width = 0;
        for (index, field) in header.fields().enumerate() {
            if !field.trim_ascii().is_empty() {
                width = index + 1;
            }
            let Some((column, place)) = named::<C>(field).and_then(|known| places.get_mut(known)) else { continue };
            if place.replace(index).is_some() {
                fault(*column, "is there twice");
            }
        }
        for (column, place) in &places {
            if column.is_required() && place.is_none() {
                fault(*column, "is missing from the header");
            }
        }
        Layout { places, width }
    }

    pub fn place(&self, column: C) -> Option<usize> {
        self.places.iter().find(|(known, _)| *known == column).and_then(|(_, place)| *place)
    }
}
