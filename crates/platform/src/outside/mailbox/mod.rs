//! A mailbox that mail is read from: a maildir, or a folder of an IMAP server.
//!
//! Messages are read one at a time, oldest first, and marked as seen after they were handled; none is deleted. A message
//! that was handled but not marked is read again, so whoever handles messages must recognise them.

mod imap;
mod maildir;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use db::assert_no_connection_held;
pub use imap::{Encryption, ImapSettings};
use imap::{Imap, ImapSession};
use maildir::Maildir;

/// The largest message that is read as a whole.
pub const MAX_MESSAGE_BYTES: u64 = 64 << 20;
/// How much is read of a larger one: its header.
const MAX_HEADER_BYTES: u64 = 256 << 10;

/// Where the mailbox is. An IMAP URL contains a password, hence no derived `Debug` in `ImapSettings`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailboxSettings {
    /// `maildir:///path`
    Maildir(PathBuf),
    /// `imaps://user:password@host:port/folder` uses TLS from the start; `imap://…` demands STARTTLS, except on loopback
    /// without `?tls=required`.
    Imap(ImapSettings),
}

impl FromStr for MailboxSettings {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.strip_prefix("maildir://") {
            Some(path) if path.starts_with('/') => Ok(MailboxSettings::Maildir(path.into())),
            Some(_) => Err(()),
            None => text.parse().map(MailboxSettings::Imap),
        }
    }
}

/// Why the mailbox cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailboxError(pub String);

impl fmt::Display for MailboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MailboxError {}

/// The name of a message in its mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageName(String);

/// A message as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawMessage {
    /// The whole message, or the beginning of one that is larger than [`MAX_MESSAGE_BYTES`].
    pub bytes: Vec<u8>,
    /// The size of the whole message.
    pub size_bytes: u64,
    pub is_whole: bool,
}

pub struct Mailbox(Kind);

enum Kind {
    Maildir(Maildir),
    Imap(Imap),
}

impl Mailbox {
    pub fn new(settings: &MailboxSettings) -> Result<Mailbox, MailboxError> {
        Ok(Mailbox(match settings {
            MailboxSettings::Maildir(folder) => Kind::Maildir(Maildir::new(folder)),
            MailboxSettings::Imap(settings) => Kind::Imap(Imap::new(settings)?),
        }))
    }

    pub async fn open(&self) -> Result<Session, MailboxError> {
        assert_no_connection_held();
        Ok(match &self.0 {
            Kind::Maildir(maildir) => Session::Maildir(maildir.open().await?),
            Kind::Imap(imap) => Session::Imap(Box::new(imap.open().await?)),
        })
    }
}

/// An open mailbox.
pub enum Session {
    Maildir(Maildir),
    Imap(Box<ImapSession>),
}

impl Session {
    /// The names of unseen messages, oldest first.
    pub async fn unseen(&mut self, limit: usize) -> Result<Vec<MessageName>, MailboxError> {
        assert_no_connection_held();
        let names = match self {
            Session::Maildir(maildir) => maildir.unseen(limit).await?,
            Session::Imap(imap) => imap.unseen(limit).await?,
        };
        Ok(names.into_iter().map(MessageName).collect())
    }

    /// A message, or none if it is gone by now.
    pub async fn fetch(&mut self, MessageName(name): &MessageName) -> Result<Option<RawMessage>, MailboxError> {
        assert_no_connection_held();
        match self {
            Session::Maildir(maildir) => maildir.fetch(name).await,
            Session::Imap(imap) => imap.fetch(name).await,
        }
    }

    pub async fn mark_seen(&mut self, MessageName(name): &MessageName) -> Result<(), MailboxError> {
        assert_no_connection_held();
        match self {
            Session::Maildir(maildir) => maildir.mark_seen(name).await,
            Session::Imap(imap) => imap.mark_seen(name).await,
        }
    }

    pub async fn close(self) {
        if let Session::Imap(imap) = self {
            imap.close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_is_a_maildir_or_an_imap_folder() {
        assert_eq!("maildir:///srv/mail".parse(), Ok(MailboxSettings::Maildir("/srv/mail".into())));
        assert!(matches!("imaps://a:b@mail.example".parse(), Ok(MailboxSettings::Imap(_))));
        for wrong in ["maildir://mail", "maildir:/srv/mail", "/srv/mail", "pop3://a:b@mail.example", ""] {
            assert_eq!(wrong.parse::<MailboxSettings>(), Err(()), "{wrong}");
        }
    }
}
