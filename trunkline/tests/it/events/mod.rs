//! Events: their list, their stream, and the order that readers follow.

mod command_line;
mod list;
mod order;
mod resources;
mod stream;
