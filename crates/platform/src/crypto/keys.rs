//! The keys that the service signs and encrypts with, all derived from the master secret.
//!
//! Every purpose has its own keys, so a page cursor cannot be used as a download link.

use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
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
    /// The keys of files in the store.
    File,
    /// Nonces of SIP digest authentication.
    SipNonce,
    /// The fingerprint that shows whether a node has the master secret of its database.
    Fingerprint,
    /// Challenges that passkeys sign.
    PasskeyChallenge,
}

impl Purpose {
    const ALL: [Purpose; 11] = [
        Purpose::Cursor,
        Purpose::Download,
        Purpose::Audit,
        Purpose::TotpSeed,
        Purpose::StoredResponse,
        Purpose::Mail,
        Purpose::SandboxCallback,
        Purpose::File,
        Purpose::SipNonce,
        Purpose::Fingerprint,
        Purpose::PasskeyChallenge,
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
            Purpose::File => b"trunkline file",
            Purpose::SipNonce => b"trunkline sip nonce",
            Purpose::Fingerprint => b"trunkline fingerprint",
            Purpose::PasskeyChallenge => b"trunkline passkey challenge",
        }
    }
}

struct Pair {
    mac: hmac::Key,
    seal: RandomizedNonceKey,
}

#[derive(Clone)]
pub struct Keys(Arc<Vec<Pair>>);

struct KeyBytes;
impl KeyType for KeyBytes {
    fn len(&self) -> usize {
        64
    }
}

impl Keys {
    /// Derives the keys of all purposes.
    #[expect(clippy::expect_used, reason = "lengths are constants")]
    pub fn from_master(secret: &[u8]) -> Keys {
        let root = Salt::new(HKDF_SHA256, b"trunkline master").extract(secret);
        let pairs = Purpose::ALL.map(|purpose| {
            let mut bytes = [0u8; 64];
            let info = [purpose.label()];
            root.expand(&info, KeyBytes).and_then(|okm| okm.fill(&mut bytes)).expect("64 bytes can be expanded");
            let (mac, seal) = bytes.split_at(32);
            Pair {
                mac: hmac::Key::new(HMAC_SHA256, mac),
                seal: RandomizedNonceKey::new(&AES_256_GCM, seal).expect("32 bytes are a key"),
            }
        });
        Keys(Arc::new(pairs.into()))
    }

    fn pair(&self, purpose: Purpose) -> &Pair {
        &self.0[purpose as usize]
    }

    pub fn mac(&self, purpose: Purpose, message: &[u8]) -> [u8; 32] {
        let mut out = [0; 32];
        out.copy_from_slice(hmac::sign(&self.pair(purpose).mac, message).as_ref());
        out
    }

    /// Compares in constant time.
    pub fn mac_matches(&self, purpose: Purpose, message: &[u8], tag: &[u8]) -> bool {
        hmac::verify(&self.pair(purpose).mac, message, tag).is_ok()
    }

    /// Encrypts for storage: nonce, ciphertext and tag in one piece.
    #[expect(clippy::expect_used, reason = "sealing fails only beyond 64 GiB")]
    pub fn seal(&self, purpose: Purpose, plaintext: &[u8]) -> Vec<u8> {
        let mut ciphertext = plaintext.to_vec();
        let nonce =
            self.pair(purpose).seal.seal_in_place_append_tag(Aad::empty(), &mut ciphertext).expect("short text");
        [nonce.as_ref().as_slice(), &ciphertext].concat()
    }

    /// Decrypts what `seal` returned; `None` if it was altered or sealed for another purpose.
    pub fn open(&self, purpose: Purpose, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, ciphertext) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut ciphertext = ciphertext.to_vec();
        let plaintext = self.pair(purpose).seal.open_in_place(nonce, Aad::empty(), &mut ciphertext).ok()?;
        Some(plaintext.to_vec())
    }
}

#[cfg(test)]
mod tests {
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
    fn every_purpose_signs_with_its_own_key() {
        let keys = Keys::from_master(b"a master secret of thirty-two byt");
        let tags: std::collections::BTreeSet<_> = Purpose::ALL.iter().map(|p| keys.mac(*p, b"message")).collect();
        assert_eq!(tags.len(), Purpose::ALL.len());
        assert!(keys.mac_matches(Purpose::Cursor, b"message", &keys.mac(Purpose::Cursor, b"message")));
        assert!(!keys.mac_matches(Purpose::Download, b"message", &keys.mac(Purpose::Cursor, b"message")));
    }
}
