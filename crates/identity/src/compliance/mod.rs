//! Compliance: collections of documents that the carrier must see before it may act, and their review.
//!
//! An intake is opened for a purpose, a business verification or a number order whose country demands papers. The
//! customer fills it and hands it in; the team approves it, rejects it or asks for more. `rules` holds the table of
//! states; `desk` is the one place where an intake changes, so that a business verification means the same to the
//! account whether it is decided here or under its own name in `kyb`.
//!
//! - `customer`: `/compliance/intakes` · `review`: `/admin/compliance/intakes`

mod customer;
mod desk;
mod letters;
mod review;
mod rules;
mod store;
mod types;

pub use customer::{hand_in, list, show, take_away, upload};
pub use desk::{DECIDED, Decided, close, decide, download_url, kyb_of, open_regulatory, remove, submit, take_in};
pub use review::{approve, judge_document, list_all, reject, request_more, review, show_documents, show_to_team};
pub use rules::Move;
pub use store::{
    DocumentRow, IntakeRow, documents, find as find_intake, find_by_document_to_change,
    find_to_change as find_intake_to_change, latest_kyb, names_file,
};
pub use types::{DocumentForm, IntakeStatus, Purpose};
