//! KYB (know your business): verification of a customer's company.
//!
//! A KYB intake is a compliance intake with the purpose `kyb`, with ids of its own and fewer statuses: `draft` and
//! `more_info_requested` are `open`, `submitted` and `under_review` are `submitted`. `GET /me/kyb` opens an intake when
//! there is none or the last one was rejected.
//!
//! - `customer`: `/me/kyb` · `admin`: `/admin/kyb` · `rules`: error texts

mod admin;
mod customer;
mod rules;
mod store;
mod types;

pub use admin::{admin_show, approve, list_all, reject};
pub use customer::{delete_document, show, submit, upload};
pub use types::KybStatus;
