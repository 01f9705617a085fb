//! Mail: templates, the mail queue and delivery.
//!
//! A feature fills in one of the [`templates`] and calls [`send`] in the transaction of its change. That renders the
//! mail and enqueues a job; the job delivers it after the commit, over SMTP or into the outbox folder.
//!
//! - `templates`: every mail with its subject, and a sample for `trunkline mail preview`. The texts are in
//!   `crates/platform/mail/`, an HTML and a plain-text template for each, compiled in.
//! - `queue`: renders, encrypts and enqueues a mail, and the job that sends it
//! - `mailer`: composes the MIME message · `smtp`, `outbox`: deliver it
//! - `recipient`: whom a mail is for, and the name that is safe to greet

mod mailer;
mod outbox;
mod preview;
mod queue;
mod recipient;
mod smtp;
mod templates;

pub use mailer::{AttachedFile, MailError, MailSettings, Mailer, Message};
pub use preview::preview;
pub use queue::{MAX_ATTACHED_BYTES, MailQueue, SEND, reseal, send, send_job, send_with};
pub use recipient::{Recipient, safe_name};
pub use templates::*;
