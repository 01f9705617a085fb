//! Where the folder is, and how to sign in: an IMAP URL.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use reqwest::Url;

const IMAP_PORT: u16 = 143;
const IMAPS_PORT: u16 = 993;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// TLS from the start.
    Tls,
    StartTls,
    /// On loopback only, where nobody can listen in.
    None,
}

/// The parts of an IMAP URL. It has a password, hence no derived `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct ImapSettings {
    pub host: String,
    pub port: u16,
    pub encryption: Encryption,
    pub user: String,
    pub password: String,
    /// In ASCII.
    pub folder: String,
}

impl fmt::Debug for ImapSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ImapSettings { host, port, encryption, folder, .. } = self;
        let mut shown = f.debug_struct("ImapSettings");
        shown.field("host", host).field("port", port).field("encryption", encryption).field("folder", folder);
        shown.finish_non_exhaustive()
    }
}

impl FromStr for ImapSettings {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let url = Url::parse(text).map_err(|_| ())?;
        let host = url.host_str().ok_or(())?.trim_start_matches('[').trim_end_matches(']').to_owned();
        let (encryption, port) = match (url.scheme(), url.query()) {
            ("imaps", None) => (Encryption::Tls, IMAPS_PORT),
            ("imap", None) if is_loopback(&host) => (Encryption::None, IMAP_PORT),
            ("imap", None | Some("tls=required")) => (Encryption::StartTls, IMAP_PORT),
            _ => return Err(()),
        };
        let decode = |text: &str| {
            let text = percent_decode_str(text).decode_utf8().map_err(|_| ())?.into_owned();
            if text.is_empty() || text.contains(char::is_control) { Err(()) } else { Ok(text) }
        };
        let folder = match url.path() {
            "" | "/" => "INBOX".to_owned(),
            path => decode(path.trim_start_matches('/'))?,
        };
        let (user, password) = (decode(url.username())?, decode(url.password().ok_or(())?)?);
        if host.is_empty() || !folder.is_ascii() || url.fragment().is_some() {
            return Err(());
        }
        Ok(ImapSettings { host, port: url.port().unwrap_or(port), encryption, user, password, folder })
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> ImapSettings {
        url.parse().unwrap()
    }

    #[test]
    fn a_url_names_server_login_and_folder() {
        let full = parsed("imaps://decks%40carrier.example:hunter%2F2@mail.example:1993/Rates/In%20here");
        assert_eq!((&*full.host, full.port, full.encryption), ("mail.example", 1993, Encryption::Tls));
        assert_eq!((&*full.user, &*full.password), ("decks@carrier.example", "hunter/2"));
        assert_eq!(full.folder, "Rates/In here");
        assert!(!format!("{full:?}").contains("hunter"));
        let short = parsed("imap://a:b@mail.example");
        assert_eq!((short.port, &*short.folder), (143, "INBOX"));
    }

    #[test]
    fn off_loopback_tls_is_demanded() {
        let encryption = |url: &str| parsed(url).encryption;
        assert_eq!(encryption("imap://a:b@mail.example/"), Encryption::StartTls);
        assert_eq!(encryption("imap://a:b@192.0.2.1"), Encryption::StartTls);
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            assert_eq!(encryption(&format!("imap://a:b@{host}:1143")), Encryption::None, "{host}");
            assert_eq!(encryption(&format!("imap://a:b@{host}?tls=required")), Encryption::StartTls, "{host}");
        }
    }

    #[test]
    fn a_url_without_a_login_or_with_anything_else_is_refused() {
        for wrong in [
            "imaps://mail.example",
            "imaps://a@mail.example",
            "imaps://a:b@",
            "imaps://a:b@mail.example?tls=off",
            "imaps://a:b%0d@mail.example",
            "imap://a:b@mail.example/R%C3%A4te",
            "https://a:b@mail.example",
            "mail.example",
        ] {
            assert_eq!(wrong.parse::<ImapSettings>(), Err(()), "{wrong}");
        }
    }
}
