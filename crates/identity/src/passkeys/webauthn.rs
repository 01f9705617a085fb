//! What an authenticator sent, checked as WebAuthn (level 2, sections 7.1 and 7.2) demands. Pure functions.
//!
//! Attestation is not asked for and not read: which make of authenticator a user has is the user's choice.

use data_encoding::BASE64URL_NOPAD;
use serde::Deserialize;

use super::cbor::{self, Item};
use super::cose::PublicKey;
use api::input::sha256;

/// Us, as authenticators know us.
pub struct RelyingParty {
    /// The host of the public URL.
    pub id: String,
    /// Scheme, host and port of the public URL.
    pub origin: String,
}

impl RelyingParty {
    pub fn new(public_url: &str) -> RelyingParty {
        let (scheme, rest) = public_url.split_once("://").unwrap_or(("https", public_url));
        let authority = rest.split('/').next().unwrap_or_default();
        let has_port = authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let id = has_port.map_or(authority, |(host, _)| host).to_owned();
        RelyingParty { id, origin: format!("{scheme}://{authority}") }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ceremony {
    Registration,
    Assertion,
}

#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
}

/// The challenge that the browser answered, if it did so for this service and ceremony.
pub fn answered_challenge(client_data: &[u8], ceremony: Ceremony, us: &RelyingParty) -> Option<Vec<u8>> {
    let data: ClientData = serde_json::from_slice(client_data).ok()?;
    let kind = match ceremony {
        Ceremony::Registration => "webauthn.create",
        Ceremony::Assertion => "webauthn.get",
    };
    let is_ours = data.kind == kind && data.origin == us.origin && !data.cross_origin;
    is_ours.then(|| BASE64URL_NOPAD.decode(data.challenge.as_bytes()).ok()).flatten()
}

const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const HAS_CREDENTIAL: u8 = 1 << 6;

/// Authenticator data: hash of the relying party, flags, signature counter; on registration also the credential.
struct AuthenticatorData<'a> {
    flags: u8,
    sign_count: u32,
    rest: &'a [u8],
}

impl<'a> AuthenticatorData<'a> {
    fn parse(bytes: &'a [u8], us: &RelyingParty) -> Option<AuthenticatorData<'a>> {
        let (rp_hash, rest) = bytes.split_at_checked(32)?;
        let (flags, rest) = rest.split_first()?;
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let is_ours = rp_hash == sha256(us.id.as_bytes()) && flags & USER_PRESENT != 0;
        is_ours.then_some(AuthenticatorData { flags: *flags, sign_count: u32::from_be_bytes(*count), rest })
    }
}

/// A new passkey.
#[derive(Debug, PartialEq, Eq)]
pub struct NewCredential {
    pub id: Vec<u8>,
    /// COSE.
    pub public_key: Vec<u8>,
    pub sign_count: i64,
}

/// The credential of a registration.
pub fn new_credential(attestation_object: &[u8], us: &RelyingParty) -> Option<NewCredential> {
    let (object, after) = cbor::read(attestation_object)?;
    let data = object.bytes(&Item::Text("authData")).filter(|_| after.is_empty())?;
    let data = AuthenticatorData::parse(data, us).filter(|data| data.flags & HAS_CREDENTIAL != 0)?;
    // The model of the authenticator comes first.
    let (_, rest) = data.rest.split_at_checked(16)?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length));
    let (id, rest) = rest.split_at_checked(length).filter(|_| (1..=1023).contains(&length))?;
    let (_, extensions) = cbor::read(rest)?;
    let public_key = rest.get(..rest.len() - extensions.len())?;
    PublicKey::parse(public_key)?;
    Some(NewCredential { id: id.to_vec(), public_key: public_key.to_vec(), sign_count: data.sign_count.into() })
}

/// The signature counter of an assertion, if the key signed it. With `verified`, the authenticator must have checked
/// who its user is, by a fingerprint or a PIN.
pub fn sign_count(
    authenticator_data: &[u8],
    client_data: &[u8],
    signature: &[u8],
    key: &[u8],
    us: &RelyingParty,
    verified: bool,
) -> Option<i64> {
    let data = AuthenticatorData::parse(authenticator_data, us)?;
    if verified && data.flags & USER_VERIFIED == 0 {
        return None;
    }
    let signed = [authenticator_data, &sha256(client_data)].concat();
    PublicKey::parse(key)?.verifies(&signed, signature).then_some(data.sign_count.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_relying_party_is_the_public_url_without_its_path() {
        for (url, id, origin) in [
            ("https://voice.example", "voice.example", "https://voice.example"),
            ("https://voice.example:8443/portal", "voice.example", "https://voice.example:8443"),
            ("http://localhost:8080", "localhost", "http://localhost:8080"),
            ("http://[::1]:8080", "[::1]", "http://[::1]:8080"),
        ] {
            let us = RelyingParty::new(url);
            assert_eq!((us.id.as_str(), us.origin.as_str()), (id, origin));
        }
    }

    #[test]
    fn answers_for_others_are_refused() {
        let us = RelyingParty::new("https://voice.example");
        let data = |kind: &str, origin: &str, cross: bool| {
            let data = serde_json::json!({"type": kind, "challenge": "AQI", "origin": origin, "crossOrigin": cross});
            answered_challenge(data.to_string().as_bytes(), Ceremony::Assertion, &us)
        };
        assert_eq!(data("webauthn.get", "https://voice.example", false), Some(vec![1, 2]));
        assert_eq!(data("webauthn.create", "https://voice.example", false), None);
        assert_eq!(data("webauthn.get", "https://voice.example.evil.example", false), None);
        assert_eq!(data("webauthn.get", "http://voice.example", false), None);
        assert_eq!(data("webauthn.get", "https://voice.example", true), None);
        assert_eq!(answered_challenge(b"{", Ceremony::Assertion, &us), None);
    }
}
