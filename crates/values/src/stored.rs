//! How a value sits in one column of a table.

use super::Invalid;

/// A value kept in one column.
///
/// `Raw` is what both database engines can hold: `i64`, `String`, `Uuid`, `bool` or `Vec<u8>`.
/// Reading checks again, so a row that was changed by hand cannot smuggle in a wrong value.
pub trait Stored: Sized {
    type Raw;

    fn to_raw(&self) -> Self::Raw;

    fn from_raw(raw: Self::Raw) -> Result<Self, Invalid>;
}
