//! The entries of one prefix while a file is applied to them; `import` describes the rules.

use crate::{Entry, Prefix, UnixMillis};

pub struct Timeline<'r> {
    prefix: Prefix,
    /// The rows of the file, in order.
    rows: &'r [Entry],
    entries: Vec<Entry>,
    /// When the first back-dated row of the file begins to count.
    pub counts_from: Option<UnixMillis>,
}

impl<'r> Timeline<'r> {
    /// The past of the prefix up to the import: the old entries, and between them the back-dated rows of the file.
    pub fn past(prefix: Prefix, old: &[Entry], rows: &'r [Entry], import: UnixMillis) -> Timeline<'r> {
        let entries = Vec::with_capacity(old.len() + rows.len() + 1);
        let mut past = Timeline { prefix, rows, entries, counts_from: None };
        let mut gap = Some(UnixMillis::MIN);
        for entry in old {
            match (gap, &entry.offer) {
                (None, Some(_)) => past.entries.push(entry.clone()),
                (None, None) => gap = Some(entry.effective_at),
                (Some(from), Some(_)) => {
                    past.fill(from, entry.effective_at);
                    // A back-dated row with the same offer extends the old entry.
                    if !past.is_in_force(entry) {
                        past.entries.push(entry.clone());
                    }
                    gap = None;
                }
                (Some(_), None) => {}
            }
        }
        if let Some(from) = gap {
            past.fill(from, import);
        }
        past
    }

    /// Fills a time without a price with the rows that had begun by then.
    fn fill(&mut self, from: UnixMillis, to: UnixMillis) {
        let begun = self.rows.partition_point(|row| row.effective_at <= from);
        match begun.checked_sub(1).and_then(|last| self.rows.get(last)) {
            Some(row) => self.push_back_dated(row, from),
            None if self.entries.is_empty() => {}
            None => self.end(from),
        }
        for row in self.rows.iter().skip(begun).take_while(|row| row.effective_at < to) {
            self.push_back_dated(row, row.effective_at);
        }
    }

    fn push_back_dated(&mut self, row: &Entry, effective_at: UnixMillis) {
        if row.offer.is_none() {
            return self.end(effective_at);
        }
        self.counts_from = self.counts_from.or(Some(effective_at));
        self.entries.push(Entry { effective_at, is_back_dated: true, ..row.clone() });
    }

    /// Whether the last entry has the same offer.
    fn is_in_force(&self, entry: &Entry) -> bool {
        self.entries.last().is_some_and(|last| last.offer == entry.offer)
    }

    /// Adds the row in force at the import, unless it continues what was in force.
    pub fn push_current(&mut self, row: &Entry, import: UnixMillis) {
        if !self.is_in_force(row) {
            self.entries.push(Entry { effective_at: import, ..row.clone() });
        }
    }

    pub fn extend(&mut self, later: impl Iterator<Item = Entry>) {
        self.entries.extend(later);
    }

    pub fn end(&mut self, at: UnixMillis) {
        self.entries.push(Entry::new(self.prefix, at, None));
    }

    /// The entries, without ends that end nothing and without past offers that a deck of their time has. Such an offer
    /// is needed only if none precedes it: then it tells when the prefix began.
    pub fn finish(self, import: UnixMillis) -> Vec<Entry> {
        let mut entries = self.entries;
        let current = entries.partition_point(|entry| entry.effective_at <= import).saturating_sub(1);
        let (mut index, mut has_offer) = (0, false);
        entries.retain(|entry| {
            let is_past = index < current;
            index += 1;
            let is_kept = match entry.offer {
                Some(_) => !is_past || entry.is_back_dated || !has_offer,
                None => has_offer,
            };
            has_offer = if is_kept { entry.offer.is_some() } else { has_offer };
            is_kept
        });
        entries
    }
}
