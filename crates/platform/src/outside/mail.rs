//! Letters to people: one addressee each, in plain text and in HTML, of which the reader's program shows one.
//!
//! A letter carries the id of the work that sends it. The id becomes the Message-ID and, in the outbox, the file
//! name, so a delivery that is repeated after a crash is recognised as the same letter.
//!
//! An error says whether trying again can help: a server that is down or does not know us today may do so
//! tomorrow, an addressee it refuses stays refused.

mod outbox;
mod smtp;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use lettre::message::{Mailbox, MultiPart, MultiPartKind, SinglePart};
use lettre::{Address, Message};
use uuid::Uuid;

use outbox::Outbox;
use smtp::Smtp;
use values::Time;

/// The last second a mail's date can name: the end of the year 9999.
const LAST_DATE_MS: i64 = 253_402_300_799_000;

pub struct Letter {
    pub id: Uuid,
    pub to: String,
    pub subject: String,
    pub text: String,
    pub html: String,
}

/// Where letters go. An SMTP URL may hold a password, hence no derived `Debug`.
#[derive(Clone)]
pub enum MailSettings {
    /// One `.eml` file per letter in this folder.
    File { outbox: PathBuf },
    /// `smtp://user:password@host:port`, encrypted when the server offers it and always with `?tls=required`;
    /// `smtps://…` is encrypted from the first byte.
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
    /// Trying again later can help.
    Temporary(String),
    /// The same letter will fail the same way.
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
            MailError::Temporary(reason) => write!(f, "mail not delivered for now: {reason}"),
            MailError::Permanent(reason) => write!(f, "mail cannot be delivered: {reason}"),
        }
    }
}

impl std::error::Error for MailError {}

#[derive(Clone)]
pub struct Mailer {
    from: Mailbox,
    way: Way,
}

#[derive(Clone)]
enum Way {
    Outbox(Arc<Outbox>),
    Smtp(Arc<Smtp>),
}

impl Mailer {
    /// `from` is the sender of every letter, such as `Trunkline <noreply@example.com>`.
    pub fn open(settings: &MailSettings, from: &str) -> Result<Mailer, MailError> {
        let from = from.parse().map_err(|_| {
            MailError::Permanent(format!("the sender {from:?} is no mail address such as A <a@b.example>"))
        })?;
        let way = match settings {
            MailSettings::File { outbox } => Way::Outbox(Arc::new(Outbox::open(outbox)?)),
            MailSettings::Smtp { url } => Way::Smtp(Arc::new(Smtp::open(url)?)),
        };
        Ok(Mailer { from, way })
    }

    /// Hands the letter over; on `Ok` it is on the disk, or the mail server has taken it on. `at` becomes its date.
    pub async fn deliver(&self, letter: &Letter, at: Time) -> Result<(), MailError> {
        let message = self.compose(letter, at)?;
        match &self.way {
            Way::Outbox(outbox) => outbox.deliver(letter.id, message.formatted()).await,
            Way::Smtp(smtp) => smtp.deliver(&message).await,
        }
    }

    fn compose(&self, letter: &Letter, at: Time) -> Result<Message, MailError> {
        let to: Address =
            letter.to.parse().map_err(|_| MailError::Permanent("the addressee is no valid mail address".to_owned()))?;
        let date_ms = at.millis().clamp(0, LAST_DATE_MS).unsigned_abs();
        Message::builder()
            .from(self.from.clone())
            .to(to.into())
            .subject(one_line(&letter.subject))
            .date(UNIX_EPOCH + Duration::from_millis(date_ms))
            .message_id(Some(format!("<{}@{}>", letter.id, self.from.email.domain())))
            .multipart(bodies(letter))
            .map_err(|error| MailError::Permanent(error.to_string()))
    }
}

/// The best comes last, as readers expect. The id separates the two, so a letter composed twice is the same text.
fn bodies(letter: &Letter) -> MultiPart {
    MultiPart::builder()
        .kind(MultiPartKind::Alternative)
        .boundary(letter.id)
        .singlepart(SinglePart::plain(letter.text.clone()))
        .singlepart(SinglePart::html(letter.html.clone()))
}

/// The name in a sender such as `Trunkline <noreply@example.com>`, if it has one.
pub fn sender_name(from: &str) -> Option<String> {
    from.parse::<Mailbox>().ok()?.name
}

/// A line break in a subject would begin a header of its own.
fn one_line(subject: &str) -> String {
    subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn mailer() -> (tempfile::TempDir, Mailer) {
        let folder = tempfile::tempdir().unwrap();
        let settings = MailSettings::File { outbox: folder.path().join("outbox") };
        let mailer = Mailer::open(&settings, "Trunkline <noreply@trunkline.example>").unwrap();
        (folder, mailer)
    }

    fn letter(to: &str, subject: &str) -> Letter {
        let (to, subject) = (to.to_owned(), subject.to_owned());
        Letter { id: Uuid::from_u128(7), to, subject, text: "Hello".to_owned(), html: "<p>Hello</p>".to_owned() }
    }

    proptest! {
        #[test]
        fn no_subject_adds_a_header(subject in "(\\PC|\r|\n|\u{0}|\u{2028}){0,120}") {
            let (_folder, mailer) = mailer();
            let message = mailer.compose(&letter("a@b.example", &subject), Time::from_millis(0)).unwrap().formatted();
            let text = String::from_utf8(message).unwrap();
            let (head, _) = text.split_once("\r\n\r\n").unwrap();
            let names: Vec<_> = head
                .split("\r\n")
                .filter(|line| !line.starts_with([' ', '\t']))
                .map(|line| line.split(':').next().unwrap())
                .collect();
            prop_assert_eq!(names, ["From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type"]);
        }
    }

    #[test]
    fn an_addressee_that_is_no_address_is_refused_for_good() {
        let (_folder, mailer) = mailer();
        for to in ["", "nobody", "a@b.example\r\nRCPT TO:<c@d.example>", "\"a\r\nb\"@c.example", "A <a@b.example>"] {
            assert!(mailer.compose(&letter(to, "Hi"), Time::from_millis(0)).unwrap_err().is_permanent(), "{to:?}");
        }
    }

    #[test]
    fn the_date_of_a_letter_stays_within_what_a_mail_can_name() {
        let (_folder, mailer) = mailer();
        for at in [i64::MIN, -1, i64::MAX] {
            assert!(mailer.compose(&letter("a@b.example", "Hi"), Time::from_millis(at)).is_ok());
        }
    }

    #[test]
    fn settings_never_show_a_password() {
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
