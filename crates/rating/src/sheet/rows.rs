//! The rows of a sheet, checked cell by cell and then put in order, where duplicates meet.

use std::collections::HashSet;
use std::sync::Arc;

use super::cells;
use super::columns::{Column, Layout};
use super::records::Record;
use super::{Faults, Reading};
use crate::{Country, Destination, Entry, Moment, Offer, Rate};

pub struct Rows<'a> {
    layout: Layout,
    reading: &'a Reading<'a>,
    faults: &'a mut Faults,
    entries: Vec<(Entry, u64)>,
    destinations: HashSet<Arc<Destination>>,
    /// The date of the row before, as text and as a moment: most rows of a sheet repeat it.
    date: (String, Moment),
}

impl<'a> Rows<'a> {
    pub fn new(layout: Layout, reading: &'a Reading<'a>, faults: &'a mut Faults) -> Rows<'a> {
        let date = (String::new(), reading.now);
        Rows { layout, reading, faults, entries: Vec::new(), destinations: HashSet::new(), date }
    }

    pub fn fault(&mut self, line: u64, column: Option<Column>, reason: impl Into<String>) {
        self.faults.add(line, column.map(Column::name), reason);
    }

    pub fn add(&mut self, record: &Record) {
        if !self.fits(record) {
            let reason = format!("the row has {} fields and the header {}", record.len(), self.layout.width);
            return self.fault(record.line, None, reason);
        }
        let prefix = self.required(record, Column::Prefix, cells::prefix);
        let name = self.required(record, Column::Destination, cells::name);
        let country = self.country(record);
        let minute = self.required(record, Column::Rate, cells::nanos);
        let connect_fee = self.optional(record, Column::ConnectFee, 0, cells::nanos);
        let increment =
            self.optional(record, Column::Increment, 1, |cell| cells::seconds(cell, 1, "must be 1 to 3600 seconds"));
        let minimum =
            self.optional(record, Column::Minimum, 1, |cell| cells::seconds(cell, 0, "must be 0 to 3600 seconds"));
        let effective_at = self.effective_at(record);
        let mut offer = || {
            let rate = Rate::new(minute?, connect_fee?, increment?, minimum?).ok()?;
            Some(Offer { rate, destination: self.destination(name?, country?) })
        };
        let offer = offer();
        // A row with a fault keeps its place, so that a duplicate of it is told as well.
        if let (Some(prefix), Some(effective_at)) = (prefix, effective_at) {
            self.entries.push((Entry { prefix, effective_at, offer }, record.line));
        }
    }

    /// A row that is too short was cut off; one that is longer may only be so by blanks.
    fn fits(&self, record: &Record) -> bool {
        let beyond = record.fields().skip(self.layout.width).all(|field| field.trim_ascii().is_empty());
        record.len() >= self.layout.width && beyond
    }

    /// The entries in order, after a look for rows that say something of the same prefix and moment.
    pub fn finish(mut self) -> Vec<Entry> {
        self.entries.sort_unstable_by_key(|(entry, line)| (entry.place(), *line));
        let mut duplicates: Vec<(u64, u64)> = Vec::new();
        for group in self.entries.chunk_by(|(one, _), (next, _)| one.place() == next.place()) {
            let [(_, first), others @ ..] = group else { continue };
            duplicates.extend(others.iter().map(|(_, line)| (*line, *first)));
        }
        duplicates.sort_unstable();
        for (line, first) in duplicates {
            self.fault(line, Some(Column::Prefix), format!("has the same date in line {first} already"));
        }
        self.entries.into_iter().map(|(entry, _)| entry).collect()
    }

    /// The trimmed text of a cell, empty if it is not there.
    fn cell<'r>(&mut self, record: &'r Record, column: Column) -> Option<&'r str> {
        let field = self.layout.place(column).and_then(|place| record.field(place)).unwrap_or_default();
        let text = str::from_utf8(field).ok();
        if text.is_none() {
            self.fault(record.line, Some(column), "must be UTF-8");
        }
        text.map(str::trim)
    }

    fn required<'r, T>(
        &mut self,
        record: &'r Record,
        column: Column,
        parse: impl Fn(&'r str) -> Result<T, &'static str>,
    ) -> Option<T> {
        let cell = self.cell(record, column)?;
        let parsed = if cell.is_empty() { Err("must not be empty") } else { parse(cell) };
        parsed.map_err(|reason| self.fault(record.line, Some(column), reason)).ok()
    }

    fn optional<T>(
        &mut self,
        record: &Record,
        column: Column,
        absent: T,
        parse: impl Fn(&str) -> Result<T, &'static str>,
    ) -> Option<T> {
        let cell = self.cell(record, column)?;
        let parsed = if cell.is_empty() { Ok(absent) } else { parse(cell) };
        parsed.map_err(|reason| self.fault(record.line, Some(column), reason)).ok()
    }

    fn country(&mut self, record: &Record) -> Option<Country> {
        let is_country = self.reading.is_country;
        self.required(record, Column::Country, |cell| {
            Country::new(cell).filter(|country| is_country(*country)).ok_or("must be a country of two letters")
        })
    }

    fn effective_at(&mut self, record: &Record) -> Option<Moment> {
        let cell = self.cell(record, Column::EffectiveAt)?;
        if self.date.0 != cell {
            let moment = if cell.is_empty() { Ok(self.reading.now) } else { cells::moment(cell) };
            match moment {
                Ok(moment) => self.date = (cell.to_owned(), moment),
                Err(reason) => {
                    self.fault(record.line, Some(Column::EffectiveAt), reason);
                    return None;
                }
            }
        }
        Some(self.date.1)
    }

    /// One that equal rows share; most rows have that of the row before.
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
