//! Tickets: conversations between a customer and the team.
//!
//! Whoever writes passes the turn to the other side; the team may take a ticket to be resolved, which the customer's next
//! message takes back; either side closes it for good. A ticket may name the request or the calls it is about.
//!
//! - `/tickets`: `customer` · `/admin/tickets`: `team` · `desk`: what both do alike · `rules`: the states

mod customer;
mod desk;
mod rules;
mod store;
mod team;
mod types;

pub use customer::{close, create, list, show, write};
pub use team::{answer, change, list_all, show_to_team};
