//! The waitlist: positions 1 to n, never a gap, and finding one's own does not walk the list.
//!
//! Everyone who joins takes the next ticket. Tickets never change; a position is how many tickets up to one's own still
//! wait. Counts for blocks of 256 and of 65,536 tickets make that a sum over a few hundred rows at most.

mod store;

pub use store::{join, leave, position, total};
