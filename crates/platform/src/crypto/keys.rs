//! The keys that the service signs and encrypts with, all derived from the master secret.
//!
//! Every purpose has its own keys, so a page cursor cannot be used as a download link. While the master secret is being
//! rotated, the keys of the previous one still open and verify; only the current ones seal and sign.

use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::constant_time;
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use aws_lc_rs::hmac::{self, HMAC_SHA256};

/// What a key is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Page cursors.
    Cursor,
    /// Signed download links.
    Download,
    /// The hash chain of the audit log.
    Audit,
    /// TOTP seeds, encrypted at rest.
    TotpSeed,
    /// Stored responses of idempotency keys, encrypted at rest.
    StoredResponse,
    /// Mails and addresses in the queue, encrypted at rest.
    Mail,
    /// Webhooks of the sandbox payment provider.
    SandboxCallback,
    /// Fingerprints of cards at the sandbox payment provider.
    SandboxCard,
    /// The keys of files in the store.
    File,
    /// Nonces of SIP digest authentication.
    SipNonce,
    /// The fingerprint that shows whether a node has the master secret of its database.
    Fingerprint,
    /// Challenges that passkeys sign.
    PasskeyChallenge,
    /// Secrets of webhook endpoints, encrypted at rest.
    WebhookSecret,
}

impl Purpose {
    const ALL: [Purpose; 13] = [
        Purpose::Cursor,
        Purpose::Download,
        Purpose::Audit,
        Purpose::TotpSeed,
        Purpose::StoredResponse,
        Purpose::Mail,
        Purpose::SandboxCallback,
        Purpose::SandboxCard,
        Purpose::File,
        Purpose::SipNonce,
        Purpose::Fingerprint,
        Purpose::PasskeyChallenge,
        Purpose::WebhookSecret,
    ];

    /// The HKDF label. Changing one invalidates everything signed or encrypted with its keys.
    fn label(self) -> &'static [u8] {
        match self {
            Purpose::Cursor => b"trunkline cursor",
            Purpose::Download => b"trunkline download",
            Purpose::Audit => b"trunkline audit",
            Purpose::TotpSeed => b"trunkline totp seed",
            Purpose::StoredResponse => b"trunkline stored response",
            Purpose::Mail => b"trunkline letter",
            Purpose::SandboxCallback => b"trunkline sandbox callback",
            Purpose::SandboxCard => b"trunkline sandbox card",
            Purpose::File => b"trunkline file",
            Purpose::SipNonce => b"trunkline sip nonce",
            Purpose::Fingerprint => b"trunkline fingerprint",
            Purpose::PasskeyChallenge => b"trunkline passkey challenge",
            Purpose::WebhookSecret => b"trunkline webhook secret",
        }
    }
}

struct Pair {
    mac: hmac::Key,
    seal: RandomizedNonceKey,
}

#[derive(Clone)]
pub struct Keys {
    current: Arc<KeySet>,
    previous: Option<Arc<KeySet>>,
}

/// The keys of one master secret.
struct KeySet {
    pairs: Vec<Pair>,
    /// The MAC key of the audit log, to be sealed when the secret is retired.
    audit_key: [u8; 32],
}

/// What became of sealed data that is to be sealed with the current key.
#[derive(Debug, PartialEq, Eq)]
pub enum Reseal {
    /// It already is.
    Current,
    Resealed(Vec<u8>),
    /// No key opens it.
    Unreadable,
}

struct KeyBytes;
impl KeyType for KeyBytes {
    fn len(&self) -> usize {
        64
    }
}

impl Keys {
    /// Derives the keys of all purposes.
    pub fn from_master(secret: &[u8]) -> Keys {
        Keys { current: Arc::new(KeySet::derive(secret)), previous: None }
    }

    /// The same, with another master secret that is still accepted.
    pub fn rotating(secret: &[u8], previous: Option<&[u8]>) -> Keys {
        Keys { previous: previous.map(|secret| Arc::new(KeySet::derive(secret))), ..Keys::from_master(secret) }
    }

    /// The keys of the previous master secret alone.
    pub fn previous(&self) -> Option<Keys> {
        self.previous.clone().map(|current| Keys { current, previous: None })
    }

    /// Shows which master secret this is without revealing it.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.mac(Purpose::Fingerprint, b"master")
    }

    pub fn audit_key(&self) -> &[u8; 32] {
        &self.current.audit_key
    }

    /// Seals again what was sealed with the previous master secret.
    pub fn reseal(&self, purpose: Purpose, sealed: &[u8]) -> Reseal {
        if self.current.open(purpose, sealed).is_some() {
            return Reseal::Current;
        }
        match self.open(purpose, sealed) {
            Some(plaintext) => Reseal::Resealed(self.seal(purpose, &plaintext)),
            None => Reseal::Unreadable,
        }
    }

    pub fn mac(&self, purpose: Purpose, message: &[u8]) -> [u8; 32] {
        let mut out = [0; 32];
        out.copy_from_slice(hmac::sign(&self.current.pair(purpose).mac, message).as_ref());
        out
    }

    /// Compares in constant time.
    pub fn mac_matches(&self, purpose: Purpose, message: &[u8], tag: &[u8]) -> bool {
        self.sets().any(|keys| hmac::verify(&keys.pair(purpose).mac, message, tag).is_ok())
    }

    /// The same for a tag of which only the first bytes are known, at least 16.
    pub fn mac_starts_with(&self, purpose: Purpose, message: &[u8], start: &[u8]) -> bool {
        let starts = |tag: &[u8]| {
            let first = tag.get(..start.len()).filter(|_| start.len() >= 16);
            first.is_some_and(|first| constant_time::verify_slices_are_equal(first, start).is_ok())
        };
        self.sets().any(|keys| starts(hmac::sign(&keys.pair(purpose).mac, message).as_ref()))
    }

    /// Encrypts for storage: nonce, ciphertext and tag in one piece.
    #[expect(clippy::expect_used, reason = "sealing fails only beyond 64 GiB")]
    pub fn seal(&self, purpose: Purpose, plaintext: &[u8]) -> Vec<u8> {
        let mut ciphertext = plaintext.to_vec();
        let key = &self.current.pair(purpose).seal;
        let nonce = key.seal_in_place_append_tag(Aad::empty(), &mut ciphertext).expect("short text");
        [nonce.as_ref().as_slice(), &ciphertext].concat()
    }

    /// Decrypts what `seal` returned; `None` if it was altered or sealed for another purpose.
    pub fn open(&self, purpose: Purpose, sealed: &[u8]) -> Option<Vec<u8>> {
        self.sets().find_map(|keys| keys.open(purpose, sealed))
    }

    fn sets(&self) -> impl Iterator<Item = &KeySet> {
        [Some(&self.current), self.previous.as_ref()].into_iter().flatten().map(Arc::as_ref)
    }
}

/// HMAC with a key that is not derived from the master secret in use.
pub fn mac_with(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(hmac::sign(&hmac::Key::new(HMAC_SHA256, key), message).as_ref());
    out
}

impl KeySet {
    #[expect(clippy::expect_used, reason = "lengths are constants")]
    fn derive(secret: &[u8]) -> KeySet {
        let mut audit_key = [0; 32];
        let root = Salt::new(HKDF_SHA256, b"trunkline master").extract(secret);
        let pairs = Purpose::ALL.map(|purpose| {
            let mut bytes = [0u8; 64];
            let info = [purpose.label()];
            root.expand(&info, KeyBytes).and_then(|okm| okm.fill(&mut bytes)).expect("64 bytes can be expanded");
            let (mac, seal) = bytes.split_at(32);
            if purpose == Purpose::Audit {
                audit_key.copy_from_slice(mac);
            }
            Pair {
                mac: hmac::Key::new(HMAC_SHA256, mac),
                seal: RandomizedNonceKey::new(&AES_256_GCM, seal).expect("32 bytes are a key"),
            }
        });
        KeySet { pairs: pairs.into(), audit_key }
    }

    fn pair(&self, purpose: Purpose) -> &Pair {
        &self.pairs[purpose as usize]
    }

    fn open(&self, purpose: Purpose, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, ciphertext) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut ciphertext = ciphertext.to_vec();
        let plaintext = self.pair(purpose).seal.open_in_place(nonce, Aad::empty(), &mut ciphertext).ok()?;
        Some(plaintext.to_vec())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    #[test]
    fn sealed_data_opens_only_unaltered_and_for_its_purpose() {
        let keys = Keys::from_master(b"a master secret of thirty-two byt");
        let sealed = keys.seal(Purpose::TotpSeed, b"seed");
        assert_eq!(keys.open(Purpose::TotpSeed, &sealed).as_deref(), Some(&b"seed"[..]));
        assert_eq!(keys.open(Purpose::StoredResponse, &sealed), None);
        for position in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[position] ^= 1;
            assert_eq!(keys.open(Purpose::TotpSeed, &altered), None);
        }
        assert_eq!(keys.open(Purpose::TotpSeed, b"short"), None);
    }

    #[test]
    fn the_previous_master_secret_opens_and_verifies_but_no_longer_seals() {
        let (old, new) = (b"the master secret until yesterday", b"the master secret from now onward");
        let (before, after) = (Keys::from_master(old), Keys::from_master(new));
        let rotating = Keys::rotating(new, Some(old));
        let sealed = before.seal(Purpose::Mail, b"mail");
        assert_eq!(rotating.open(Purpose::Mail, &sealed).as_deref(), Some(&b"mail"[..]));
        let Reseal::Resealed(again) = rotating.reseal(Purpose::Mail, &sealed) else { panic!("not sealed again") };
        assert_eq!(after.open(Purpose::Mail, &again).as_deref(), Some(&b"mail"[..]));
        assert_eq!(rotating.reseal(Purpose::Mail, &again), Reseal::Current);
        assert_eq!(after.reseal(Purpose::Mail, &sealed), Reseal::Unreadable);
        let tag = before.mac(Purpose::Cursor, b"message");
        assert!(rotating.mac_matches(Purpose::Cursor, b"message", &tag));
        assert!(rotating.mac_starts_with(Purpose::Cursor, b"message", &tag[..16]));
        assert!(!rotating.mac_starts_with(Purpose::Cursor, b"message", &tag[..15]));
        assert!(!after.mac_matches(Purpose::Cursor, b"message", &tag));
        assert_eq!(rotating.mac(Purpose::Cursor, b"message"), after.mac(Purpose::Cursor, b"message"));
        assert_eq!(mac_with(before.audit_key(), b"row"), before.mac(Purpose::Audit, b"row"));
    }

    #[test]
    fn every_purpose_signs_with_its_own_key() {
        let keys = Keys::from_master(b"a master secret of thirty-two byt");
        let tags: std::collections::BTreeSet<_> = Purpose::ALL.iter().map(|p| keys.mac(*p, b"message")).collect();
        assert_eq!(tags.len(), Purpose::ALL.len());
        assert!(keys.mac_matches(Purpose::Cursor, b"message", &keys.mac(Purpose::Cursor, b"message")));
        assert!(!keys.mac_matches(Purpose::Download, b"message", &keys.mac(Purpose::Cursor, b"message")));
    }
}
