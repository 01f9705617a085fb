//! What is wrong with a table: the first thousand faults in full, and how many there are in all.

use std::fmt;

/// One thing that is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// As a text editor counts, from 1. A row that goes on over several lines is named by its first.
    pub line: u64,
    /// The name of the column; nothing when the whole line is at fault.
    pub column: Option<&'static str>,
    pub reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if let Some(column) = self.column {
            write!(f, "{column} ")?;
        }
        f.write_str(&self.reason)
    }
}

/// See the top of this module.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Faults {
    /// As they were found.
    pub first: Vec<Fault>,
    pub count: u64,
}

impl Faults {
    /// How many are told in full.
    pub const MOST_KEPT: usize = 1000;

    pub fn add(&mut self, line: u64, column: Option<&'static str>, reason: impl Into<String>) {
        self.count += 1;
        if self.first.len() < Faults::MOST_KEPT {
            self.first.push(Fault { line, column, reason: reason.into() });
        }
    }

    /// In the order of their lines, whenever each was found.
    pub fn in_order(mut self) -> Faults {
        self.first.sort_by_key(|fault| fault.line);
        self
    }
}
