//! The settings of the mailbox that rate decks arrive in.

use std::time::Duration;

use super::SettingsReader;
use crate::outside::mailbox::MailboxSettings;

const MAILBOX: &str = "TRUNKLINE_DECK_MAILBOX";
const MINUTES: &str = "TRUNKLINE_DECK_MAIL_MINUTES";
const AUTHSERV: &str = "TRUNKLINE_DECK_MAIL_AUTHSERV";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeckMailSettings {
    pub mailbox: MailboxSettings,
    /// How often it is read.
    pub interval: Duration,
    /// The server whose `Authentication-Results` are believed.
    pub authserv: Option<String>,
}

impl SettingsReader {
    pub(super) fn deck_mail(&mut self) -> Option<DeckMailSettings> {
        let mailbox = self.text(MAILBOX);
        let minutes = self.within(MINUTES, 1..=1440, 5);
        let authserv = self.checked(AUTHSERV, "a host name", is_name);
        let Some(mailbox) = mailbox else {
            if authserv.is_some() {
                self.wrong(MAILBOX, "given when TRUNKLINE_DECK_MAIL_AUTHSERV is");
            }
            return None;
        };
        let Ok(mailbox) = mailbox.parse() else {
            self.wrong(MAILBOX, "maildir:///path, or imaps://user:password@host:port/folder with an ASCII folder");
            return None;
        };
        Some(DeckMailSettings { mailbox, interval: Duration::from_secs(60 * minutes as u64), authserv })
    }
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{ConfigError, Settings};

    fn deck_mail(names: &[(&str, &str)]) -> Result<Option<DeckMailSettings>, ConfigError> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Ok(Settings::from_names(names, BTreeMap::new())?.deck_mail)
    }

    #[test]
    fn decks_arrive_by_mail_only_with_a_mailbox() {
        assert_eq!(deck_mail(&[]).unwrap(), None);
        let set = [(MAILBOX, "maildir:///srv/mail"), (MINUTES, "1"), (AUTHSERV, "mx.carrier.example")];
        let read = deck_mail(&set).unwrap().unwrap();
        assert_eq!((read.interval.as_secs(), read.authserv.as_deref()), (60, Some("mx.carrier.example")));
        for wrong in
            [&set[2..], &[(MAILBOX, "imaps://me:hunter2@")], &[set[0], (MINUTES, "0")], &[set[0], (AUTHSERV, "a b")]]
        {
            let error = deck_mail(wrong).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
