//! Access tokens, and challenge tokens between password and second factor: JWTs signed with HS256 only.
//!
//! Each type has its own audience, so one cannot be used as the other. During a rotation two keys are valid; the `kid`
//! in the header names the one that signed. Expiry is checked with the service's clock, to the second.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use data_encoding::HEXLOWER;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use values::{AccountId, Roles, Time, UserId};

pub const ACCESS_LIFETIME: Duration = Duration::from_secs(900);
pub const CHALLENGE_LIFETIME: Duration = Duration::from_secs(5 * 60);

/// The claims of an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessClaims {
    pub sub: UserId,
    pub acc: AccountId,
    pub roles: Roles,
    pub iat: i64,
    pub exp: i64,
    pub jti: Uuid,
    pub aud: AccessAudience,
    /// Set on an impersonation token, which may only read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The admin who impersonates the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<UserId>,
}

/// The claims of a challenge token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChallengeClaims {
    pub sub: UserId,
    pub iat: i64,
    pub exp: i64,
    pub jti: Uuid,
    pub aud: ChallengeAudience,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessAudience {
    #[serde(rename = "trunkline:access")]
    Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChallengeAudience {
    #[serde(rename = "trunkline:2fa")]
    Challenge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    ReadOnly,
}

/// Why a token was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    Invalid,
    Expired,
}

struct Key {
    kid: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
}

impl Key {
    fn new(secret: &str) -> Key {
        let fingerprint = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, secret.as_bytes());
        Key {
            // Eight bytes of a hash identify the key without revealing it.
            kid: HEXLOWER.encode(&fingerprint.as_ref()[..8]),
            encoding: EncodingKey::from_secret(secret.as_bytes()),
            decoding: DecodingKey::from_secret(secret.as_bytes()),
        }
    }
}

/// Signs tokens with the current key and verifies them with the current or the previous one.
pub struct Tokens {
    current: Key,
    previous: Option<Key>,
    validation: Validation,
    cache: TokenCache,
}

/// Claims of access tokens whose signature was verified: a client sends the same token for fifteen minutes. Expiry and
/// the session's row are still checked on every request.
#[derive(Default)]
struct TokenCache(RwLock<HashMap<Box<str>, AccessClaims>>);

impl TokenCache {
    /// When full, the cache is cleared, which costs one verification per token.
    const MAX_TOKENS: usize = 4096;

    fn find(&self, token: &str) -> Option<AccessClaims> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(token).copied()
    }

    fn insert(&self, token: &str, claims: AccessClaims) {
        let mut cache = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= TokenCache::MAX_TOKENS {
            cache.clear();
        }
        cache.insert(token.into(), claims);
    }
}

impl Tokens {
    pub fn new(secret: &str, previous: Option<&str>) -> Tokens {
        let mut validation = Validation::new(Algorithm::HS256);
        // The library reads the system time and expects audiences as strings; both are checked here instead.
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.required_spec_claims = ["exp", "aud", "sub"].map(str::to_owned).into();
        Tokens { current: Key::new(secret), previous: previous.map(Key::new), validation, cache: TokenCache::default() }
    }

    pub fn sign<C: Serialize>(&self, claims: &C) -> Result<String, jsonwebtoken::errors::Error> {
        let header = Header { kid: Some(self.current.kid.clone()), ..Header::new(Algorithm::HS256) };
        encode(&header, claims, &self.current.encoding)
    }

    pub fn read_access(&self, token: &str, now: Time) -> Result<AccessClaims, TokenError> {
        let claims = match self.cache.find(token) {
            Some(claims) => claims,
            None => {
                let claims = self.read(token)?;
                self.cache.insert(token, claims);
                claims
            }
        };
        check_expiry(claims.iat, claims.exp, now, claims)
    }

    pub fn read_challenge(&self, token: &str, now: Time) -> Result<ChallengeClaims, TokenError> {
        let claims: ChallengeClaims = self.read(token)?;
        check_expiry(claims.iat, claims.exp, now, claims)
    }

    fn read<C: DeserializeOwned>(&self, token: &str) -> Result<C, TokenError> {
        let header = decode_header(token).map_err(|_| TokenError::Invalid)?;
        // A token with a critical extension must be refused unless it is understood, and none is.
        if header.crit.is_some() {
            return Err(TokenError::Invalid);
        }
        let kid = header.kid.ok_or(TokenError::Invalid)?;
        let key = std::iter::once(&self.current).chain(&self.previous).find(|key| key.kid == kid);
        let key = key.ok_or(TokenError::Invalid)?;
        match decode::<C>(token, &key.decoding, &self.validation) {
            Ok(read) => Ok(read.claims),
            Err(error) if matches!(error.kind(), ErrorKind::ExpiredSignature) => Err(TokenError::Expired),
            Err(_) => Err(TokenError::Invalid),
        }
    }
}

fn check_expiry<C>(iat: i64, exp: i64, now: Time, claims: C) -> Result<C, TokenError> {
    if exp < iat {
        return Err(TokenError::Invalid);
    }
    if now.millis() >= exp.saturating_mul(1000) { Err(TokenError::Expired) } else { Ok(claims) }
}
