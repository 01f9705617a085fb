//! Reads a statement from a file: all its lines, or every fault by line and cell.

use std::io::Read;

use sheet::{Book, Faults, Kind, Layout, Peeked, Row};

use super::cells;
use super::columns::Column;
use super::lines::{Lines, StatementLine};
use super::mapping::{NoProposal, StatementMapping, is_header};
use crate::sheets::{Located, own_header};
use crate::{DeckCsvError, MappingSource, UnixMillis};

/// A statement that was read.
pub struct Statement {
    /// The lines of answered calls, sorted by start.
    pub lines: Lines,
    pub charges: Charges,
    /// Decimals that the statement shows of its amounts: those of the amount with the most.
    pub decimals: usize,
    /// Rows of calls that were not answered: they have neither duration nor cost.
    pub unanswered: u64,
    pub source: MappingSource,
    /// The mapping by which it was read; none if it has our own header.
    pub mapping: Option<StatementMapping>,
}

/// What the amounts of a statement are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Charges {
    /// The cost of each call.
    Cost,
    /// The rate per minute of each call.
    Rate,
}

/// What the file itself does not say.
pub struct StatementOptions<'a> {
    /// The time at which clocks in the time zone of the statement show this time.
    pub to_utc: &'a dyn Fn(UnixMillis) -> UnixMillis,
}

const NO_HEADER: &str = "there is no header with the columns called_number, started_at, duration_seconds, and cost or \
                         rate_per_minute; send a mapping with the file or save one for the upstream";

impl Statement {
    /// Maximum number of rows.
    pub const MAX_LINES: u64 = 2_000_000;

    /// Reads a file by the given mapping, or else by our own header. Without a mapping, the words in the header decide,
    /// unless the times could be read in two ways. Calls `progress` with the number of rows read so far, now and then
    /// and at the end.
    pub fn read(
        source: impl Read,
        given: Option<&StatementMapping>,
        options: &StatementOptions<'_>,
        progress: impl FnMut(u64),
    ) -> Result<Statement, DeckCsvError> {
        let mut book = Book::open(source)?;
        let (format, tables) = (book.format(), book.peek()?);
        let mut faults = Faults::default();
        let by_given = given.and_then(|mapping| mapping.wanted().locate(format, &tables, &mut faults));
        let own = || own_header::<Column>(&tables).filter(|own| is_header(&own.columns));
        let (located, mapping, source) = match (by_given, own()) {
            (Some(located), _) => (located, given.cloned(), MappingSource::Given),
            (None, Some(own)) => (own, None, MappingSource::OwnHeader),
            (None, None) if given.is_some() => return Err(DeckCsvError::Faults(faults)),
            (None, None) => {
                let mapping = StatementMapping::propose(format, &tables).map_err(|why| refusal(why, &tables))?;
                let located = mapping.wanted().locate(format, &tables, &mut faults);
                let located = located.ok_or(DeckCsvError::Faults(faults))?;
                (located, Some(mapping), MappingSource::Detected)
            }
        };
        let (lines, faults) = read_lines(book, &located, mapping.as_ref(), options, progress)?;
        if faults.count > 0 {
            return Err(DeckCsvError::Faults(faults.sorted_by_line()));
        }
        let Reading { mut lines, charges, decimals, unanswered, .. } = lines;
        lines.sort();
        Ok(Statement { lines, charges, decimals, unanswered, source, mapping })
    }
}

fn refusal(why: NoProposal, tables: &[Peeked]) -> DeckCsvError {
    let first = tables.iter().find_map(|peeked| peeked.rows.first()).map_or(1, |row| row.line);
    let mut faults = Faults::default();
    match why {
        NoProposal::NoHeader => faults.add(first, None, NO_HEADER),
        NoProposal::Times(None) => {
            let reason = format!("{}; send a mapping with its date_format", cells::NO_TIME);
            faults.add(first, Some(sheet::Column::name(Column::StartedAt)), reason);
        }
        NoProposal::Times(Some((one, other))) => {
            let reason = format!("fits {one} and {other}; send a mapping with its date_format");
            faults.add(first, Some(sheet::Column::name(Column::StartedAt)), reason);
        }
    }
    DeckCsvError::Faults(faults)
}

/// What was read so far.
struct Reading<'a> {
    lines: Lines,
    charges: Charges,
    decimals: usize,
    unanswered: u64,
    mapping: Option<&'a StatementMapping>,
    options: &'a StatementOptions<'a>,
}

fn read_lines<'a, R: Read>(
    book: Book<R>,
    located: &Located<Column>,
    mapping: Option<&'a StatementMapping>,
    options: &'a StatementOptions<'a>,
    progress: impl FnMut(u64),
) -> Result<(Reading<'a>, Faults), DeckCsvError> {
    let layout = Layout::mapped(&located.columns);
    let charges = if layout.index(Column::Cost).is_some() { Charges::Cost } else { Charges::Rate };
    let mut reading = Reading { lines: Lines::default(), charges, decimals: 0, unanswered: 0, mapping, options };
    let mut faults = Faults::default();
    let add = |row: &Row<'_, Column>, faults: &mut Faults| reading.add(row, faults);
    book.read((&located.table, located.header), &layout, Statement::MAX_LINES, &mut faults, add, progress)?;
    Ok((reading, faults))
}

impl Reading<'_> {
    fn add(&mut self, row: &Row<'_, Column>, faults: &mut Faults) {
        let number = row.required(Column::CalledNumber, faults, cells::number);
        let started_at = self.started_at(row, faults);
        let duration = row.required(Column::Duration, faults, cells::duration);
        let amount = self.amount(row, faults);
        let call_id = if row.has(Column::CallId) { row.cell(Column::CallId, faults) } else { Some("") };
        let (Some(number), Some(started_at), Some(duration_seconds), Some((nanos, decimals)), Some(call_id)) =
            (number, started_at, duration, amount, call_id)
        else {
            return;
        };
        if duration_seconds == 0 && (nanos == 0 || self.charges == Charges::Rate) {
            self.unanswered += 1;
            return;
        }
        self.decimals = self.decimals.max(decimals);
        // Rows are fewer than 32 bits count, also those of a workbook.
        let line = u32::try_from(row.line()).unwrap_or(u32::MAX);
        let call_id = (!call_id.is_empty()).then(|| call_id.into());
        self.lines.push(StatementLine { line, number, started_at, duration_seconds, nanos, call_id });
    }

    /// An amount. Numbers of a workbook have a decimal point whatever its texts have.
    fn amount(&self, row: &Row<'_, Column>, faults: &mut Faults) -> Option<(i64, usize)> {
        let column = match self.charges {
            Charges::Cost => Column::Cost,
            Charges::Rate => Column::Rate,
        };
        let separator = self.mapping.and_then(|mapping| mapping.decimal_separator);
        let separator = separator.filter(|_| row.kind(column) == Kind::Text);
        row.required(column, faults, |cell| cells::amount(cell, separator))
    }

    /// A start as the mapping writes it, or as a workbook counts it, with or without a format of the cell.
    fn started_at(&self, row: &Row<'_, Column>, faults: &mut Faults) -> Option<UnixMillis> {
        let cell = row.cell_or_date(Column::StartedAt, faults)?;
        let (kind, format) = (row.kind(Column::StartedAt), self.mapping.and_then(|it| it.date_format.as_ref()));
        let parsed = match (kind, format) {
            (Kind::Date, _) => None,
            (_, Some(format)) => format.parse(cell).map(|local| (local, true)),
            (_, None) => cells::time(cell),
        };
        let counted = || (kind != Kind::Text).then(|| row.serial_millis(cell)).flatten().map(|local| (local, true));
        match parsed.or_else(counted) {
            Some((local, true)) => Some((self.options.to_utc)(local)),
            Some((time, false)) => Some(time),
            None => {
                let reason = match (cell, format) {
                    ("", _) => "must not be empty".to_owned(),
                    (_, Some(format)) => format!("must be a time such as {format}"),
                    (_, None) => cells::NO_TIME.to_owned(),
                };
                row.fault(faults, Column::StartedAt, reason);
                None
            }
        }
    }
}
