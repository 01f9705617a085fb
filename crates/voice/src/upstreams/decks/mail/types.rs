//! Decks by mail in the API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::{FileRow, MailRow};
use crate::upstreams::decks::sheets::SheetFormat;
use crate::upstreams::decks::types::{DeckImportId, DeckImportStatus, ImportMode};
use values::{Email, Rfc3339, Text, UpstreamId, id, text_enum};

id! {
    /// Id of a deck mail.
    pub struct DeckMailId;
}

text_enum! {
    /// What became of a mail: `accepted` (its decks are imported), `ignored` (it brings no deck) or `refused`.
    pub enum DeckMailOutcome {
        Accepted = "accepted",
        Ignored = "ignored",
        Refused = "refused",
    }
}

text_enum! {
    /// Why a mail was ignored (`subject`, `no_deck`) or refused: `no_sender` has not exactly one sender,
    /// `unknown_sender` is allowed for no upstream, `sender_not_allowed` is an address of an allowed sender's domain,
    /// `several_upstreams` fits more than one upstream, `not_authenticated` may be forged, and the others are about size
    /// and form.
    pub enum DeckMailReason {
        Subject = "subject",
        NoDeck = "no_deck",
        NoSender = "no_sender",
        UnknownSender = "unknown_sender",
        SenderNotAllowed = "sender_not_allowed",
        SeveralUpstreams = "several_upstreams",
        NotAuthenticated = "not_authenticated",
        TooLarge = "too_large",
        TooManyDecks = "too_many_decks",
        Unreadable = "unreadable",
    }
}

text_enum! {
    /// Kind of a mailbox.
    pub enum MailboxKind {
        Maildir = "maildir",
        Imap = "imap",
    }
}

/// Which mail brings rate decks of an upstream.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeckMailPolicy {
    /// Addresses whose mail is accepted.
    pub senders: Vec<Email>,
    /// Text that the subject contains, in any letter case; null for any subject.
    pub subject_contains: Option<Text<1, 100>>,
    /// Formats of attachments that are imported, by the ending of their file names.
    pub file_types: Vec<SheetFormat>,
    /// Text that their file names contain, in any letter case; null for any name.
    pub file_name_contains: Option<Text<1, 100>>,
    /// What happens to prefixes that a deck does not name.
    pub mode: ImportMode,
    /// Whether decks are imported although the mail server does not say that the sender is genuine; otherwise they are
    /// held.
    pub trust_senders: bool,
}

/// Which mail brings rate decks of an upstream, to be set.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeckMailPolicyUpdate {
    /// Addresses whose mail is accepted.
    #[schemars(length(min = 1, max = 20))]
    senders: Vec<Email>,
    /// Text that the subject contains, in any letter case; any subject if left out.
    #[serde(default)]
    subject_contains: Option<Text<1, 100>>,
    /// Formats of attachments that are imported, by the ending of their file names; both if left out.
    #[serde(default = "all_types")]
    #[schemars(length(min = 1, max = 2))]
    file_types: Vec<SheetFormat>,
    /// Text that their file names contain, in any letter case; any name if left out.
    #[serde(default)]
    file_name_contains: Option<Text<1, 100>>,
    /// What happens to prefixes that a deck does not name: their rates end (`replace`, the default) or stay (`merge`).
    #[serde(default)]
    mode: Option<ImportMode>,
    /// Import decks although the mail server does not say that the sender is genuine. By default they are held.
    #[serde(default)]
    trust_senders: bool,
}

fn all_types() -> Vec<SheetFormat> {
    SheetFormat::ALL.to_vec()
}

impl From<DeckMailPolicyUpdate> for DeckMailPolicy {
    fn from(update: DeckMailPolicyUpdate) -> DeckMailPolicy {
        DeckMailPolicy {
            senders: update.senders,
            subject_contains: update.subject_contains,
            file_types: update.file_types,
            file_name_contains: update.file_name_contains,
            mode: update.mode.unwrap_or(ImportMode::Replace),
            trust_senders: update.trust_senders,
        }
    }
}

/// Filters for the list of deck mails.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeckMailFilters {
    /// Return mail that counts for this upstream only.
    #[serde(default)]
    pub upstream_id: Option<UpstreamId>,
    /// Return mail with this outcome only.
    #[serde(default)]
    pub outcome: Option<DeckMailOutcome>,
}

/// A mail that was read from the deck mailbox.
#[derive(Serialize, JsonSchema)]
pub struct DeckMail {
    /// Id of the mail.
    pub id: DeckMailId,
    /// Upstream that the mail counts for; null if it counts for none.
    pub upstream_id: Option<UpstreamId>,
    /// Name of the upstream.
    pub upstream_name: Option<String>,
    /// Address in the mail's `From`; null if there is not exactly one.
    pub sender: Option<Email>,
    /// Whether the mail server said that the sender is genuine.
    pub sender_verified: bool,
    /// Subject of the mail.
    pub subject: String,
    /// The mail's `Message-ID`; null if it has none.
    pub message_id: Option<String>,
    /// Size of the mail in bytes.
    pub size_bytes: i64,
    /// What became of the mail.
    pub outcome: DeckMailOutcome,
    /// Why the mail was ignored or refused; null if it was accepted.
    pub reason: Option<DeckMailReason>,
    /// The decks in an accepted mail.
    pub files: Vec<DeckMailFile>,
    /// When the mail was read (RFC 3339, UTC).
    pub received_at: Rfc3339,
}

impl DeckMail {
    pub fn new(row: MailRow, upstream_name: Option<String>, files: Vec<DeckMailFile>) -> DeckMail {
        DeckMail {
            id: row.id,
            upstream_id: row.upstream_id,
            upstream_name,
            sender: row.sender,
            sender_verified: row.sender_verified,
            subject: row.subject,
            message_id: row.message_id,
            size_bytes: row.size_bytes,
            outcome: row.outcome,
            reason: row.reason,
            files,
            received_at: Rfc3339(row.created_at),
        }
    }
}

/// A rate deck that arrived by mail.
#[derive(Serialize, JsonSchema)]
pub struct DeckMailFile {
    /// Name of the file.
    pub file_name: String,
    /// Size of the file in bytes.
    pub size_bytes: i64,
    /// Import of the file.
    pub import_id: DeckImportId,
    /// Status of the import now; null if the import was deleted with its upstream.
    pub import_status: Option<DeckImportStatus>,
    /// Number of errors in the file.
    pub error_count: i64,
}

impl From<FileRow> for DeckMailFile {
    fn from(row: FileRow) -> DeckMailFile {
        DeckMailFile {
            file_name: row.file_name,
            size_bytes: row.size_bytes,
            import_id: row.import_id,
            import_status: row.status,
            error_count: row.error_count,
        }
    }
}

/// The mailbox that rate decks arrive in.
#[derive(Serialize, JsonSchema)]
pub struct DeckMailbox {
    /// Kind of the mailbox; null if none is configured.
    pub kind: Option<MailboxKind>,
    /// Whether the mail server says which senders are genuine (`TRUNKLINE_DECK_MAIL_AUTHSERV`); otherwise decks are held
    /// unless their upstream trusts its senders.
    pub verifies_senders: bool,
    /// When the mailbox was last read (RFC 3339, UTC); null before the first time.
    pub polled_at: Option<Rfc3339>,
    /// Since when it cannot be read (RFC 3339, UTC); null if it can.
    pub failed_since: Option<Rfc3339>,
    /// Why it cannot be read; null if it can.
    pub failure: Option<String>,
}
