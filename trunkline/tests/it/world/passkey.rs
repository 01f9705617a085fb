//! An authenticator with a passkey (WebAuthn), implemented apart from the service so that the two check each other.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![expect(clippy::disallowed_types, reason = "signing takes the random source of its own library")]

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};

use super::World;
use super::client::{Answer, Client};
use super::engines::uuid;

const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 4;
const HAS_CREDENTIAL: u8 = 64;

/// The private key of a passkey, of one of the kinds that WebAuthn knows.
pub enum Key {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

impl Key {
    pub fn es256() -> Key {
        Key::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap())
    }

    pub fn eddsa() -> Key {
        Key::EdDsa(Ed25519KeyPair::generate().unwrap())
    }

    pub fn rs256() -> Key {
        Key::Rs256(RsaKeyPair::generate(KeySize::Rsa2048).unwrap())
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Key::Es256(key) => key.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
            Key::EdDsa(key) => key.sign(message).as_ref().to_vec(),
            Key::Rs256(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).unwrap();
                signature
            }
        }
    }

    /// The public key: its kind, its algorithm, and then its curve and coordinates, or its modulus and exponent.
    fn cose(&self) -> Vec<u8> {
        match self {
            Key::Es256(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                [b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20".as_slice(), x, b"\x22\x58\x20", y].concat()
            }
            Key::EdDsa(key) => {
                let x = key.public_key().as_ref();
                [b"\xa4\x01\x01\x03\x27\x20\x06\x21\x58\x20".as_slice(), x].concat()
            }
            Key::Rs256(key) => {
                // PKCS #1: a sequence of the modulus, with a zero before it, and the exponent 65537.
                let der = key.public_key().as_ref();
                let (modulus, exponent) = (&der[9..265], &der[267..270]);
                [b"\xa4\x01\x03\x03\x39\x01\x00\x20\x59\x01\x00".as_slice(), modulus, b"\x21\x43", exponent].concat()
            }
        }
    }
}

pub struct Passkey {
    key: Key,
    credential_id: Vec<u8>,
    /// What the next use counts up from; without a counter it stays zero.
    pub count: u32,
    pub has_counter: bool,
    /// Whether it checks its user, by fingerprint or PIN.
    pub verifies_user: bool,
    /// The page that asks, as the browser reports it.
    pub origin: String,
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    digest(&SHA256, bytes).as_ref().to_vec()
}

fn base64(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

impl Passkey {
    pub fn new(world: &World) -> Passkey {
        Passkey::with_key(world, Key::es256())
    }

    pub fn with_key(world: &World, key: Key) -> Passkey {
        Passkey {
            key,
            credential_id: uuid().as_bytes().to_vec(),
            count: 0,
            has_counter: true,
            verifies_user: true,
            origin: world.node.app.public_url.clone(),
        }
    }

    /// Registers a new passkey for the caller.
    pub async fn registered(world: &World, caller: &Client) -> Passkey {
        let mut passkey = Passkey::new(world);
        passkey.register(caller).await.expect(201);
        passkey
    }

    pub async fn register(&mut self, caller: &Client) -> Answer {
        let options = caller.post("/me/passkeys/registration", json!({})).await.ok();
        caller.post("/me/passkeys", self.attestation(&options)).await
    }

    /// The answer to `navigator.credentials.create`.
    pub fn attestation(&mut self, options: &Value) -> Value {
        let client_data = self.client_data("webauthn.create", options);
        let mut data = self.authenticator_data(options["rp"]["id"].as_str().unwrap(), HAS_CREDENTIAL);
        data.extend([0; 16]);
        data.extend(u16::try_from(self.credential_id.len()).unwrap().to_be_bytes());
        data.extend(&self.credential_id);
        data.extend(self.key.cose());
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59".to_vec();
        object.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        object.extend(data);
        json!({"name": "Laptop", "client_data_json": base64(&client_data), "attestation_object": base64(&object)})
    }

    /// The answer to `navigator.credentials.get`.
    pub fn assertion(&mut self, options: &Value) -> Value {
        let client_data = self.client_data("webauthn.get", options);
        let data = self.authenticator_data(options["rpId"].as_str().unwrap(), 0);
        let signed = [data.clone(), sha256(&client_data)].concat();
        let signature = self.key.sign(&signed);
        json!({
            "credential_id": base64(&self.credential_id),
            "client_data_json": base64(&client_data),
            "authenticator_data": base64(&data),
            "signature": base64(&signature),
        })
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        json!({"type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": false})
            .to_string()
            .into_bytes()
    }

    fn authenticator_data(&mut self, rp_id: &str, flags: u8) -> Vec<u8> {
        self.count += u32::from(self.has_counter);
        let verified = if self.verifies_user { USER_VERIFIED } else { 0 };
        let mut data = sha256(rp_id.as_bytes());
        data.push(USER_PRESENT | verified | flags);
        data.extend(self.count.to_be_bytes());
        data
    }
}

impl World {
    /// Options for a passkey, after a password if there is a `tmp_token`.
    pub async fn passkey_options(&self, tmp_token: Option<&str>) -> Value {
        self.anyone().post("/auth/passkey/challenge", json!({"tmp_token": tmp_token})).await.ok()
    }

    pub async fn passkey_sign_in(&self, passkey: &mut Passkey, tmp_token: Option<&str>) -> Answer {
        let options = self.passkey_options(tmp_token).await;
        let body = json!({"tmp_token": tmp_token, "passkey": passkey.assertion(&options)});
        self.anyone().post("/auth/passkey", body).await
    }
}
