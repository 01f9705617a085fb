//! What a call costs: rate decks, the tariff that is made of them, and the routes that are worth their price.
//!
//! Plain values go in and plain values come out. There is no clock, no chance, no file and no database behind it, so
//! a call of last month is priced again to the same nano.
//!
//! ```text
//!   CSV ── Sheet::read ──┐
//!                        ├── succeed ──> entries ── leaves ──> bytes, stored ──> Deck ──┐
//!   the deck before ─────┘                                                              ├──> Tariff
//!                                    markup, exchange rate, whether active or down ─────┘
//! ```
//!
//! Money is in nanos and moments are in milliseconds. What it does not do: prices by the time of day, and rates that
//! change while a call lasts. The margin guard of [`Tariff::routes`] compares the minute and the connect fee; an
//! upstream with longer increments than the one whose price is sold may still earn less than it costs on short calls.

mod deck;
mod diff;
mod entry;
mod factor;
mod leaf;
mod prefix;
mod rate;
mod sheet;
mod tariff;
mod timeline;

pub use self::sheet::{BadSheet, Reading, Sheet, SheetWriter};
pub use ::sheet::{Fault, Faults};
pub use deck::{BadDeck, Deck, DeckBuilder};
pub use diff::{Change, Difference, diff, in_force};
pub use entry::{Country, Destination, Entry, Listing, Moment, Offer, Priced};
pub use factor::Ratio;
pub use leaf::{Damaged, Leaf, decode, leaves};
pub use prefix::{BadPrefix, Prefix};
pub use rate::{BadRate, Rate, TooLarge};
pub use tariff::{Candidate, Dropped, Routes, Sell, Standing, Tariff, Upstream};
pub use timeline::{Changes, Mode, Succession, succeed};
