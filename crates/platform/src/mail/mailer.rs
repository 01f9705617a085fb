//! Composes a message with a plain-text and an HTML body, and delivers it.
//!
//! The id of the job that sends a message becomes its Message-ID and its file name in the outbox, so a delivery that is
//! repeated after a crash is recognised as the same message. An error says whether a retry can help: a server that is
//! down may be up later, a recipient that it refuses stays refused.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use lettre::message::header::{ContentTransferEncoding, ContentType};
use lettre::message::{Attachment as MimeAttachment, Body, Mailbox, MultiPart, MultiPartKind, SinglePart};
use lettre::{Address, Message as MimeMessage};
use uuid::Uuid;

use super::outbox::Outbox;
use super::smtp::Smtp;
use db::assert_no_connection_held;
use values::Time;

/// The latest date that fits a mail header: the end of the year 9999.
const MAX_DATE_MS: i64 = 253_402_300_799_000;

/// A mail that is ready to be sent.
pub struct Message {
    pub id: Uuid,
    pub to: String,
    pub subject: String,
    pub text: String,
    pub html: String,
    pub attachments: Vec<AttachedFile>,
}

/// A file that goes with a message.
pub struct AttachedFile {
    pub file_name: String,
    pub content_type: String,
    pub bytes: Vec<u8>,
}

/// How mail is delivered. An SMTP URL may contain a password, hence no derived `Debug`.
#[derive(Clone)]
pub enum MailSettings {
    /// One `.eml` file per mail in this folder.
    File { outbox: PathBuf },
    /// `smtp://user:password@host:port` uses STARTTLS if the server offers it, and always with `?tls=required`;
    /// `smtps://…` uses TLS from the start.
    Smtp { url: String },
}

impl fmt::Debug for MailSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MailSettings::File { outbox } => f.debug_struct("File").field("outbox", outbox).finish(),
            MailSettings::Smtp { .. } => f.debug_struct("Smtp").finish_non_exhaustive(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailError {
    /// A retry can help.
    Temporary(String),
    /// A retry would fail the same way.
    Permanent(String),
}

impl MailError {
    pub fn is_permanent(&self) -> bool {
        matches!(self, MailError::Permanent(_))
    }
}

impl fmt::Display for MailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MailError::Temporary(reason) => write!(f, "mail not delivered, will be retried: {reason}"),
            MailError::Permanent(reason) => write!(f, "mail cannot be delivered: {reason}"),
        }
    }
}

impl std::error::Error for MailError {}

#[derive(Clone)]
pub struct Mailer {
    from: Mailbox,
    transport: Transport,
}

#[derive(Clone)]
enum Transport {
    Outbox(Arc<Outbox>),
    Smtp(Arc<Smtp>),
}

impl Mailer {
    /// `from` is the sender of every mail, such as `Trunkline <noreply@example.com>`.
    pub fn open(settings: &MailSettings, from: &str) -> Result<Mailer, MailError> {
        let from = from.parse().map_err(|_| {
            MailError::Permanent(format!("the sender {from:?} is not a mail address such as A <a@b.example>"))
        })?;
        let transport = match settings {
            MailSettings::File { outbox } => Transport::Outbox(Arc::new(Outbox::open(outbox)?)),
            MailSettings::Smtp { url } => Transport::Smtp(Arc::new(Smtp::open(url)?)),
        };
        Ok(Mailer { from, transport })
    }

    /// Delivers a message: on `Ok` the mail server has accepted it, or it is on disk. `at` becomes its date.
    pub async fn deliver(&self, message: &Message, at: Time) -> Result<(), MailError> {
        assert_no_connection_held();
        let composed = self.compose(message, at)?;
        match &self.transport {
            Transport::Outbox(outbox) => outbox.deliver(message.id, composed.formatted()).await,
            Transport::Smtp(smtp) => smtp.deliver(&composed).await,
        }
    }

    /// Whether mail would be accepted: signs in to the mail server and sends nothing.
    pub async fn check(&self) -> Result<(), MailError> {
        assert_no_connection_held();
        match &self.transport {
            Transport::Outbox(_) => Ok(()),
            Transport::Smtp(smtp) => smtp.check().await,
        }
    }

    fn compose(&self, message: &Message, at: Time) -> Result<MimeMessage, MailError> {
        let to: Address = message
            .to
            .parse()
            .map_err(|_| MailError::Permanent("the recipient is not a valid mail address".to_owned()))?;
        let date_ms = at.millis().clamp(0, MAX_DATE_MS).unsigned_abs();
        MimeMessage::builder()
            .from(self.from.clone())
            .to(to.into())
            .subject(one_line(&message.subject))
            .date(UNIX_EPOCH + Duration::from_millis(date_ms))
            .message_id(Some(format!("<{}@{}>", message.id, self.from.email.domain())))
            .multipart(parts(message))
            .map_err(|error| MailError::Permanent(error.to_string()))
    }
}

/// The bodies, and after them the attachments.
fn parts(message: &Message) -> MultiPart {
    let bodies = bodies(message);
    if message.attachments.is_empty() {
        return bodies;
    }
    let mixed = MultiPart::builder().kind(MultiPartKind::Mixed).boundary(format!("{}-with-file", message.id));
    message.attachments.iter().fold(mixed.multipart(bodies), |mixed, file| mixed.singlepart(part(file)))
}

/// In Base64, so that line ends and characters arrive as they are.
fn part(file: &AttachedFile) -> SinglePart {
    let content_type = file.content_type.parse().unwrap_or(ContentType::TEXT_PLAIN);
    let body = Body::new_with_encoding(file.bytes.clone(), ContentTransferEncoding::Base64);
    MimeAttachment::new(file.file_name.clone()).body(body.unwrap_or_else(Body::new), content_type)
}

/// HTML comes last: programs show the last body they support. The boundary is the id, so that composing a message again
/// yields the same bytes.
fn bodies(message: &Message) -> MultiPart {
    MultiPart::builder()
        .kind(MultiPartKind::Alternative)
        .boundary(message.id)
        .singlepart(SinglePart::plain(message.text.clone()))
        .singlepart(SinglePart::html(message.html.clone()))
}

/// The name in a sender such as `Trunkline <noreply@example.com>`, if it has one.
pub fn sender_name(from: &str) -> Option<String> {
    from.parse::<Mailbox>().ok()?.name
}

/// A line break in a subject would start another header.
fn one_line(subject: &str) -> String {
    subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use proptest::prelude::*;

    use super::*;

    fn mailer() -> (tempfile::TempDir, Mailer) {
        let folder = tempfile::tempdir().unwrap();
        let settings = MailSettings::File { outbox: folder.path().join("outbox") };
        let mailer = Mailer::open(&settings, "Trunkline <noreply@trunkline.example>").unwrap();
        (folder, mailer)
    }

    fn message(to: &str, subject: &str) -> Message {
        let (to, subject) = (to.to_owned(), subject.to_owned());
        Message {
            id: Uuid::from_u128(7),
            to,
            subject,
            text: "Hello".to_owned(),
            html: "<p>Hello</p>".to_owned(),
            attachments: Vec::new(),
        }
    }

    proptest! {
        #[test]
        fn no_subject_adds_a_header(subject in "(\\PC|\r|\n|\u{0}|\u{2028}){0,120}") {
            let (_folder, mailer) = mailer();
            let composed = mailer.compose(&message("a@b.example", &subject), Time::from_millis(0)).unwrap().formatted();
            let text = String::from_utf8(composed).unwrap();
            let (headers, _) = text.split_once("\r\n\r\n").unwrap();
            let names: Vec<_> = headers
                .split("\r\n")
                .filter(|line| !line.starts_with([' ', '\t']))
                .map(|line| line.split(':').next().unwrap())
                .collect();
            prop_assert_eq!(names, ["From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type"]);
        }
    }

    #[test]
    fn an_invalid_recipient_is_a_permanent_error() {
        let (_folder, mailer) = mailer();
        for to in ["", "nobody", "a@b.example\r\nRCPT TO:<c@d.example>", "\"a\r\nb\"@c.example", "A <a@b.example>"] {
            assert!(mailer.compose(&message(to, "Hi"), Time::from_millis(0)).unwrap_err().is_permanent(), "{to:?}");
        }
    }

    #[test]
    fn attachments_follow_the_bodies_in_base64() {
        let (_folder, mailer) = mailer();
        let file = |file_name: &str, content_type: &str, bytes: &[u8]| AttachedFile {
            file_name: file_name.to_owned(),
            content_type: content_type.to_owned(),
            bytes: bytes.to_vec(),
        };
        // A lone line feed and a byte that is no text arrive as they are.
        let csv = file("rates.csv", "text/csv; charset=utf-8", b"a,b\n1,2\n");
        let book = file("rates.xlsx", "application/octet-stream", &[0, 255, b'\n']);
        let message = Message { attachments: vec![csv, book], ..message("a@b.example", "Hi") };
        let text = String::from_utf8(mailer.compose(&message, Time::EPOCH).unwrap().formatted()).unwrap();
        let (headers, parts) = text.split_once("\r\n\r\n").unwrap();
        assert!(headers.contains("Content-Type: multipart/mixed"), "{headers}");
        let positions: Vec<usize> =
            ["multipart/alternative", "<p>Hello</p>", "rates.csv", "YSxiCjEsMgo=", "rates.xlsx", "AP8K"]
                .iter()
                .map(|part| parts.find(part).unwrap_or_else(|| panic!("{part}: {parts}")))
                .collect();
        assert!(positions.is_sorted(), "{parts}");
        assert_eq!(parts.matches("Content-Transfer-Encoding: base64").count(), 2);
        assert_eq!(parts.matches("Content-Disposition: attachment").count(), 2);
    }

    #[test]
    fn a_date_out_of_range_is_clamped() {
        let (_folder, mailer) = mailer();
        for at in [i64::MIN, -1, i64::MAX] {
            assert!(mailer.compose(&message("a@b.example", "Hi"), Time::from_millis(at)).is_ok());
        }
    }

    #[test]
    fn a_password_in_the_url_is_never_shown() {
        let settings = MailSettings::Smtp { url: "smtp://me:hunter2@mail.example".to_owned() };
        assert!(!format!("{settings:?}").contains("hunter2"));
        for url in [
            "smtp//me:hunter2@mail.example",
            "ftp://me:hunter2@mail.example",
            "smtp://me:hunter2@h:port",
            "smtp://hunter2@h",
        ] {
            let settings = MailSettings::Smtp { url: url.to_owned() };
            let error = Mailer::open(&settings, "a@b.example").err().unwrap();
            assert!(error.is_permanent());
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }
}
