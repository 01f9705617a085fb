//! Values that are stored in one column.

use super::Invalid;

/// A value that is stored in one column.
///
/// `Raw` is a type that both engines can store: `i64`, `String`, `Uuid`, `bool` or `Vec<u8>`.
/// Reading validates again, since a row may have been changed by hand.
pub trait Stored: Sized {
    type Raw;

    fn to_raw(&self) -> Self::Raw;

    fn from_raw(raw: Self::Raw) -> Result<Self, Invalid>;
}
