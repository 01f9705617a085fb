//! Collects the rows of a deck file: checks each cell, then sorts the rows and reports duplicates.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;
use sheet::{Column as _, Faults, Row};

use super::DeckCsvOptions;
use super::cells;
use super::columns::Column;
use crate::{Country, Destination, Entry, Offer, Rate, UnixMillis};

pub struct Rows<'a> {
    options: &'a DeckCsvOptions<'a>,
    entries: Vec<(Entry, u64)>,
    destinations: HashSet<Arc<Destination>, RandomState>,
    /// The date of the previous row, as text and parsed: a shortcut, since most rows repeat it.
    date: (String, UnixMillis),
}

impl<'a> Rows<'a> {
    pub fn new(options: &'a DeckCsvOptions<'a>) -> Rows<'a> {
        let date = (String::new(), options.now);
        Rows { options, entries: Vec::new(), destinations: HashSet::default(), date }
    }

    pub fn add(&mut self, row: &Row<'_, Column>, faults: &mut Faults) {
        let prefix = row.required(Column::Prefix, faults, cells::prefix);
        let name = row.required(Column::Destination, faults, cells::name);
        let country = self.country(row, faults);
        let minute = row.required(Column::Rate, faults, cells::nanos);
        let connect_fee = row.optional(Column::ConnectFee, faults, 0, cells::nanos);
        let increment =
            row.optional(Column::Increment, faults, 1, |cell| cells::seconds(cell, 1, "must be 1 to 3600 seconds"));
        let minimum =
            row.optional(Column::Minimum, faults, 1, |cell| cells::seconds(cell, 0, "must be 0 to 3600 seconds"));
        let effective_at = self.effective_at(row, faults);
        let mut offer = || {
            let rate = Rate::new(minute?, connect_fee?, increment?, minimum?).ok()?;
            Some(Offer { rate, destination: self.destination(name?, country?) })
        };
        let offer = offer();
        // A row with a fault in other cells still counts for the search for duplicates.
        if let (Some(prefix), Some(effective_at)) = (prefix, effective_at) {
            self.entries.push((Entry::new(prefix, effective_at, offer), row.line()));
        }
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

    fn country(&self, row: &Row<'_, Column>, faults: &mut Faults) -> Option<Country> {
        let is_country = self.options.is_country;
        row.required(Column::Country, faults, |cell| {
            Country::new(cell).filter(|country| is_country(*country)).ok_or("must be a two-letter country code")
        })
    }

    fn effective_at(&mut self, row: &Row<'_, Column>, faults: &mut Faults) -> Option<UnixMillis> {
        let cell = row.cell(Column::EffectiveAt, faults)?;
        if self.date.0 != cell {
            let parsed = if cell.is_empty() { Ok(self.options.now) } else { cells::timestamp(cell) };
            match parsed {
                Ok(timestamp) => self.date = (cell.to_owned(), timestamp),
                Err(reason) => {
                    row.fault(faults, Column::EffectiveAt, reason);
                    return None;
                }
            }
        }
        Some(self.date.1)
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
