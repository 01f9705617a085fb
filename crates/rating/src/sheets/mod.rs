//! Rate decks as carriers send them: CSV or XLSX, with any header, by the mapping of the upstream.
//!
//! A file is read by its mapping if it has the mapped columns. Otherwise, and without a mapping, it must have our own
//! header (see `csv`). A preview also proposes a mapping, from the words of the header and the first rows; an import
//! never guesses.
//!
//! - `mapping`: the layout · `locate`: where it is in a file · `propose`, `words`: a layout for a file that has none
//! - `codes`, `countries`, `date_format`: prefixes, their countries, and dates as they are written

mod codes;
mod countries;
mod date_format;
mod locate;
mod mapping;
mod propose;
mod words;

use std::io::Read;

pub use codes::read_codes;
pub use countries::country_of;
pub use date_format::{DateFormat, DateFormatError};
pub use locate::{Located, Wanted, own_header};
pub use mapping::{SheetFormat, SheetMapping};
pub use propose::{decimal_separator, texts};
use sheet::{Book, Faults, Format, Layout, OpenError, Peeked, Row, Table};
pub use words::{is_closed, rank_among};

use crate::csv::{Column, Rows};
use crate::{DeckCsv, DeckCsvError, DeckCsvOptions, Entry};

/// Reads decks of either format.
pub struct DeckSheet;

/// Where the layout of a previewed file comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MappingSource {
    /// The mapping that was given.
    Given,
    /// The file has our own header.
    OwnHeader,
    /// Proposed from the file.
    Detected,
}

/// What a file looks like, and its first rows.
pub struct SheetPreview {
    pub format: SheetFormat,
    /// The sheet that was read.
    pub sheet: Option<String>,
    /// All sheets of a workbook.
    pub sheets: Vec<String>,
    pub header_row: Option<u64>,
    /// `None` if no layout fits; the faults say why.
    pub source: Option<MappingSource>,
    /// What the header suggests, whatever layout was used.
    pub detected: Option<SheetMapping>,
    /// Prefixes that the rows name.
    pub prefixes: usize,
    pub rows: Vec<ParsedRow>,
    pub faults: Faults,
}

/// A prefix of a row as it would be imported.
pub struct ParsedRow {
    pub line: u64,
    pub entry: Entry,
}

impl DeckSheet {
    /// Reads a file. Calls `progress` with the number of rows read so far, now and then and at the end.
    pub fn read(
        source: impl Read,
        mapping: Option<&SheetMapping>,
        options: &DeckCsvOptions<'_>,
        progress: impl FnMut(u64),
    ) -> Result<DeckCsv, DeckCsvError> {
        let mut book = Book::open(source)?;
        let tables = book.peek()?;
        let mut faults = Faults::default();
        let located = mapping.and_then(|mapping| mapping.wanted().locate(book.format(), &tables, &mut faults));
        let (located, mapping) = match (located, own_header(&tables)) {
            (Some(located), _) => (located, mapping),
            // CSV is read as ever, with every fault of its header.
            (None, _) if mapping.is_none() && book.format() == Format::Csv => {
                let text = book.into_csv().ok_or_else(|| DeckCsvError::Refused("the file is not CSV".to_owned()))?;
                return DeckCsv::read(text, options, progress);
            }
            (None, Some(own)) => (own, None),
            (None, None) if mapping.is_none() => return Err(no_header(&tables)),
            (None, None) => return Err(DeckCsvError::Faults(faults)),
        };
        let mut faults = Faults::default();
        let mut rows = Rows::new(options, mapping);
        let is_complete = read_rows(book, &located, &mut rows, &mut faults, progress)?;
        DeckCsv::collect(rows, is_complete, faults)
    }

    /// Reads a file to see what it looks like. The given mapping comes first, then our own header, then what the file
    /// suggests.
    pub fn preview(
        source: impl Read,
        given: Option<&SheetMapping>,
        options: &DeckCsvOptions<'_>,
        max_rows: usize,
    ) -> Result<SheetPreview, DeckCsvError> {
        let mut book = Book::open(source)?;
        let (format, tables) = (book.format(), book.peek()?);
        let detected = propose::propose(format, &tables);
        let mut faults = Faults::default();
        let own = || own_header(&tables).map(|own| (own, None, MappingSource::OwnHeader));
        let by_given = given.and_then(|mapping| {
            let located = mapping.wanted().locate(format, &tables, &mut faults);
            located.map(|located| (located, Some(mapping), MappingSource::Given))
        });
        let by_detected = || {
            let mapping = detected.as_ref().filter(|_| given.is_none())?;
            let located = mapping.wanted().locate(format, &tables, &mut Faults::default())?;
            Some((located, Some(mapping), MappingSource::Detected))
        };
        let used = by_given.or_else(own).or_else(by_detected);
        let mut preview = SheetPreview {
            format,
            sheet: None,
            sheets: sheets(&tables),
            header_row: None,
            source: used.as_ref().map(|(_, _, source)| *source),
            detected: detected.clone(),
            prefixes: 0,
            rows: Vec::new(),
            faults: Faults::default(),
        };
        let Some((located, mapping, _)) = used else {
            if faults.count == 0 {
                faults.add(1, None, NO_HEADER);
            }
            preview.faults = faults;
            return Ok(preview);
        };
        preview.header_row = Some(located.header);
        preview.sheet = sheets_of(&located.table);
        let mut rows = Rows::new(options, mapping);
        let is_complete = read_rows(book, &located, &mut rows, &mut preview.faults, |_| {})?;
        preview.prefixes = rows.len();
        preview.rows = rows.first(max_rows).into_iter().map(|(entry, line)| ParsedRow { line, entry }).collect();
        if is_complete {
            rows.finish(&mut preview.faults);
        }
        preview.faults = preview.faults.sorted_by_line();
        Ok(preview)
    }
}

impl From<OpenError> for DeckCsvError {
    fn from(error: OpenError) -> DeckCsvError {
        match error {
            OpenError::Io(error) => DeckCsvError::Io(error),
            OpenError::Refused(reason) => DeckCsvError::Refused(reason),
        }
    }
}

const NO_HEADER: &str = "there is no header with the columns prefix, destination_name, country and rate_per_minute; \
                         save a sheet mapping for the upstream";

fn no_header(tables: &[Peeked]) -> DeckCsvError {
    let mut faults = Faults::default();
    let first = tables.iter().find_map(|peeked| peeked.rows.first());
    faults.add(first.map_or(1, |row| row.line), None, NO_HEADER);
    DeckCsvError::Faults(faults)
}

fn read_rows<R: Read>(
    book: Book<R>,
    located: &Located<Column>,
    rows: &mut Rows<'_>,
    faults: &mut Faults,
    progress: impl FnMut(u64),
) -> Result<bool, OpenError> {
    let layout = Layout::mapped(&located.columns);
    let add = |row: &Row<'_, Column>, faults: &mut Faults| rows.add(row, faults);
    book.read((&located.table, located.header), &layout, DeckCsv::MAX_ROWS, faults, add, progress)
}

fn sheets_of(table: &Table) -> Option<String> {
    match table {
        Table::Sheet(name) => Some(name.clone()),
        Table::Delimited(_) => None,
    }
}

fn sheets(tables: &[Peeked]) -> Vec<String> {
    tables.iter().filter_map(|peeked| sheets_of(&peeked.table)).collect()
}
