//! The tariff: what every destination costs us and what we sell it for, at any moment.
//!
//! An upstream's deck is made once and never changed. What sold when follows from two histories that are only ever
//! added to: the terms of each upstream (its deck, status and markup) and the exchange rates in force. So the tariff of
//! any moment can be had again, and a call of last month priced to the same nano.

mod store;

pub use store::{Fx, Terms, forget_terms, fx_at, note_fx, note_terms, terms_at};

use crate::values::text_enum;

/// The name under which changes of the tariff are counted.
const NAME: &str = "tariff";

text_enum! {
    /// Whether an upstream's rates sell.
    pub enum UpstreamStatus {
        Active = "active",
        Disabled = "disabled",
    }
}
