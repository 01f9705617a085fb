//! How the sheets of one upstream are laid out.

use sheet::Format;

use super::DateFormat;
use super::locate::Wanted;
use crate::csv::Column;

/// The layout of an upstream's sheets.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SheetMapping {
    /// Files of the other format are refused.
    pub format: Option<SheetFormat>,
    /// The sheet of a workbook; the first that has the columns if `None`.
    pub sheet: Option<String>,
    /// The line of the header; searched for if `None`.
    pub header_row: Option<u64>,
    /// The text above each column.
    pub columns: Vec<(Column, String)>,
    /// How texts write dates; as in our own files if `None`.
    pub date_format: Option<DateFormat>,
    /// Of amounts that are texts; a point or a comma if `None`.
    pub decimal_separator: Option<char>,
    /// Between the prefixes of a cell; if `None` a cell holds one.
    pub prefix_separator: Option<char>,
    /// What the column `change` says of withdrawn prefixes; common words if empty.
    pub closed_values: Vec<String>,
}

/// The format of a file.
pub type SheetFormat = Format;

impl SheetMapping {
    pub fn column(&self, column: Column) -> Option<&str> {
        self.columns.iter().find(|(known, _)| *known == column).map(|(_, name)| name.as_str())
    }

    /// Where it says that its columns are.
    pub fn wanted(&self) -> Wanted<'_, Column> {
        let SheetMapping { format, sheet, header_row, columns, .. } = self;
        Wanted { format: *format, sheet: sheet.as_deref(), header_row: *header_row, columns }
    }
}
