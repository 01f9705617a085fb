//! A short list in one column, as a JSON array.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Invalid, Stored};

/// A list that is stored as a JSON array in one text column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(pub Vec<T>);

impl<T: Serialize + DeserializeOwned> Stored for List<T> {
    type Raw = String;

    fn to_raw(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    fn from_raw(raw: String) -> Result<Self, Invalid> {
        serde_json::from_str(&raw).map(List).map_err(|error| Invalid(error.to_string().into()))
    }
}
