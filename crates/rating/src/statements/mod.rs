//! Reconciliation: the statement of an upstream, line by line, against our CDRs of the calls that it carried.
//!
//! [`Statement::read`] reads a file as the upstream lays it out, CSV or XLSX. [`reconcile`] then pairs its lines with our
//! calls: the same called number, starts within a tolerance, durations within another. Every line and every call is
//! used at most once; [`Pairing::kind`] says what became of it.
//!
//! - `columns`: the columns and the words above them · `mapping`: the layout, given or proposed · `cells`: their values
//! - `lines`: all lines of a file, packed and sorted by start · `read`: from a file to its lines
//! - `matching`: pairs lines and calls, in the order of their starts
//!
//! Memory is bounded: a file has at most [`Statement::MAX_LINES`] lines, 40 bytes each and the text of its call ids;
//! of our calls only those within the tolerance of the current start are held.

mod cells;
mod columns;
mod lines;
mod mapping;
mod matching;
mod read;

pub use cells::number;
pub use columns::Column;
pub use lines::{Lines, StatementLine};
pub use mapping::StatementMapping;
pub use matching::{LineKind, OurCall, Pairing, Tolerances, reconcile};
pub use read::{Charges, Statement, StatementOptions};
