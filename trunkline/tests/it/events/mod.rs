//! Events: their list, their stream, and the order that readers follow.

mod list;
mod order;
mod resources;
mod stream;
