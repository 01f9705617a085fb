//! From the bytes of a message to a mail: sender, subject, what the mail server says about it, and attached sheets.

use bytes::Bytes;
use mail_parser::{HeaderName, Message, MessageParser, MessagePart, MimeHeaders, PartType};

use crate::upstreams::decks::sheets::SheetFormat;
use platform::outside::files::ContentHash;
use platform::outside::mailbox::RawMessage;
use values::Email;

/// Characters that are kept of texts.
const MAX_TEXT_CHARS: usize = 300;
const AUTHENTICATION_RESULTS: &str = "Authentication-Results";

/// A mail as it was received.
#[derive(Debug)]
pub struct Mail {
    /// The hash of sender and Message-ID, or of all there is. The same message always has the same.
    pub key: ContentHash,
    pub message_id: Option<String>,
    /// The only address in the only `From`.
    pub sender: Option<Email>,
    pub subject: String,
    /// `Authentication-Results`, the topmost first.
    pub authentication: Vec<String>,
    /// The files that could be decks.
    pub sheets: Vec<AttachedSheet>,
    pub condition: Condition,
    pub size_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Complete,
    /// Only its header was read.
    TooLarge,
    /// It is no message, or a sheet in it is damaged.
    Unreadable,
}

/// A file whose name ends like that of a rate sheet.
#[derive(Debug, PartialEq, Eq)]
pub struct AttachedSheet {
    pub file_name: String,
    pub format: SheetFormat,
    pub content: Bytes,
}

impl Mail {
    pub fn read(raw: &RawMessage) -> Mail {
        let parser = MessageParser::default();
        let parsed = if raw.is_whole { parser.parse(&raw.bytes) } else { parser.parse_headers(&raw.bytes) };
        let Some(message) = parsed else { return Mail::unreadable(raw) };
        let sender = only_sender(&message);
        let message_id = message.message_id().filter(|id| !id.is_empty()).map(str::to_owned);
        let key = match &message_id {
            Some(id) => ContentHash::of(format!("{}\0{id}", sender.as_deref().unwrap_or_default()).as_bytes()),
            None => ContentHash::of(&raw.bytes),
        };
        let subject = plain(message.subject().unwrap_or_default());
        let results = message.headers_raw().filter(|(name, _)| name.eq_ignore_ascii_case(AUTHENTICATION_RESULTS));
        let authentication = results.map(|(_, value)| value.to_owned()).collect();
        let (sheets, is_damaged) = attached_sheets(message);
        let condition = match (raw.is_whole, is_damaged) {
            (false, _) => Condition::TooLarge,
            (true, true) => Condition::Unreadable,
            (true, false) => Condition::Complete,
        };
        let (message_id, size_bytes) = (message_id.map(|id| plain(&id)), raw.size_bytes);
        Mail { key, message_id, sender, subject, authentication, sheets, condition, size_bytes }
    }

    /// A message that nothing is known of.
    pub fn unreadable(raw: &RawMessage) -> Mail {
        Mail {
            key: ContentHash::of(&raw.bytes),
            message_id: None,
            sender: None,
            subject: String::new(),
            authentication: Vec::new(),
            sheets: Vec::new(),
            condition: Condition::Unreadable,
            size_bytes: raw.size_bytes,
        }
    }
}

/// Programs that check a mail and those that show it may each look at another of several senders.
fn only_sender(message: &Message<'_>) -> Option<Email> {
    let mut headers = message.header_values(HeaderName::From);
    let (only, None) = (headers.next()?, headers.next()) else { return None };
    let mut addresses = only.as_address()?.iter();
    let (only, None) = (addresses.next()?, addresses.next()) else { return None };
    only.address()?.parse().ok()
}

/// The sheets, and whether one of them is damaged.
fn attached_sheets(message: Message<'_>) -> (Vec<AttachedSheet>, bool) {
    let (mut sheets, mut is_damaged) = (Vec::new(), false);
    for part in message.parts {
        let Some((file_name, format)) = sheet_name(&part) else { continue };
        let content = match part.body {
            // A text without a charset may have been anything.
            PartType::Text(text) | PartType::Html(text) => {
                is_damaged |= text.contains(char::REPLACEMENT_CHARACTER);
                text.into_owned().into_bytes()
            }
            PartType::Binary(bytes) | PartType::InlineBinary(bytes) => bytes.into_owned(),
            PartType::Message(_) | PartType::Multipart(_) => continue,
        };
        is_damaged |= part.is_encoding_problem;
        sheets.push(AttachedSheet { file_name, format, content: content.into() });
    }
    (sheets, is_damaged)
}

fn sheet_name(part: &MessagePart<'_>) -> Option<(String, SheetFormat)> {
    let name = part.attachment_name()?;
    let name = plain(name.rsplit(['/', '\\']).next().unwrap_or_default());
    let (_, ending) = name.rsplit_once('.')?;
    let format = SheetFormat::ALL.iter().find(|format| ending.eq_ignore_ascii_case(format.as_str()))?;
    Some((name, *format))
}

/// A text in one line, and not too long.
fn plain(text: &str) -> String {
    let text: String = text.trim().chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    // The end of a file name says what it is.
    let excess = text.chars().count().saturating_sub(MAX_TEXT_CHARS);
    text.chars().skip(excess).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawMessage {
        let bytes = text.replace('\n', "\r\n").into_bytes();
        RawMessage { size_bytes: bytes.len() as u64, bytes, is_whole: true }
    }

    const MAIL: &str = "Authentication-Results: mx.us.example; dkim=pass\n header.d=carrier.example\n\
Message-ID: <1@carrier.example>\nFrom: \"Rates, Desk\" <Rates@Carrier.example>\nTo: decks@us.example\n\
Subject: =?utf-8?q?Preisliste_f=C3=BCr?= Mai\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n\
--b\nContent-Type: text/plain\n\nSee attached.\n\
--b\nContent-Type: application/octet-stream; name=\"other.txt\"\nContent-Transfer-Encoding: base64\n\
Content-Disposition: attachment; filename=\"../Mai/Rates.CSV\"\n\ncHJlZml4\n\
--b\nContent-Type: text/csv; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\
Content-Disposition: attachment; filename=more.csv\n\nT=FCrkei\n\
--b\nContent-Type: application/pdf; name=terms.pdf\nContent-Disposition: attachment\n\nPDF\n--b--\n";

    #[test]
    fn a_mail_has_its_sender_subject_and_sheets() {
        let mail = Mail::read(&raw(MAIL));
        assert_eq!(mail.sender.as_deref(), Some("rates@carrier.example"));
        assert_eq!((&*mail.subject, mail.message_id.as_deref()), ("Preisliste für Mai", Some("1@carrier.example")));
        assert_eq!(mail.condition, Condition::Complete);
        assert!(mail.authentication[0].contains("header.d=carrier.example"), "{:?}", mail.authentication);
        let sheet = |name: &str, content: &str| AttachedSheet {
            file_name: name.to_owned(),
            format: SheetFormat::Csv,
            content: Bytes::copy_from_slice(content.as_bytes()),
        };
        assert_eq!(mail.sheets, [sheet("Rates.CSV", "prefix"), sheet("more.csv", "Türkei")]);
        assert_eq!(Mail::read(&raw(&MAIL.replace("See attached", "Again"))).key, mail.key);
        assert_ne!(Mail::read(&raw(&MAIL.replace("<1@", "<2@"))).key, mail.key);
        assert_ne!(Mail::read(&raw(&MAIL.replace("Rates@", "Others@"))).key, mail.key);
    }

    #[test]
    fn several_senders_are_none() {
        for from in [
            "From: a@b.example, c@d.example",
            "From: a@b.example\nFrom: c@d.example",
            "From: nobody",
            "To: a@b.example",
        ] {
            assert_eq!(Mail::read(&raw(&format!("{from}\nSubject: x\n\nHi\n"))).sender, None, "{from}");
        }
        assert!(Mail::read(&raw("From: A <a@b.example>\n\nHi\n")).sender.is_some());
    }

    #[test]
    fn a_damaged_sheet_makes_a_mail_unreadable() {
        let cut = raw(&MAIL[..MAIL.find("cHJl").unwrap() + 3]);
        assert_eq!(Mail::read(&cut).condition, Condition::Unreadable);
        let mut unnamed = raw(&MAIL.replace("; charset=iso-8859-1", ""));
        assert_eq!(Mail::read(&unnamed).condition, Condition::Unreadable);
        unnamed.is_whole = false;
        assert_eq!(Mail::read(&unnamed).condition, Condition::TooLarge);
        let empty = RawMessage { bytes: Vec::new(), size_bytes: 0, is_whole: true };
        assert_eq!(Mail::read(&empty).condition, Condition::Unreadable);
    }

    #[test]
    fn a_mail_that_is_cut_or_changed_anywhere_can_be_read() {
        let whole = raw(MAIL);
        for at in 0..whole.bytes.len() {
            let cut = RawMessage { bytes: whole.bytes[..at].to_vec(), ..whole.clone() };
            assert!(Mail::read(&cut).sheets.len() <= 2);
            for byte in [b'-', b'"', b'\n', 0xff] {
                let mut changed = whole.clone();
                changed.bytes[at] = byte;
                assert!(Mail::read(&changed).sheets.len() <= 3);
            }
        }
    }
}
