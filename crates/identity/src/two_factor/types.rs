//! Request and response types of 2FA.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use values::Invalid;

/// Second factors of a user.
#[derive(Serialize, JsonSchema)]
pub struct SecondFactors {
    /// Whether signing in takes a second factor.
    pub enabled: bool,
    /// Whether the user has an authenticator app.
    pub totp: bool,
    /// Number of passkeys.
    #[schemars(range(min = 0), example = 1)]
    pub passkeys: i64,
    /// Number of recovery codes that were not used.
    #[schemars(range(min = 0), example = 9)]
    pub recovery_codes_left: i64,
}

impl SecondFactors {
    pub fn new(totp: bool, passkeys: i64, recovery_codes_left: i64) -> SecondFactors {
        SecondFactors { enabled: totp || passkeys > 0, totp, passkeys, recovery_codes_left }
    }
}

/// A TOTP code or a recovery code.
#[derive(Clone, PartialEq, Eq)]
pub enum Code {
    OneTime(String),
    Recovery(String),
}

impl FromStr for Code {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let bare: String = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
        match bare.len() {
            6 if bare.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Code::OneTime(bare)),
            // 16 characters: codes that were issued with 80 bits.
            16 | 24 if bare.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Ok(Code::Recovery(bare.to_ascii_uppercase()))
            }
            _ => Err(Invalid::because("must be six digits or a recovery code")),
        }
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Code(..)")
    }
}

impl JsonSchema for Code {
    fn schema_name() -> Cow<'static, str> {
        "TwoFactorCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Six digits from the authenticator app, or a recovery code.",
            "pattern": "^([0-9]{3} ?[0-9]{3}|[A-Za-z2-7]{4}(-?[A-Za-z2-7]{4}){3}((-?[A-Za-z2-7]{4}){2})?)$",
            "examples": ["492039"],
        })
    }
}

/// Second factor that confirms the request.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeRequest {
    /// Code of the authenticator app; where 2FA is already confirmed, a recovery code works too.
    pub code: Code,
}

/// TOTP secret for an authenticator app; shown only once.
#[derive(Serialize, JsonSchema)]
pub struct Enrollment {
    /// Secret in base32, to be typed into the app.
    pub secret: String,
    /// The same secret as an `otpauth://` URL.
    pub otpauth_url: String,
    /// The URL as a QR code (SVG image).
    pub qr_svg: String,
}

/// New recovery codes; they replace all earlier ones.
#[derive(Serialize, JsonSchema)]
pub struct RecoveryCodes {
    /// Ten recovery codes, each of which replaces a TOTP code once; shown only once.
    pub recovery_codes: Vec<String>,
}
