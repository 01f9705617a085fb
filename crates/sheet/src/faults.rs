//! The faults of a file: the first thousand in full, and the number of all.

use std::fmt;

/// One fault and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Line number from 1, as in a text editor; the first line of a row that spans several. In a workbook the row.
    pub line: u64,
    /// The name of the column; `None` if the fault is of the whole line.
    pub column: Option<&'static str>,
    /// The cell of a workbook, such as `B7`.
    pub cell: Option<String>,
    pub reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cell {
            Some(cell) => write!(f, "cell {cell}: ")?,
            None => write!(f, "line {}: ", self.line)?,
        }
        if let Some(column) = self.column {
            write!(f, "{column} ")?;
        }
        f.write_str(&self.reason)
    }
}

/// The faults of one file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Faults {
    /// At most [`Faults::MAX_KEPT`], in the order in which they were found.
    pub first: Vec<Fault>,
    /// All faults, including those not kept.
    pub count: u64,
}

impl Faults {
    /// Maximum number of faults kept in full.
    pub const MAX_KEPT: usize = 1000;

    pub fn add(&mut self, line: u64, column: Option<&'static str>, reason: impl Into<String>) {
        self.push(Fault { line, column, cell: None, reason: reason.into() });
    }

    pub fn push(&mut self, fault: Fault) {
        self.count += 1;
        if self.first.len() < Faults::MAX_KEPT {
            self.first.push(fault);
        }
    }

    /// Sorts the kept faults by line.
    pub fn sorted_by_line(mut self) -> Faults {
        self.first.sort_by_key(|fault| fault.line);
        self
    }
}
