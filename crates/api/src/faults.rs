//! The faults of a request: every field that fails, with one reason each.
//!
//! A field is named as in the request, with dots below the top: `postal_address.country`, `target_countries.2`. There is
//! no other way to refuse a field than to add it here, so that a response names all of them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::problem::{InvalidParam, Problem};
use values::BLANK_REASON;

/// A list can have many invalid items; the rest is not reported.
pub const MAX_FAULTS: usize = 200;

/// A reason of a pattern. It gives way to any other reason, as [`BLANK_REASON`] does.
pub(super) const WRONG_FORMAT: &str = "has characters that are not allowed, or the wrong format";

/// Fields that fail, by name.
#[derive(Default)]
pub struct Faults(BTreeMap<String, String>);

impl Faults {
    /// Adds a field with the reason, unless it has one already.
    pub fn add(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        let is_full = self.is_full();
        match self.0.entry(name.into()) {
            Entry::Occupied(mut known) if [WRONG_FORMAT, BLANK_REASON].contains(&known.get().as_str()) => {
                known.insert(reason.into());
            }
            Entry::Vacant(unknown) if !is_full => {
                unknown.insert(reason.into());
            }
            Entry::Occupied(_) | Entry::Vacant(_) => {}
        }
    }

    /// Adds the field unless the condition holds.
    pub fn unless(&mut self, holds: bool, name: impl Into<String>, reason: impl Into<String>) {
        if !holds {
            self.add(name, reason);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether this field fails, or one inside it.
    pub fn concern(&self, name: &str) -> bool {
        let inside = format!("{name}.");
        let first_inside = self.0.range(inside.clone()..).next();
        self.0.contains_key(name) || first_inside.is_some_and(|(name, _)| name.starts_with(&inside))
    }

    /// The problem that names them, if there are any.
    pub fn into_result(self) -> Result<(), Problem> {
        if self.is_empty() { Ok(()) } else { Err(self.into()) }
    }
}

impl From<Faults> for Problem {
    fn from(Faults(faults): Faults) -> Problem {
        Problem::validation(faults.into_iter().map(|(name, reason)| InvalidParam { name, reason }).collect())
    }
}

/// The name of a field inside another; at the top, its own name.
pub(super) fn below(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_keeps_its_first_reason_unless_that_was_its_pattern() {
        let mut faults = Faults::default();
        faults.add("zone", "must not be empty");
        faults.add("zone", "is not a zone");
        faults.add("email", WRONG_FORMAT);
        faults.add("email", "must be an email address");
        assert_eq!(faults.0["zone"], "must not be empty");
        assert_eq!(faults.0["email"], "must be an email address");
    }

    #[test]
    fn a_fault_concerns_its_field_and_those_around_it() {
        let mut faults = Faults::default();
        for name in ["amount.currency", "data.1.zone", "note-book"] {
            faults.add(name, "is wrong");
        }
        for name in ["amount", "amount.currency", "data", "data.1", "note-book"] {
            assert!(faults.concern(name), "{name}");
        }
        for name in ["amount.amount_minor", "data.10", "data.0", "note", "am"] {
            assert!(!faults.concern(name), "{name}");
        }
    }
}
