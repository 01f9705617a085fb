//! DIDs: inventory, orders, rented numbers, and the trunks that carry them.

pub mod inventory;
pub mod jobs;
pub mod orders;
pub mod rented;
pub mod routes;
pub mod trunks;
