//! Request and response types of passkeys. Options are in the JSON form of WebAuthn (level 3), which browsers parse with
//! `PublicKeyCredential.parseCreationOptionsFromJSON` and `parseRequestOptionsFromJSON`.

use std::borrow::Cow;

use data_encoding::BASE64URL_NOPAD;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cose::ALGORITHMS;
use super::store;
use super::webauthn::RelyingParty;
use crate::users::User;
use values::{PasskeyId, Rfc3339, Text};

/// Bytes as base64url without padding; at most `MAX` characters.
#[derive(Clone)]
pub struct Base64Url<const MAX: usize>(pub Vec<u8>);

impl<'de, const MAX: usize> Deserialize<'de> for Base64Url<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok().filter(|_| text.len() <= MAX);
        bytes.map(Base64Url).ok_or_else(|| serde::de::Error::custom("must be base64url without padding"))
    }
}

impl<const MAX: usize> Serialize for Base64Url<MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64URL_NOPAD.encode(&self.0))
    }
}

impl<const MAX: usize> JsonSchema for Base64Url<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Base64Url{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 2,
            "maxLength": MAX,
            "pattern": "^[A-Za-z0-9_-]+$",
            "examples": ["AQIDBAUGBwg"],
        })
    }
}

pub type CredentialId = Base64Url<1364>;

/// Relying party: this service.
#[derive(Serialize, JsonSchema)]
pub struct PasskeyRelyingParty {
    /// Host of the public URL.
    id: String,
    /// Name that the browser shows.
    name: String,
}

/// User as the authenticator stores it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasskeyUser {
    /// Id of the user, as base64url.
    id: CredentialId,
    /// Email address of the user.
    name: String,
    /// Name of the user.
    display_name: String,
}

/// Kind of credential: always `public-key`.
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub enum CredentialType {
    #[serde(rename = "public-key")]
    PublicKey,
}

/// Signature algorithm that we accept.
#[derive(Serialize, JsonSchema)]
pub struct PasskeyAlgorithm {
    /// Kind of credential.
    r#type: CredentialType,
    /// COSE number of the algorithm.
    alg: i64,
}

/// Passkey by its id.
#[derive(Serialize, JsonSchema)]
pub struct CredentialDescriptor {
    /// Kind of credential.
    r#type: CredentialType,
    /// Id that the authenticator gave the credential.
    id: CredentialId,
}

impl CredentialDescriptor {
    pub fn new(id: Vec<u8>) -> CredentialDescriptor {
        CredentialDescriptor { r#type: CredentialType::PublicKey, id: Base64Url(id) }
    }
}

/// What the authenticator should do.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticatorSelection {
    /// Whether the passkey is stored with its user, so that it signs in without an email address: `preferred`.
    resident_key: &'static str,
    /// Whether fingerprint or PIN is asked for: `preferred`.
    user_verification: &'static str,
}

/// Options for `navigator.credentials.create`, in the JSON form of WebAuthn.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasskeyCreationOptions {
    /// This service.
    rp: PasskeyRelyingParty,
    /// User who gets the passkey.
    user: PasskeyUser,
    /// Challenge to be answered, within five minutes and once.
    challenge: CredentialId,
    /// Algorithms that we accept.
    pub_key_cred_params: Vec<PasskeyAlgorithm>,
    /// Milliseconds that the user has.
    timeout: u64,
    /// Passkeys that the user has already.
    exclude_credentials: Vec<CredentialDescriptor>,
    /// What the authenticator should do.
    authenticator_selection: AuthenticatorSelection,
    /// Always `none`: we do not ask which make the authenticator is.
    attestation: &'static str,
}

impl PasskeyCreationOptions {
    pub fn new(us: RelyingParty, user: &User, challenge: Vec<u8>, known: Vec<Vec<u8>>, timeout: u64) -> Self {
        let algorithm = |alg| PasskeyAlgorithm { r#type: CredentialType::PublicKey, alg };
        PasskeyCreationOptions {
            rp: PasskeyRelyingParty { id: us.id, name: "Trunkline".to_owned() },
            user: PasskeyUser {
                id: Base64Url(user.id.uuid().as_bytes().to_vec()),
                name: user.email.to_string(),
                display_name: user.name.clone(),
            },
            challenge: Base64Url(challenge),
            pub_key_cred_params: ALGORITHMS.map(algorithm).into(),
            timeout,
            exclude_credentials: known.into_iter().map(CredentialDescriptor::new).collect(),
            authenticator_selection: AuthenticatorSelection {
                resident_key: "preferred",
                user_verification: "preferred",
            },
            attestation: "none",
        }
    }
}

/// Options for `navigator.credentials.get`, in the JSON form of WebAuthn.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasskeyRequestOptions {
    /// Challenge to be answered, within five minutes and once.
    pub challenge: CredentialId,
    /// Host of the public URL.
    pub rp_id: String,
    /// Milliseconds that the user has.
    pub timeout: u64,
    /// Passkeys of the user; empty when the authenticator is to find one by itself.
    pub allow_credentials: Vec<CredentialDescriptor>,
    /// Whether fingerprint or PIN is asked for: `required` without a password, otherwise `preferred`.
    pub user_verification: &'static str,
}

/// New passkey: the answer of `navigator.credentials.create`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasskeyCreate {
    /// Name by which the user knows the passkey.
    pub name: Text<1, 100>,
    /// `clientDataJSON` of the answer, as base64url.
    pub client_data_json: Base64Url<8192>,
    /// `attestationObject` of the answer, as base64url.
    pub attestation_object: Base64Url<32768>,
}

/// Proof that the caller has a passkey: the answer of `navigator.credentials.get`.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasskeyAssertion {
    /// `rawId` of the answer, as base64url.
    pub credential_id: CredentialId,
    /// `clientDataJSON` of the answer, as base64url.
    pub client_data_json: Base64Url<8192>,
    /// `authenticatorData` of the answer, as base64url.
    pub authenticator_data: Base64Url<4096>,
    /// `signature` of the answer, as base64url.
    pub signature: Base64Url<2048>,
}

/// Passkey of the signed-in user.
#[derive(Serialize, JsonSchema)]
pub struct Passkey {
    /// Id of the passkey.
    pub id: PasskeyId,
    /// Name by which the user knows it.
    pub name: String,
    /// When it was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// When it was last used (RFC 3339, UTC); null when it never was.
    pub last_used_at: Option<Rfc3339>,
}

impl From<store::Passkey> for Passkey {
    fn from(row: store::Passkey) -> Passkey {
        Passkey {
            id: row.id,
            name: row.name,
            created_at: row.created_at.into(),
            last_used_at: row.last_used_at.map(Into::into),
        }
    }
}

/// New passkey, with recovery codes if it is the user's first second factor.
#[derive(Serialize, JsonSchema)]
pub struct PasskeyCreated {
    /// Id of the passkey.
    pub id: PasskeyId,
    /// Name by which the user knows it.
    pub name: String,
    /// When it was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// Ten recovery codes, shown only once; null when the user has a second factor already.
    pub recovery_codes: Option<Vec<String>>,
}
