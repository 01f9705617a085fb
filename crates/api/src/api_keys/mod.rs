//! API keys: the second kind of caller, beside users with an access token.
//!
//! A key is `tl_live_` (`tl_test_` with the sandbox provider), 43 characters of base62 from 32 random bytes, and a
//! checksum of six, so that scanners recognise a leaked one and nobody looks up a mistyped one. It belongs to an account
//! and does what its scopes say, whether or not its creator has a second factor or still signs in. A revoked key is
//! refused at once for changes and on the node that revoked it, and within a second for reads on other nodes
//! (see `callers`). `identity::api_keys` manages keys.

mod store;

pub use store::{
    ApiKeyId, ApiKeyRow, NewApiKey, count, find, find_of_team, insert, list, list_of_team, lock, purge, revoke,
    revoke_of_user, update,
};

use std::net::IpAddr;
use std::time::Duration;

use super::auth::Principal;
use super::endpoint::Endpoint;
use super::input::sha256;
use super::problem::Problem;
use super::scopes::Scope;
use db::{Conn, DbError, Entropy};
use platform::app::App;
use store::CallerRow;
use values::{AccountRole, Role, Time};

const LIVE: &str = "tl_live_";
const TEST: &str = "tl_test_";
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARS: usize = 43;
const CHECKSUM_CHARS: usize = 6;
/// How many of the random characters are shown.
const SHOWN_CHARS: usize = 6;
/// How exact `last_used_at` is: a key in constant use is written once in this time.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);
/// How long a response to a key without an expiry may go on.
const MAX_RESPONSE: Duration = Duration::from_secs(24 * 3600);

/// A new key, as its owner sees it once.
pub struct Secret {
    pub text: String,
    /// What people tell it from others by.
    pub prefix: String,
    pub hash: [u8; 32],
}

impl Secret {
    pub fn generate(is_live: bool) -> Secret {
        let first = format!("{}{}", if is_live { LIVE } else { TEST }, base62(&Entropy.bytes::<32>(), RANDOM_CHARS));
        let text = format!("{first}{}", checksum(&first));
        let prefix = text.chars().take(LIVE.len() + SHOWN_CHARS).collect();
        Secret { prefix, hash: sha256(text.as_bytes()), text }
    }
}

/// A number of big-endian bytes, with leading zeros.
fn base62(bytes: &[u8], digits: usize) -> String {
    let mut number = bytes.to_vec();
    let mut text = vec!['0'; digits];
    for digit in text.iter_mut().rev() {
        let mut rest = 0;
        for byte in &mut number {
            let value = rest << 8 | usize::from(*byte);
            *byte = u8::try_from(value / ALPHABET.len()).unwrap_or(u8::MAX);
            rest = value % ALPHABET.len();
        }
        *digit = char::from(ALPHABET[rest]);
    }
    text.into_iter().collect()
}

fn checksum(first: &str) -> String {
    base62(&crc32fast::hash(first.as_bytes()).to_be_bytes(), CHECKSUM_CHARS)
}

/// Whether a bearer token means to be a key.
pub fn is_key(token: &str) -> bool {
    token.starts_with(LIVE) || token.starts_with(TEST)
}

fn is_well_formed(token: &str) -> bool {
    let is_long = token.len() == LIVE.len() + RANDOM_CHARS + CHECKSUM_CHARS && token.is_ascii();
    is_long && checksum(&token[..LIVE.len() + RANDOM_CHARS]) == token[LIVE.len() + RANDOM_CHARS..]
}

/// The key that a request came with.
#[derive(Clone, Debug)]
pub struct KeyCaller {
    pub id: ApiKeyId,
    pub name: String,
    scopes: Vec<Scope>,
    last_used_at: Option<Time>,
}

impl KeyCaller {
    pub fn has(&self, needed: Scope) -> bool {
        self.scopes.iter().any(|scope| scope.covers(needed))
    }

    /// Checks that the endpoint is open to keys, and to this one.
    pub fn check(&self, endpoint: &Endpoint) -> Result<(), Problem> {
        match endpoint.scopes.as_slice() {
            [] => Err(Problem::forbidden("API keys cannot call this. Sign in as a user.")),
            scopes if scopes.iter().any(|scope| self.has(*scope)) => Ok(()),
            [needed, ..] => Err(Problem::scope_required(*needed)),
        }
    }

    /// Records that its last use was written.
    pub fn set_touched(&mut self, now: Time) {
        self.last_used_at = Some(now);
    }

    /// Whether its last use is to be written again.
    pub fn is_touch_due(&self, now: Time) -> bool {
        self.last_used_at.is_none_or(|used| now.since(used) >= TOUCH_INTERVAL)
    }
}

/// The caller behind a key.
pub async fn authenticate(conn: &mut Conn, token: &str, ip: IpAddr) -> Result<Principal, Problem> {
    let row = match is_well_formed(token) {
        true => store::find_caller(conn, &sha256(token.as_bytes())).await?,
        false => None,
    };
    // Whoever has a key and calls from elsewhere does not learn that it is good.
    let is_allowed = |row: &CallerRow| {
        row.allowed_cidrs.0.is_empty() || row.allowed_cidrs.0.iter().any(|network| network.contains(ip))
    };
    let row = row.filter(|row| row.revoked_at.is_none()).filter(is_allowed).ok_or_else(|| {
        Problem::token_invalid("The API key is unknown or revoked, or may not be used from this address.")
    })?;
    let now = conn.now();
    if row.expires_at.is_some_and(|at| at <= now) {
        return Err(Problem::token_expired("The API key has expired. Create a new one."));
    }
    let role = if row.is_team { Role::Admin } else { Role::Customer };
    Ok(Principal {
        user_id: row.created_by,
        email: row.email,
        account_id: row.account_id,
        roles: vec![role].into(),
        // What the key may do is in its scopes.
        account_role: AccountRole::Owner,
        session_id: None,
        jti: row.id.uuid(),
        read_only: false,
        impersonator: None,
        // Whoever made the key had signed in a short time before.
        authenticated_at: now,
        expires_at: row.expires_at,
        must_enroll: false,
        key: Some(KeyCaller { id: row.id, name: row.name, scopes: row.scopes.0, last_used_at: row.last_used_at }),
    })
}

/// Until when a response may go on that outlives its request, at most a day; none if the key was revoked or has expired.
pub async fn valid_until(conn: &mut Conn, key: ApiKeyId) -> Result<Option<Time>, DbError> {
    let now = conn.now();
    let limit = now.plus(MAX_RESPONSE);
    let expires_at = store::find_expiry(conn, key).await?.map(|expires_at| expires_at.unwrap_or(limit).min(limit));
    Ok(expires_at.filter(|expires_at| now < *expires_at))
}

/// Records the use of a key. A failure is logged only: it must not fail the request.
pub async fn touch(app: &App, key: ApiKeyId, ip: IpAddr, now: Time) {
    let written = app.db.tx((key, ip, now), |conn, (key, ip, now)| {
        Box::pin(async move {
            conn.set_now(*now);
            store::touch(conn, *key, *ip, now.minus(TOUCH_INTERVAL)).await
        })
    });
    if let Err(error) = written.await {
        tracing::warn!(%error, "last use of an API key not written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_49_characters_after_its_prefix_and_a_checksum() {
        for (is_live, start) in [(true, LIVE), (false, TEST)] {
            let secret = Secret::generate(is_live);
            assert!(secret.text.starts_with(start) && secret.text.starts_with(&secret.prefix));
            assert_eq!(secret.text.len(), start.len() + 49);
            assert!(secret.text[start.len()..].bytes().all(|c| c.is_ascii_alphanumeric()));
            assert!(is_key(&secret.text) && is_well_formed(&secret.text));
        }
    }

    #[test]
    fn a_mistyped_key_fails_its_checksum() {
        let text = Secret::generate(true).text;
        for (at, _) in text.char_indices() {
            let mut other = text.clone().into_bytes();
            other[at] = if other[at] == b'x' { b'y' } else { b'x' };
            assert!(!is_well_formed(&String::from_utf8_lossy(&other)), "{at}");
        }
        assert!(!is_well_formed("tl_live_") && !is_well_formed(&text[1..]) && !is_well_formed(&format!("{text}0")));
    }

    #[test]
    fn numbers_are_written_in_base_62() {
        assert_eq!(base62(&[0; 32], 43), "0".repeat(43));
        assert_eq!(base62(&[61], 2), "0z");
        assert_eq!(base62(&[62], 2), "10");
        assert_eq!(base62(&u32::MAX.to_be_bytes(), 6), "4gfFC3");
        // 2^256 - 1 fits.
        assert_eq!(base62(&[255; 32], 44).chars().next(), Some('0'));
    }
}
