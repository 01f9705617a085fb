//! The answered outbound calls of an account, to price them by other terms.

mod store;

pub use store::{AnsweredCall, each_answered};
