//! How the statements of an upstream are laid out: as somebody says, or as the header and the first rows suggest.

use sheet::{Format, Peeked, PeekedRow, Table};

use super::cells;
use super::columns::{Column, rank};
use crate::DateFormat;
use crate::sheets::{Wanted, decimal_separator, texts};

/// The layout of an upstream's statements.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct StatementMapping {
    /// Files of the other format are refused.
    pub format: Option<Format>,
    /// The sheet of a workbook; the first that has the columns if `None`.
    pub sheet: Option<String>,
    /// The line of the header; searched for if `None`.
    pub header_row: Option<u64>,
    /// The text above each column.
    pub columns: Vec<(Column, String)>,
    /// How texts write times; as in RFC 3339 if `None`, with or without an offset from UTC.
    pub date_format: Option<DateFormat>,
    /// Of amounts that are texts; a point or a comma if `None`.
    pub decimal_separator: Option<char>,
}

/// With seconds before without, which some carriers leave out.
const DATE_FORMATS: &[&str] = &[
    "DD/MM/YYYY HH:mm:ss",
    "MM/DD/YYYY HH:mm:ss",
    "DD.MM.YYYY HH:mm:ss",
    "DD-MM-YYYY HH:mm:ss",
    "MM-DD-YYYY HH:mm:ss",
    "YYYY/MM/DD HH:mm:ss",
    "YYYY.MM.DD HH:mm:ss",
    "YYYYMMDDHHmmss",
    "YYYYMMDD HH:mm:ss",
    "DD/MM/YYYY HH:mm",
    "MM/DD/YYYY HH:mm",
    "DD.MM.YYYY HH:mm",
    "DD-MM-YYYY HH:mm",
    "MM-DD-YYYY HH:mm",
    "YYYY-MM-DD HH:mm",
    "YYYY/MM/DD HH:mm",
];

/// Why no layout can be proposed for a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoProposal {
    /// No row looks like a header.
    NoHeader,
    /// The times follow none of the patterns, or fit these two.
    Times(Option<(DateFormat, DateFormat)>),
}

impl StatementMapping {
    /// Where it says that its columns are.
    pub fn wanted(&self) -> Wanted<'_, Column> {
        let StatementMapping { format, sheet, header_row, columns, .. } = self;
        Wanted { format: *format, sheet: sheet.as_deref(), header_row: *header_row, columns }
    }

    pub fn column(&self, column: Column) -> Option<&str> {
        self.columns.iter().find(|(known, _)| *known == column).map(|(_, name)| name.as_str())
    }

    /// The layout that the header and the first rows suggest.
    pub(super) fn propose(format: Format, tables: &[Peeked]) -> Result<StatementMapping, NoProposal> {
        let candidates = tables
            .iter()
            .flat_map(|peeked| peeked.rows.iter().enumerate().map(move |(index, row)| (peeked, index, assign(row))));
        let headers = candidates.filter(|(_, _, columns)| is_header(columns));
        let best = headers.reduce(|best, next| if next.2.len() > best.2.len() { next } else { best });
        let (peeked, index, columns) = best.ok_or(NoProposal::NoHeader)?;
        let header = peeked.rows.get(index).ok_or(NoProposal::NoHeader)?;
        let rows = peeked.rows.get(index + 1..).unwrap_or_default();
        let name = |index: usize| header.cells.get(index).map(|(text, _)| text.clone()).unwrap_or_default();
        let amounts = [Column::Cost, Column::Rate].map(|column| texts(rows, &columns, column)).concat();
        let sheet = match &peeked.table {
            Table::Sheet(name) => Some(name.clone()),
            Table::Delimited(_) => None,
        };
        Ok(StatementMapping {
            format: Some(format),
            sheet,
            header_row: None,
            date_format: date_format(&texts(rows, &columns, Column::StartedAt))?,
            decimal_separator: decimal_separator(&amounts),
            columns: columns.iter().map(|(column, index)| (*column, name(*index))).collect(),
        })
    }
}

/// Whether these columns make a statement.
pub fn is_header(columns: &[(Column, usize)]) -> bool {
    let has = |column: Column| columns.iter().any(|(known, _)| *known == column);
    let is_call = [Column::CalledNumber, Column::StartedAt, Column::Duration].into_iter().all(has);
    is_call && (has(Column::Cost) || has(Column::Rate))
}

/// Which column is which by the words above them. Each cell is taken once, by the column with the best word for it.
fn assign(row: &PeekedRow) -> Vec<(Column, usize)> {
    let mut columns: Vec<(Column, usize)> = Vec::new();
    for column in <Column as sheet::Column>::ALL {
        let cells = row.cells.iter().enumerate();
        let ranked = cells.filter_map(|(index, (text, _))| Some((rank(*column, text)?, index)));
        let free = ranked.filter(|(_, index)| columns.iter().all(|(_, taken)| taken != index));
        if let Some((_, index)) = free.min() {
            columns.push((*column, index));
        }
    }
    // Beside a cost the rate is not read.
    if columns.iter().any(|(column, _)| *column == Column::Cost) {
        columns.retain(|(column, _)| *column != Column::Rate);
    }
    columns
}

/// The pattern of the times; none if they are as in RFC 3339. It must be certain, since nobody looks at it.
fn date_format(texts: &[&str]) -> Result<Option<DateFormat>, NoProposal> {
    if texts.iter().all(|text| cells::time(text).is_some()) {
        return Ok(None);
    }
    let formats = DATE_FORMATS.iter().filter_map(|format| format.parse::<DateFormat>().ok());
    // Notes below the table may follow; most rows decide.
    let misses = |format: &DateFormat| texts.iter().filter(|text| format.parse(text).is_none()).count();
    let mut fitting: Vec<(usize, DateFormat)> = formats.map(|format| (misses(&format), format)).collect();
    fitting.retain(|(misses, _)| misses * 2 < texts.len());
    fitting.sort_by_key(|(misses, _)| *misses);
    match fitting.as_slice() {
        [] => Err(NoProposal::Times(None)),
        [(one, first), (other, second), ..] if one == other => {
            Err(NoProposal::Times(Some((first.clone(), second.clone()))))
        }
        [(_, format), ..] => Ok(Some(format.clone())),
    }
}
