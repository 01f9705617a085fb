//! Prices calls: upstreams' rate decks, the tariff built from them, and least-cost routes with a margin guard.
//!
//! Output depends on the input alone (no clock, randomness, files or database), so a call of last month is priced again
//! to the same nano.
//!
//! ```text
//!   CSV, XLSX ─ DeckSheet ─┐
//!                          ├── apply_import ──> entries ── encode_leaves ──> bytes, stored ──> Deck ──┐
//!   the previous deck ─────┘                                                                          ├──> Tariff
//!                                               markup, exchange rate, active or not, up or down ─────┘
//! ```
//!
//! A [`Plan`] gives some customers other prices than the list: rules over the tariff, see [`Tariff::with_plan`]. Increases
//! that come from a deck count after a [`Notice`].
//! [`reconcile`] compares an upstream's [`Statement`] of calls with ours.
//!
//! The routes of a call are cheapest first; [`quality`] reorders them by how their calls went.
//!
//! Money is in nanos (10⁻⁹ of a currency unit), times in milliseconds. The margin guard of [`Tariff::routes`] drops an
//! upstream if an answered call of any length from one second would cost more than the customer pays: minute price,
//! connect fee, increment and minimum all count (see [`Rate::is_within`]).
//!
//! Not supported: prices by time of day, and rates that change during a call.

mod csv;
mod deck;
mod diff;
mod entry;
mod factor;
mod import;
mod increase;
mod leaf;
mod notice;
mod plan;
mod prefix;
pub mod quality;
mod rate;
mod sheets;
mod statements;
mod tariff;
mod timeline;
mod tree;

pub use csv::{Column as SheetColumn, DeckCsv, DeckCsvError, DeckCsvOptions, DeckCsvWriter};
pub use deck::{Deck, DeckError};
pub use diff::{Change, Difference, diff, in_force};
pub use entry::{Country, Destination, Entry, Listing, Offer, Priced, UnixMillis};
pub use factor::Ratio;
pub use import::{Changes, Mode, NextDeck, SteepestRise, apply_import};
pub use increase::{Compared, Increase, compare, increases};
pub use leaf::{DeckTimes, Leaf, LeafError, decode_leaf, encode_leaves, read_leaf};
pub use notice::{Held, Notice, Replacement, Replacements};
pub use plan::{Plan, PlanBase, PlanError, PlanRule, PricedBy, RuleMatch, RulePrice};
pub use prefix::{Prefix, PrefixError};
pub use rate::{Rate, RateError, TooLarge};
pub use sheet::{Column as NamedColumn, Fault, Faults};
pub use sheets::{
    DateFormat, DateFormatError, DeckSheet, MappingSource, ParsedRow, SheetFormat, SheetMapping, SheetPreview,
};
pub use statements::{
    Charges, Column as StatementColumn, LineKind, Lines, OurCall, Pairing, Statement, StatementLine, StatementMapping,
    StatementOptions, Tolerances, number as dialled_number, reconcile,
};
pub use tariff::{Candidate, DropReason, Routes, SellRate, Tariff, Upstream, UpstreamState};
