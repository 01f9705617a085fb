//! The answered outbound calls that an upstream carried, to compare them with its own view of them.

mod store;

pub use store::{CarriedCall, CarriedCursor, carried_after};
