//! Proposes a mapping for a file: the row that looks most like a header, and what the rows below it look like.

use sheet::{Format, Kind, Peeked, PeekedRow, Table};

use super::{DateFormat, SheetMapping, words};
use crate::csv::Column;

/// In order of preference: of two that fit, the first is proposed.
const DATE_FORMATS: &[&str] = &[
    "DD/MM/YYYY",
    "MM/DD/YYYY",
    "DD.MM.YYYY",
    "DD-MM-YYYY",
    "MM-DD-YYYY",
    "YYYY/MM/DD",
    "YYYY.MM.DD",
    "YYYYMMDD",
    "DD/MM/YYYY HH:mm",
    "DD.MM.YYYY HH:mm",
    "YYYY-MM-DD HH:mm",
    "YYYY-MM-DD HH:mm:ss",
    "DD/MM/YYYY HH:mm:ss",
];
/// Between prefixes. A hyphen makes a range.
const PREFIX_SEPARATORS: &[char] = &[',', ';', '/', '|', '\n'];

/// Columns and their indices.
type Columns = Vec<(Column, usize)>;

/// The mapping that the header and the first rows suggest; `None` if no row looks like a header.
pub fn propose(format: Format, tables: &[Peeked]) -> Option<SheetMapping> {
    let candidates = tables
        .iter()
        .flat_map(|peeked| peeked.rows.iter().enumerate().map(move |(index, row)| (peeked, index, assign(row))));
    let is_header = |columns: &[(Column, usize)]| {
        [Column::Prefix, Column::Destination, Column::Rate]
            .iter()
            .all(|it| columns.iter().any(|(known, _)| known == it))
    };
    let mut best: Option<(&Peeked, usize, Columns)> = None;
    for (peeked, index, columns) in candidates.filter(|(_, _, columns)| is_header(columns)) {
        if best.as_ref().is_none_or(|(_, _, known)| columns.len() > known.len()) {
            best = Some((peeked, index, columns));
        }
    }
    let (peeked, index, columns) = best?;
    let header = peeked.rows.get(index)?;
    let rows = peeked.rows.get(index + 1..).unwrap_or_default();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = |index: usize| header.cells.get(index).map(|(text, _)| words(text)).unwrap_or_default();
    let texts = |column: Column| texts(rows, &columns, column);
    let sheet = match &peeked.table {
        Table::Sheet(name) => Some(name.clone()),
        Table::Delimited(_) => None,
    };
    Some(SheetMapping {
        format: Some(format),
        sheet,
        header_row: None,
        date_format: date_format(&texts(Column::EffectiveAt)),
        decimal_separator: decimal_separator(&texts(Column::Rate)),
        prefix_separator: prefix_separator(&columns, rows),
        closed_values: Vec::new(),
        columns: columns.iter().map(|(column, index)| (*column, name(*index))).collect(),
    })
}

/// Which column is which by the words above them. Each cell is taken once, by the column with the best word for it.
fn assign(row: &PeekedRow) -> Columns {
    let mut columns = Columns::new();
    for column in Column::MAPPED {
        let cells = row.cells.iter().enumerate();
        let ranked = cells.filter_map(|(index, (text, _))| Some((words::rank(*column, text)?, index)));
        let free = ranked.filter(|(_, index)| columns.iter().all(|(_, taken)| taken != index));
        if let Some((_, index)) = free.min() {
            columns.push((*column, index));
        }
    }
    let has = |column: Column| columns.iter().any(|(known, _)| *known == column);
    // Without a column for the country's part, the area code is the whole prefix.
    if !has(Column::Prefix) {
        rename(&mut columns, Column::AreaCode, Column::Prefix);
    }
    let has = |columns: &[(Column, usize)], column| columns.iter().any(|(known, _)| *known == column);
    // Beside a minimum, the column of increments holds one number.
    if has(&columns, Column::Minimum) && !has(&columns, Column::Increment) {
        rename(&mut columns, Column::Increments, Column::Increment);
    } else if has(&columns, Column::Minimum) || has(&columns, Column::Increment) {
        columns.retain(|(column, _)| *column != Column::Increments);
    }
    columns
}

fn rename(columns: &mut [(Column, usize)], from: Column, to: Column) {
    if let Some((column, _)) = columns.iter_mut().find(|(column, _)| *column == from) {
        *column = to;
    }
}

/// The cells of a column that are texts and not empty.
pub fn texts<'r, C: PartialEq>(rows: &'r [PeekedRow], columns: &[(C, usize)], column: C) -> Vec<&'r str> {
    let Some((_, index)) = columns.iter().find(|(known, _)| *known == column) else { return Vec::new() };
    let cells = rows.iter().filter_map(|row| row.cells.get(*index));
    cells.filter(|(text, kind)| *kind == Kind::Text && !text.is_empty()).map(|(text, _)| text.as_str()).collect()
}

fn date_format(texts: &[&str]) -> Option<DateFormat> {
    let is_own = texts.iter().all(|text| crate::csv::cells::timestamp(text).is_ok());
    if is_own {
        return None;
    }
    let formats = DATE_FORMATS.iter().filter_map(|format| format.parse::<DateFormat>().ok());
    // Notes below the table may follow; most rows decide.
    let fits = |format: &DateFormat| texts.iter().filter(|text| format.parse(text).is_some()).count() * 2 > texts.len();
    let mut fitting: Vec<DateFormat> = formats.filter(fits).collect();
    fitting.sort_by_key(|format| texts.iter().filter(|text| format.parse(text).is_none()).count());
    fitting.into_iter().next()
}

/// The separator that most amounts have, if any has one.
pub fn decimal_separator(texts: &[&str]) -> Option<char> {
    let count = |separator: char| texts.iter().filter(|text| text.contains(separator)).count();
    match (count('.'), count(',')) {
        (0, 0) => None,
        (points, commas) if commas > points => Some(','),
        _ => Some('.'),
    }
}

/// What separates digits in the cells of the prefixes.
fn prefix_separator(columns: &[(Column, usize)], rows: &[PeekedRow]) -> Option<char> {
    let area = columns.iter().any(|(column, _)| *column == Column::AreaCode);
    let cells = texts(rows, columns, if area { Column::AreaCode } else { Column::Prefix });
    let is_list = |cell: &str, separator: char| {
        let mut parts = cell.split(separator).map(str::trim).filter(|part| !part.is_empty());
        let is_code = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-'));
        cell.contains(separator) && parts.all(is_code)
    };
    let separator = PREFIX_SEPARATORS.iter().copied().find(|it| cells.iter().any(|cell| is_list(cell, *it)));
    // Lines are always separate, with any separator.
    separator.map(|separator| if separator == '\n' { ',' } else { separator })
}
