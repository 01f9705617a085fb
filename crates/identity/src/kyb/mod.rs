//! Business verification (know your business): the papers of a company, and the team's verdict on them.
//!
//! It is the intake of `compliance` with the purpose `kyb`, under ids of its own and with fewer states: what is a draft
//! or was sent back is `open`, what was handed in is `submitted`. Every account has one from the first time it looks; a
//! rejected one stays, and the next look opens another.
//!
//! - `customer`: `/me/kyb` · `review`: `/admin/kyb` · `rules`: what a refusal says

mod customer;
mod review;
mod rules;
mod store;
mod types;

pub use customer::{remove, show, submit, upload};
pub use review::{approve, detail, list, reject};
pub use types::KybStatus;
