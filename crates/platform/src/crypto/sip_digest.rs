//! Digest authentication of SIP requests (RFC 3261, section 22), for proofs of networks.
//!
//! A nonce is bound to the address that it was sent to and expires after a minute; nothing is stored. MD5 is what phones
//! know. It protects a random secret that is used once, and finding one from a digest is out of reach.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use data_encoding::HEXLOWER;
use md5::{Digest as _, Md5};

use super::keys::{Keys, Purpose};
use values::Time;

/// The realm of all challenges.
pub const REALM: &str = "trunkline";

/// How long a nonce counts.
const NONCE_LIFETIME: Duration = Duration::from_secs(60);

/// The credentials of an `Authorization` header.
pub struct Credentials {
    fields: BTreeMap<String, String>,
}

/// The value of `WWW-Authenticate`, for a request from this address.
pub fn challenge(keys: &Keys, address: IpAddr, now: Time) -> String {
    format!("Digest realm=\"{REALM}\", nonce=\"{}\", algorithm=MD5, qop=\"auth\"", nonce(keys, address, now))
}

fn nonce(keys: &Keys, address: IpAddr, at: Time) -> String {
    let seconds = at.seconds();
    format!("{seconds}.{}", HEXLOWER.encode(&keys.mac(Purpose::SipNonce, nonce_message(address, seconds).as_bytes())))
}

fn nonce_message(address: IpAddr, seconds: i64) -> String {
    format!("{seconds} {}", address.to_canonical())
}

impl Credentials {
    /// Parses a header; `None` if it is not digest authentication.
    pub fn parse(header: &str) -> Option<Credentials> {
        let (scheme, rest) = header.trim().split_once(' ')?;
        let fields = split(rest).into_iter().filter_map(|field| {
            let (name, value) = field.split_once('=')?;
            Some((name.trim().to_ascii_lowercase(), value.trim().trim_matches('"').to_owned()))
        });
        scheme.eq_ignore_ascii_case("digest").then(|| Credentials { fields: fields.collect() })
    }

    pub fn username(&self) -> &str {
        self.field("username")
    }

    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// Whether the nonce was sent to this address a moment ago.
    pub fn is_fresh(&self, keys: &Keys, address: IpAddr, now: Time) -> bool {
        let Some((seconds, tag)) = self.field("nonce").split_once('.') else { return false };
        let (Ok(seconds), Ok(tag)) = (seconds.parse::<i64>(), HEXLOWER.decode(tag.as_bytes())) else { return false };
        let age = now.seconds().saturating_sub(seconds);
        let is_recent = (0..=NONCE_LIFETIME.as_secs()).contains(&u64::try_from(age).unwrap_or(u64::MAX));
        is_recent && keys.mac_matches(Purpose::SipNonce, nonce_message(address, seconds).as_bytes(), &tag)
    }

    /// Whether the sender of a request with this method knows the password.
    pub fn proves(&self, method: &str, password: &str) -> bool {
        let is_md5 = matches!(self.field("algorithm").to_ascii_uppercase().as_str(), "" | "MD5");
        let secret = hash(&[self.username(), REALM, password]);
        let request = hash(&[method, self.field("uri")]);
        let nonce = self.field("nonce");
        let expected = match self.field("qop") {
            "" => hash(&[&secret, nonce, &request]),
            qop => hash(&[&secret, nonce, self.field("nc"), self.field("cnonce"), qop, &request]),
        };
        is_md5 && self.field("realm") == REALM && self.field("response").eq_ignore_ascii_case(&expected)
    }
}

/// The `Authorization` of a request that answers a challenge.
pub fn respond(challenge: &str, method: &str, uri: &str, username: &str, password: &str) -> Option<String> {
    let challenge = Credentials::parse(challenge)?;
    let nonce = challenge.field("nonce");
    let response = hash(&[&hash(&[username, REALM, password]), nonce, &hash(&[method, uri])]);
    Some(format!(
        "Digest username=\"{username}\", realm=\"{REALM}\", nonce=\"{nonce}\", uri=\"{uri}\", response=\"{response}\""
    ))
}

fn hash(parts: &[&str]) -> String {
    HEXLOWER.encode(&Md5::digest(parts.join(":").as_bytes()))
}

/// Splits at commas outside quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (at, character) in text.char_indices() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_example_of_the_specification_is_right() {
        // RFC 2617, section 3.5, in the realm of that example.
        let secret = hash(&["Mufasa", "testrealm@host.com", "Circle Of Life"]);
        let request = hash(&["GET", "/dir/index.html"]);
        let nonce = "dcd98b7102dd2f0e8b11d0f600bfb0c093";
        let response = hash(&[&secret, nonce, "00000001", "0a4f113b", "auth", &request]);
        assert_eq!(response, "6629fae49393a05397450978507c4ef1");
    }

    #[test]
    fn a_response_counts_for_its_address_method_and_minute() {
        let keys = Keys::from_master(b"secret");
        let (here, now) = (address("192.0.2.1"), Time::from_millis(1_000_000));
        let challenge = challenge(&keys, here, now);
        let header = respond(&challenge, "OPTIONS", "sip:verify@edge", "user", "password").unwrap();
        let credentials = Credentials::parse(&header).unwrap();
        assert_eq!(credentials.username(), "user");
        assert!(credentials.is_fresh(&keys, here, now) && credentials.proves("OPTIONS", "password"));
        assert!(!credentials.proves("OPTIONS", "another") && !credentials.proves("INVITE", "password"));
        assert!(!credentials.is_fresh(&keys, address("192.0.2.2"), now));
        assert!(!credentials.is_fresh(&keys, here, now.plus(Duration::from_secs(61))));
        assert!(!credentials.is_fresh(&keys, here, now.minus(Duration::from_secs(1))));
        assert!(!credentials.is_fresh(&Keys::from_master(b"another"), here, now));
    }

    proptest! {
        #[test]
        fn any_header_is_parsed_or_refused(header in "(Digest )?\\PC{0,80}") {
            if let Some(credentials) = Credentials::parse(&header) {
                prop_assert!(!credentials.is_fresh(&Keys::from_master(b"secret"), address("192.0.2.1"), Time::EPOCH));
            }
        }
    }
}
