//! Counts of what a pass over sealed data did.

/// What was found and done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    pub checked: u64,
    pub resealed: u64,
    /// Sealed with no known master secret.
    pub unreadable: u64,
}

/// Rows of one transaction, so that other transactions do not wait long.
pub const BATCH: i64 = 200;
