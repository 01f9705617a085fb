//! Public keys of passkeys (COSE, RFC 9053): ES256, EdDSA with Ed25519, and RS256.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};

use super::cbor::{self, Item};

const ES256: i64 = -7;
const EDDSA: i64 = -8;
const RS256: i64 = -257;
/// In the order in which authenticators choose.
pub const ALGORITHMS: [i64; 3] = [ES256, EDDSA, RS256];

// Labels of COSE keys. Those below zero depend on the kind of key.
const KIND: i64 = 1;
const ALGORITHM: i64 = 3;
const CURVE: i64 = -1;
const X: i64 = -2;
const Y: i64 = -3;
const MODULUS: i64 = -1;
const EXPONENT: i64 = -2;

/// A key as it is stored: in its COSE form.
#[derive(Debug, PartialEq, Eq)]
pub enum PublicKey<'a> {
    /// An uncompressed point of P-256.
    Es256([u8; 65]),
    Ed25519(&'a [u8]),
    Rs256 {
        modulus: &'a [u8],
        exponent: &'a [u8],
    },
}

impl<'a> PublicKey<'a> {
    pub fn parse(cose: &'a [u8]) -> Option<PublicKey<'a>> {
        let (key, _) = cbor::read(cose)?;
        let part = |label| key.bytes(&Item::Int(label));
        match (key.int(KIND)?, key.int(ALGORITHM)?) {
            (2, ES256) if key.int(CURVE)? == 1 => {
                let mut point = [4; 65];
                point[1..33].copy_from_slice(part(X).filter(|x| x.len() == 32)?);
                point[33..].copy_from_slice(part(Y).filter(|y| y.len() == 32)?);
                Some(PublicKey::Es256(point))
            }
            (1, EDDSA) if key.int(CURVE)? == 6 => Some(PublicKey::Ed25519(part(X).filter(|x| x.len() == 32)?)),
            (3, RS256) => Some(PublicKey::Rs256 {
                modulus: part(MODULUS).filter(|n| (256..=1024).contains(&n.len()))?,
                exponent: part(EXPONENT).filter(|e| (1..=8).contains(&e.len()))?,
            }),
            _ => None,
        }
    }

    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            PublicKey::Es256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature)
            }
            PublicKey::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
            PublicKey::Rs256 { modulus, exponent } => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
        }
        .is_ok()
    }
}
