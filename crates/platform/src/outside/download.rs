//! Signed download links: temporary access to a file without signing in.
//!
//! A token contains what it grants and a signature over it, so nothing is stored and every node accepts it. An altered
//! token and an expired one give the same answer: not found.

use data_encoding::BASE64URL_NOPAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::files::ContentHash;
use crate::crypto::keys::{Keys, Purpose};
use values::Time;

const TAG_BYTES: usize = 32;
/// No signed token is longer.
const MAX_TOKEN_BYTES: usize = 4096;
const MAX_NAME_CHARS: usize = 150;

/// What a link grants: a file's content under a name, until a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Download {
    pub hash: ContentHash,
    pub file_name: String,
    pub content_type: String,
    pub expires_at: Time,
}

#[derive(Clone)]
pub struct Links(Keys);

impl Links {
    pub fn new(keys: Keys) -> Links {
        Links(keys)
    }

    /// Makes the token of `GET /files/{token}`.
    pub fn sign(&self, download: &Download) -> String {
        let Download { hash, file_name, content_type, expires_at } = download;
        let mut token = Vec::with_capacity(160);
        token.extend_from_slice(&expires_at.millis().to_be_bytes());
        token.extend_from_slice(hash.bytes());
        token.extend_from_slice(plain_name(file_name).as_bytes());
        token.push(0);
        token.extend_from_slice(content_type.as_bytes());
        let tag = self.0.mac(Purpose::Download, &token);
        token.extend_from_slice(&tag);
        BASE64URL_NOPAD.encode(&token)
    }

    /// What the token grants, if its signature is valid and it has not expired.
    pub fn verify(&self, token: &str, now: Time) -> Option<Download> {
        if token.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let signed = BASE64URL_NOPAD.decode(token.as_bytes()).ok()?;
        let (grant, tag) = signed.split_at_checked(signed.len().checked_sub(TAG_BYTES)?)?;
        if !self.0.mac_matches(Purpose::Download, grant, tag) {
            return None;
        }
        parse_grant(grant).filter(|download| now < download.expires_at)
    }
}

fn parse_grant(grant: &[u8]) -> Option<Download> {
    let (expires_at, rest) = grant.split_first_chunk::<8>()?;
    let (hash, rest) = rest.split_first_chunk::<32>()?;
    let (file_name, content_type) = std::str::from_utf8(rest).ok()?.split_once('\0')?;
    Some(Download {
        hash: ContentHash::new(*hash),
        file_name: file_name.to_owned(),
        content_type: content_type.to_owned(),
        expires_at: Time::from_millis(i64::from_be_bytes(*expires_at)),
    })
}

/// The `Content-Disposition` header that makes a browser save the file under this name.
pub fn content_disposition(name: &str) -> String {
    /// Everything but attr-char of RFC 8187.
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    format!("attachment; filename*=UTF-8''{}", utf8_percent_encode(&plain_name(name), ENCODED))
}

/// A safe file name: no folders, no invisible or text-reversing characters, no leading dot.
pub fn plain_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let visible: String = last.chars().filter(|c| !c.is_control() && !is_invisible(*c)).take(MAX_NAME_CHARS).collect();
    match visible.trim().trim_start_matches('.').trim_start() {
        "" => "download".to_owned(),
        plain => plain.to_owned(),
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn links() -> Links {
        Links::new(Keys::from_master(b"a master secret of thirty-two byt"))
    }

    fn invoice() -> Download {
        Download {
            hash: ContentHash::new([7; 32]),
            file_name: "Rechnung März.pdf".to_owned(),
            content_type: "application/pdf".to_owned(),
            expires_at: Time::from_millis(1_000),
        }
    }

    #[test]
    fn a_link_grants_what_was_signed_until_it_expires() {
        let token = links().sign(&invoice());
        assert_eq!(links().verify(&token, Time::from_millis(999)), Some(invoice()));
        assert_eq!(links().verify(&token, Time::from_millis(1_000)), None);
    }

    #[test]
    fn a_token_of_another_key_or_purpose_is_rejected() {
        let other = Links::new(Keys::from_master(b"another secret of thirty-two bytes"));
        assert_eq!(links().verify(&other.sign(&invoice()), Time::from_millis(0)), None);
        let cursor = Keys::from_master(b"a master secret of thirty-two byt").mac(Purpose::Cursor, b"");
        assert_eq!(links().verify(&BASE64URL_NOPAD.encode(&cursor), Time::from_millis(0)), None);
    }

    proptest! {
        #[test]
        fn an_altered_token_is_rejected(position in any::<prop::sample::Index>(), to in any::<char>()) {
            let token = links().sign(&invoice());
            let mut altered: Vec<char> = token.chars().collect();
            *position.get_mut(&mut altered) = to;
            let altered: String = altered.into_iter().collect();
            prop_assume!(altered != token);
            prop_assert_eq!(links().verify(&altered, Time::from_millis(0)), None);
        }

        #[test]
        fn a_truncated_or_random_token_is_rejected(length in 0usize..200, invented in ".{0,300}") {
            let token = links().sign(&invoice());
            let shortened = &token[..length.min(token.len() - 1)];
            prop_assert_eq!(links().verify(shortened, Time::from_millis(0)), None);
            prop_assert_eq!(links().verify(&invented, Time::from_millis(0)), None);
        }

        #[test]
        fn every_signed_token_verifies(file_name in "\\PC{0,400}") {
            let signed = links().sign(&Download { file_name, ..invoice() });
            prop_assert!(links().verify(&signed, Time::from_millis(0)).is_some());
        }

        #[test]
        fn a_disposition_is_a_valid_header_value(name in any::<String>()) {
            let value = content_disposition(&name);
            let encoded = value.strip_prefix("attachment; filename*=UTF-8''").unwrap();
            prop_assert!(!encoded.is_empty());
            prop_assert!(encoded.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b)));
        }
    }

    #[test]
    fn a_name_loses_folders_and_invisible_characters() {
        assert_eq!(plain_name("../../etc/passwd"), "passwd");
        assert_eq!(plain_name("C:\\temp\\a b.pdf"), "a b.pdf");
        assert_eq!(plain_name("..\r\n\u{202e}fdp.exe"), "fdp.exe");
        assert_eq!(plain_name(" / "), "download");
        assert_eq!(content_disposition("März \"1\".pdf"), "attachment; filename*=UTF-8''M%C3%A4rz%20%221%22.pdf");
    }
}
