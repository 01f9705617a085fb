//! How the sheets of one upstream are laid out, and where that layout is in a file.

use sheet::{Column as _, Faults, Format, Peeked, PeekedRow, Table};

use super::DateFormat;
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

/// Where the rows of a deck are in a file.
pub struct Located {
    pub table: Table,
    /// The line of the header.
    pub header: u64,
    pub columns: Vec<(Column, usize)>,
}

impl SheetMapping {
    pub fn column(&self, column: Column) -> Option<&str> {
        self.columns.iter().find(|(known, _)| *known == column).map(|(_, name)| name.as_str())
    }

    /// Finds the mapped columns. Adds faults if there is no table that has them all.
    pub fn locate(&self, tables: &[Peeked], faults: &mut Faults) -> Option<Located> {
        let tables: Vec<&Peeked> = tables.iter().filter(|peeked| self.is_of_sheet(&peeked.table)).collect();
        if tables.is_empty() {
            let sheet = self.sheet.as_deref().unwrap_or_default();
            faults.add(1, None, format!("the workbook has no sheet {sheet:?}"));
            return None;
        }
        let (mut best, mut most): (Option<(&Peeked, &PeekedRow)>, usize) = (None, 0);
        for peeked in tables {
            for row in peeked.rows.iter().filter(|row| self.header_row.is_none_or(|line| line == row.line)) {
                let found = self.columns.iter().filter(|(_, name)| !indices(row, name).is_empty()).count();
                if found > most {
                    (best, most) = (Some((peeked, row)), found);
                }
            }
        }
        let Some((peeked, header)) = best else {
            let line = self.header_row.unwrap_or(1);
            faults.add(line, None, "there is no header with the columns of the mapping");
            return None;
        };
        let before = faults.count;
        let mut columns = Vec::with_capacity(self.columns.len());
        for (column, name) in &self.columns {
            match indices(header, name).as_slice() {
                [index] => columns.push((*column, *index)),
                [] => faults.add(header.line, Some(column.name()), format!("is missing: no column is named {name:?}")),
                _ => faults.add(
                    header.line,
                    Some(column.name()),
                    format!("is ambiguous: several columns are named {name:?}"),
                ),
            }
        }
        let located = Located { table: peeked.table.clone(), header: header.line, columns };
        (faults.count == before).then_some(located)
    }

    fn is_of_sheet(&self, table: &Table) -> bool {
        match (table, &self.sheet) {
            (Table::Sheet(name), Some(wanted)) => normalized(name) == normalized(wanted),
            _ => true,
        }
    }
}

/// The columns with this text above them.
fn indices(header: &PeekedRow, name: &str) -> Vec<usize> {
    let name = normalized(name);
    let named = header.cells.iter().enumerate().filter(|(_, (text, _))| normalized(text) == name);
    named.map(|(index, _)| index).collect()
}

/// Letter case and white space do not matter.
fn normalized(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The columns of a file with our own header, in the first row that is not blank.
pub fn own_header(tables: &[Peeked]) -> Option<Located> {
    tables.iter().find_map(|peeked| {
        let header = peeked.rows.first()?;
        let mut columns = Vec::new();
        for column in Column::ALL {
            match indices(header, column.name()).as_slice() {
                [index] => columns.push((*column, *index)),
                [] if !column.is_required() => {}
                _ => return None,
            }
        }
        Some(Located { table: peeked.table.clone(), header: header.line, columns })
    })
}
