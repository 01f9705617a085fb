//! Compliance intakes: sets of documents that the team reviews.
//!
//! An intake is opened for KYB, or for a number order whose country requires documents. The customer uploads documents
//! and submits the intake; the team approves it, rejects it or asks for more. All changes go through `lifecycle`, so
//! that a KYB decision has the same effect whether it is made here or in `kyb`.
//!
//! - `customer`: `/compliance/intakes` · `admin`: `/admin/compliance/intakes`
//! - `lifecycle`: open, upload, submit, decide · `rules`: the state table · `notify`: mail and notifications

mod admin;
mod customer;
mod lifecycle;
mod notify;
mod rules;
mod store;
mod types;

pub use admin::{admin_show, approve, list_all, list_documents, reject, request_more, review_document, start_review};
pub use customer::{delete_document, list, show, submit, upload};
pub use lifecycle::{
    INTAKE_DECIDED, IntakeDecision, close, decide, download_url, find_or_open_kyb, open_regulatory, remove_document,
    submit_intake, upload_document,
};
pub use rules::Action;
pub use store::{
    DocumentRow, IntakeRow, close_all, documents, erase_documents, find as find_intake, find_by_document_for_update,
    find_for_update as find_intake_for_update, latest_kyb, names_file,
};
pub use types::{DocumentForm, IntakeStatus, Purpose};
