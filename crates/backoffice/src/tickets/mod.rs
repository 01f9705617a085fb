//! Support tickets: conversations between a customer and the team.
//!
//! After a message it is the other side's turn. The team may resolve a ticket, and the customer's next message reopens
//! it; either side can close it for good. A ticket may reference an API request or CDRs.
//!
//! - `customer`: `/tickets` · `admin`: `/admin/tickets` · `messages`: shared by both · `rules`: the state table

mod admin;
mod customer;
mod messages;
mod rules;
mod store;
mod types;

pub use admin::{admin_reply, admin_show, list_all, resolve_with_message, update};
pub use customer::{close, create, list, open, reply, show};
pub use store::{TicketId, erase};
pub use types::{Ticket, TicketCreate};
