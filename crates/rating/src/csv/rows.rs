//! Collects the rows of a deck file: checks each cell, then sorts the rows and reports duplicates.
//!
//! With a [`SheetMapping`] a row may name several prefixes, withdraw them, and leave the country out.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;
use sheet::{Column as _, Faults, Kind, Row};

use super::DeckCsvOptions;
use super::cells;
use super::columns::Column;
use crate::sheets::{SheetMapping, country_of, is_closed, read_codes};
use crate::{Country, Destination, Entry, Offer, Prefix, Rate, UnixMillis};

pub struct Rows<'a> {
    options: &'a DeckCsvOptions<'a>,
    mapping: Option<&'a SheetMapping>,
    entries: Vec<(Entry, u64)>,
    /// The prefixes of the current row.
    codes: Vec<Prefix>,
    destinations: HashSet<Arc<Destination>, RandomState>,
    /// The date of the previous row, as text and parsed: a shortcut, since most rows repeat it.
    date: (String, UnixMillis),
}

/// What a row says of its prefixes.
struct Terms<'r> {
    name: &'r str,
    /// Derived from each prefix if the row does not say it.
    country: Option<Country>,
    rate: Rate,
}

impl<'a> Rows<'a> {
    pub fn new(options: &'a DeckCsvOptions<'a>, mapping: Option<&'a SheetMapping>) -> Rows<'a> {
        let date = (String::new(), options.now);
        Rows { options, mapping, entries: Vec::new(), codes: Vec::new(), destinations: HashSet::default(), date }
    }

    pub fn add(&mut self, row: &Row<'_, Column>, faults: &mut Faults) {
        let has_codes = self.read_codes(row, faults);
        let is_closed = self.is_closed(row, faults);
        let terms = if is_closed == Some(true) { None } else { self.terms(row, faults) };
        let effective_at = self.effective_at(row, faults);
        // A row with a fault in other cells still counts for the search for duplicates.
        let Some(effective_at) = effective_at.filter(|_| has_codes) else { return };
        for index in 0..self.codes.len() {
            let Some(prefix) = self.codes.get(index).copied() else { continue };
            let offer = terms.as_ref().and_then(|terms| {
                let country = terms.country.or_else(|| country_of(prefix))?;
                Some(Offer { rate: terms.rate, destination: self.destination(terms.name, country) })
            });
            self.entries.push((Entry::new(prefix, effective_at, offer), row.line()));
        }
    }

    /// Entries of the first rows, with their lines, in the order of the file.
    pub fn first(&self, count: usize) -> Vec<(Entry, u64)> {
        self.entries.iter().take(count).cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Sorts the entries and reports rows with the same prefix and time.
    pub fn finish(mut self, faults: &mut Faults) -> Vec<Entry> {
        self.entries.sort_unstable_by_key(|(entry, line)| (entry.sort_key(), *line));
        let mut duplicates: Vec<(u64, u64)> = Vec::new();
        for group in self.entries.chunk_by(|(one, _), (next, _)| one.sort_key() == next.sort_key()) {
            let [(_, first), others @ ..] = group else { continue };
            duplicates.extend(others.iter().map(|(_, line)| (*line, *first)));
        }
        duplicates.sort_unstable();
        for (line, first) in duplicates {
            faults.add(line, Some(Column::Prefix.name()), format!("is already on line {first} with the same date"));
        }
        self.entries.into_iter().map(|(entry, _)| entry).collect()
    }

    /// Reads the prefixes of a row. False after a fault.
    fn read_codes(&mut self, row: &Row<'_, Column>, faults: &mut Faults) -> bool {
        self.codes.clear();
        let Some(mapping) = self.mapping else {
            self.codes.extend(row.required(Column::Prefix, faults, cells::prefix));
            return !self.codes.is_empty();
        };
        let codes = &mut self.codes;
        let separator = mapping.prefix_separator;
        let area = if row.has(Column::AreaCode) { row.cell(Column::AreaCode, faults) } else { Some("") };
        let read = match area {
            None => None,
            Some("") => row.required(Column::Prefix, faults, |cell| read_codes("", cell, separator, codes)),
            Some(area) => {
                row.required(Column::Prefix, faults, |cell| Ok(cell.trim_start_matches('+'))).and_then(|dial| {
                    let read = read_codes(dial, area, separator, codes);
                    read.map_err(|reason| row.fault(faults, Column::AreaCode, reason)).ok()
                })
            }
        };
        read.is_some() && !self.codes.is_empty()
    }

    /// Whether the row withdraws its prefixes. `None` after a fault.
    fn is_closed(&self, row: &Row<'_, Column>, faults: &mut Faults) -> Option<bool> {
        let Some(mapping) = self.mapping.filter(|_| row.has(Column::Change)) else { return Some(false) };
        let cell = row.cell(Column::Change, faults)?;
        let closed = is_closed(cell, &mapping.closed_values);
        if closed.is_none() {
            let reason = "must be a known word such as new, increase, decrease or closed; list others in closed_values";
            row.fault(faults, Column::Change, reason);
        }
        closed
    }

    /// What a row that is not withdrawn says. `None` after a fault.
    fn terms<'r>(&self, row: &Row<'r, Column>, faults: &mut Faults) -> Option<Terms<'r>> {
        let name = row.required(Column::Destination, faults, cells::name);
        let country = self.country(row, faults);
        let minute = row.required(Column::Rate, faults, |cell| self.nanos(row, Column::Rate, cell));
        let connect_fee = row.optional(Column::ConnectFee, faults, 0, |cell| self.nanos(row, Column::ConnectFee, cell));
        let (minimum, increment) = self.increments(row, faults);
        let rate = Rate::new(minute?, connect_fee?, increment?, minimum?).ok()?;
        Some(Terms { name: name?, country: country?, rate })
    }

    /// Minimum and increment.
    fn increments(&self, row: &Row<'_, Column>, faults: &mut Faults) -> (Option<u16>, Option<u16>) {
        if row.has(Column::Increments) {
            let both = row.optional(Column::Increments, faults, (1, 1), cells::increments);
            return both.unzip();
        }
        let increment =
            row.optional(Column::Increment, faults, 1, |cell| cells::seconds(cell, 1, "must be 1 to 3600 seconds"));
        let minimum =
            row.optional(Column::Minimum, faults, 1, |cell| cells::seconds(cell, 0, "must be 0 to 3600 seconds"));
        (minimum, increment)
    }

    /// An amount. Numbers of a workbook have a decimal point whatever its texts have.
    fn nanos(&self, row: &Row<'_, Column>, column: Column, cell: &str) -> Result<i64, &'static str> {
        let separator = self.mapping.and_then(|mapping| mapping.decimal_separator);
        match (row.kind(column), separator) {
            (Kind::Text, Some(',')) if cell.contains('.') => Err("must be an amount such as 0,0125"),
            (Kind::Text, Some('.')) if cell.contains(',') => Err("must be an amount such as 0.0125"),
            _ => cells::nanos(cell),
        }
    }

    /// The country, or `None` inside if it follows from the prefix.
    fn country(&self, row: &Row<'_, Column>, faults: &mut Faults) -> Option<Option<Country>> {
        let is_country = self.options.is_country;
        let parse = |cell: &str| {
            let country = Country::new(cell).filter(|country| is_country(*country));
            country.ok_or("must be a two-letter country code")
        };
        if self.mapping.is_none() {
            return row.required(Column::Country, faults, |cell| parse(cell).map(Some));
        }
        // Carriers also write names here.
        row.optional(Column::Country, faults, None, |cell| match cell.len() {
            2 => parse(cell).map(Some),
            _ => Ok(None),
        })
    }

    fn effective_at(&mut self, row: &Row<'_, Column>, faults: &mut Faults) -> Option<UnixMillis> {
        let cell = row.cell_or_date(Column::EffectiveAt, faults)?;
        if self.date.0 != cell {
            match self.timestamp(row, cell) {
                Ok(timestamp) => self.date = (cell.to_owned(), timestamp),
                Err(reason) => {
                    row.fault(faults, Column::EffectiveAt, reason);
                    return None;
                }
            }
        }
        Some(self.date.1)
    }

    /// A date as the mapping writes it, or as a workbook counts it, with or without a format of the cell.
    fn timestamp(&self, row: &Row<'_, Column>, cell: &str) -> Result<UnixMillis, String> {
        let format = self.mapping.and_then(|mapping| mapping.date_format.as_ref());
        let kind = row.kind(Column::EffectiveAt);
        let parsed = match (cell, kind, format) {
            ("", ..) => return Ok(self.options.now),
            (_, Kind::Date, _) => None,
            (_, _, Some(format)) => format.parse(cell),
            (_, _, None) => cells::timestamp(cell).ok(),
        };
        let counted = || (kind != Kind::Text).then(|| row.serial_millis(cell)).flatten();
        parsed.or_else(counted).ok_or_else(|| match format {
            Some(format) => format!("must be a date such as {format}"),
            None => cells::NO_TIMESTAMP.to_owned(),
        })
    }

    /// A destination shared by equal rows; most rows have that of the previous one.
    fn destination(&mut self, name: &str, country: Country) -> Arc<Destination> {
        if let Some((Entry { offer: Some(Offer { destination, .. }), .. }, _)) = self.entries.last()
            && (&*destination.name, destination.country) == (name, country)
        {
            return Arc::clone(destination);
        }
        let destination = Arc::new(Destination { name: name.into(), country });
        match self.destinations.get(&destination) {
            Some(known) => Arc::clone(known),
            None => {
                self.destinations.insert(Arc::clone(&destination));
                destination
            }
        }
    }
}
