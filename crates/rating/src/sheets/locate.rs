//! Where the columns of a mapping are in a file, by the texts above them.

use sheet::{Column, Faults, Format, Peeked, PeekedRow, Table};

/// Where rows are in a file.
pub struct Located<C> {
    pub table: Table,
    /// The line of the header.
    pub header: u64,
    pub columns: Vec<(C, usize)>,
}

/// What a mapping says about the place of its columns.
pub struct Wanted<'m, C> {
    /// Files of the other format are refused.
    pub format: Option<Format>,
    /// The sheet of a workbook; the first that has the columns if `None`.
    pub sheet: Option<&'m str>,
    /// The line of the header; searched for if `None`.
    pub header_row: Option<u64>,
    /// The text above each column.
    pub columns: &'m [(C, String)],
}

impl<C: Column> Wanted<'_, C> {
    /// Finds the columns. Adds faults if there is no table that has them all.
    pub fn locate(&self, format: Format, tables: &[Peeked], faults: &mut Faults) -> Option<Located<C>> {
        match (self.format, format) {
            (Some(Format::Csv), Format::Xlsx) => faults.add(1, None, "the file is XLSX, and the mapping is for CSV"),
            (Some(Format::Xlsx), Format::Csv) => faults.add(1, None, "the file is CSV, and the mapping is for XLSX"),
            _ => return self.locate_in(tables, faults),
        }
        None
    }

    fn locate_in(&self, tables: &[Peeked], faults: &mut Faults) -> Option<Located<C>> {
        let tables: Vec<&Peeked> = tables.iter().filter(|peeked| self.is_of_sheet(&peeked.table)).collect();
        if tables.is_empty() {
            let sheet = self.sheet.unwrap_or_default();
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
        for (column, name) in self.columns {
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
        match (table, self.sheet) {
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
pub fn own_header<C: Column>(tables: &[Peeked]) -> Option<Located<C>> {
    tables.iter().find_map(|peeked| {
        let header = peeked.rows.first()?;
        let mut columns = Vec::new();
        for column in C::ALL {
            match indices(header, column.name()).as_slice() {
                [index] => columns.push((*column, *index)),
                [] if !column.is_required() => {}
                _ => return None,
            }
        }
        Some(Located { table: peeked.table.clone(), header: header.line, columns })
    })
}
