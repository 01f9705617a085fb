//! The settings of outgoing mail: where it goes, and its sender.

use std::net::IpAddr;

use hyper::Uri;
use lettre::message::Mailbox;
use lettre::transport::smtp::{SUBMISSION_PORT, SUBMISSIONS_PORT};
use percent_encoding::percent_decode_str;

use super::SettingsReader;

/// A mail server as a URL names it. It may have a password, hence no `Debug`.
pub struct SmtpServer {
    pub host: String,
    pub port: u16,
    /// Whether the server is on loopback, where nobody can listen in.
    pub is_local: bool,
    pub encryption: SmtpEncryption,
    /// User and password.
    pub credentials: Option<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SmtpEncryption {
    Tls,
    StartTls,
    StartTlsIfOffered,
}

impl SmtpServer {
    /// The form of the URL.
    pub const FORM: &'static str = "smtp://user:password@host:port (?tls=required, ?tls=opportunistic) or \
                            smtps://user:password@host:port";

    /// Says nothing of what is wrong: it could quote the password.
    pub fn parse(url: &str) -> Option<SmtpServer> {
        let uri: Uri = url.parse().ok()?;
        let authority = uri.authority().filter(|authority| !authority.host().is_empty())?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_local = is_local(&host);
        let encryption = match (uri.scheme_str(), uri.query()) {
            (Some("smtps"), None) => SmtpEncryption::Tls,
            (Some("smtp"), Some("tls=opportunistic")) => SmtpEncryption::StartTlsIfOffered,
            (Some("smtp"), None) if is_local => SmtpEncryption::StartTlsIfOffered,
            (Some("smtp"), None | Some("tls=required")) => SmtpEncryption::StartTls,
            _ => return None,
        };
        let (credentials, server) = match authority.as_str().rsplit_once('@') {
            Some((user_info, server)) => (Some(credentials(user_info)?), server),
            None => (None, authority.as_str()),
        };
        let port = match server.strip_prefix(authority.host()).and_then(|rest| rest.strip_prefix(':')) {
            Some(port) => port.parse().ok()?,
            None if encryption == SmtpEncryption::Tls => SUBMISSIONS_PORT,
            None => SUBMISSION_PORT,
        };
        Some(SmtpServer { host, port, is_local, encryption, credentials })
    }
}

fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

fn credentials(user_info: &str) -> Option<(String, String)> {
    let (user, password) = user_info.split_once(':')?;
    let decode = |text| percent_decode_str(text).decode_utf8().ok().map(|text| text.into_owned());
    Some((decode(user)?, decode(password)?))
}

impl SettingsReader {
    pub(super) fn mail(&mut self) -> String {
        let expected = format!("file, {}", SmtpServer::FORM);
        self.checked("TRUNKLINE_MAIL", &expected, is_mail).unwrap_or_else(|| "file".to_owned())
    }

    pub(super) fn mail_from(&mut self) -> String {
        let expected = "a mail address such as Trunkline <no-reply@operator.example>";
        let sender = self.checked("TRUNKLINE_MAIL_FROM", expected, |text| text.parse::<Mailbox>().is_ok());
        sender.unwrap_or_else(|| "Trunkline <no-reply@trunkline.invalid>".to_owned())
    }
}

fn is_mail(text: &str) -> bool {
    text == "file" || SmtpServer::parse(text).is_some()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{ConfigError, Settings};

    fn settings(name: &str, value: &str) -> Result<Settings, ConfigError> {
        Settings::from_names(BTreeMap::from([(name.to_owned(), value.to_owned())]), BTreeMap::new())
    }

    #[test]
    fn a_mail_server_has_a_port_and_an_encryption() {
        let server = |url: &str| {
            let server = SmtpServer::parse(url).unwrap();
            (server.host, server.port, server.encryption == SmtpEncryption::StartTls, server.credentials.is_some())
        };
        assert_eq!(server("smtp://mail.example"), ("mail.example".to_owned(), 587, true, false));
        assert_eq!(server("smtps://me:p%40ss@mail.example"), ("mail.example".to_owned(), 465, false, true));
        assert_eq!(server("smtp://[::1]:25"), ("::1".to_owned(), 25, false, false));
        let (user, password) = SmtpServer::parse("smtp://me:p%40ss@h").unwrap().credentials.unwrap();
        assert_eq!((user.as_str(), password.as_str()), ("me", "p@ss"));
    }

    #[test]
    fn a_mail_setting_that_could_not_be_used_is_refused_by_name() {
        for (name, value) in [
            ("TRUNKLINE_MAIL", "smtp://h:99999"),
            ("TRUNKLINE_MAIL", "smtp://me:hunter2@h:port"),
            ("TRUNKLINE_MAIL", "smtp://hunter2@h"),
            ("TRUNKLINE_MAIL", "smtp://h?tls=perhaps"),
            ("TRUNKLINE_MAIL", "smtp://"),
            ("TRUNKLINE_MAIL", "http://h"),
            ("TRUNKLINE_MAIL_FROM", "not a mail"),
            ("TRUNKLINE_MAIL_FROM", "Trunkline"),
        ] {
            let error = settings(name, value).unwrap_err().0;
            assert_eq!(error.len(), 1, "{error:?}");
            assert!(error[0].starts_with(&format!("{name} must be ")) && !error[0].contains("hunter2"), "{error:?}");
        }
        for (name, value) in [
            ("TRUNKLINE_MAIL", "file"),
            ("TRUNKLINE_MAIL", "smtp://127.0.0.1:1?tls=required"),
            ("TRUNKLINE_MAIL_FROM", "voice@operator.example"),
            ("TRUNKLINE_MAIL_FROM", "Example & Sons <voice@operator.example>"),
        ] {
            settings(name, value).unwrap();
        }
    }
}
