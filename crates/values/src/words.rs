//! A short list of words in one column.

use super::{Invalid, Stored};

/// A list that is stored in one text column, separated by spaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words<T>(pub Vec<T>);

impl<T: Stored<Raw = String>> Stored for Words<T> {
    type Raw = String;

    fn to_raw(&self) -> String {
        self.0.iter().map(Stored::to_raw).collect::<Vec<_>>().join(" ")
    }

    fn from_raw(raw: String) -> Result<Self, Invalid> {
        let words: Result<Vec<T>, Invalid> = raw.split_whitespace().map(|word| T::from_raw(word.to_owned())).collect();
        words.map(Words)
    }
}
