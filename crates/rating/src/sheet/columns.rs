//! The header of a sheet: which column is where, and what parts the fields.

use super::records::Record;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    Prefix,
    Destination,
    Country,
    Rate,
    ConnectFee,
    Increment,
    Minimum,
    EffectiveAt,
}

impl Column {
    pub const ALL: [Column; 8] = [
        Column::Prefix,
        Column::Destination,
        Column::Country,
        Column::Rate,
        Column::ConnectFee,
        Column::Increment,
        Column::Minimum,
        Column::EffectiveAt,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Column::Prefix => "prefix",
            Column::Destination => "destination_name",
            Column::Country => "country",
            Column::Rate => "rate_per_minute",
            Column::ConnectFee => "connect_fee",
            Column::Increment => "billing_increment_seconds",
            Column::Minimum => "minimum_seconds",
            Column::EffectiveAt => "effective_at",
        }
    }

    fn is_required(self) -> bool {
        matches!(self, Column::Prefix | Column::Destination | Column::Country | Column::Rate)
    }

    fn named(field: &[u8]) -> Option<Column> {
        let name = field.trim_ascii();
        Column::ALL.into_iter().find(|column| column.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// In order of preference, should a header have but one column.
pub const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// How many columns of a deck a header has when it is cut this way.
pub fn known(header: &Record) -> usize {
    header.fields().filter_map(Column::named).count()
}

/// Where each column is, and how many there are up to the last with a name.
#[derive(Default, Debug)]
pub struct Layout {
    places: [Option<usize>; Column::ALL.len()],
    pub width: usize,
}

impl Layout {
    /// Tells `fault` of columns that are missing or there twice.
    pub fn of(header: &Record, mut fault: impl FnMut(Column, &'static str)) -> Layout {
        let mut layout = Layout::default();
        for (index, field) in header.fields().enumerate() {
            if !field.trim_ascii().is_empty() {
                layout.width = index + 1;
            }
            let Some(column) = Column::named(field) else { continue };
            if let Some(place) = layout.places.get_mut(column as usize)
                && place.replace(index).is_some()
            {
                fault(column, "is there twice");
            }
        }
        for column in Column::ALL {
            if column.is_required() && layout.place(column).is_none() {
                fault(column, "is missing from the header");
            }
        }
        layout
    }

    pub fn place(&self, column: Column) -> Option<usize> {
        self.places.get(column as usize).copied().flatten()
    }
}
