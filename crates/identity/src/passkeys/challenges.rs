//! Challenges: what an authenticator signs. They are sealed, so that asking for one stores nothing; a used one is stored
//! until it expires, so that no answer is accepted twice.

use std::time::Duration;

use platform::app::App;
use platform::crypto::keys::Purpose;
use uuid::Uuid;
use values::{Time, UserId};

pub const LIFETIME: Duration = Duration::from_secs(5 * 60);

/// What a challenge is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A new passkey of this user.
    Registration(UserId),
    /// Sign-in, or a proof of identity.
    Assertion,
}

/// A new challenge: 52 bytes that only we can make, never the same twice.
pub fn issue(app: &App, used_for: Use, now: Time) -> Vec<u8> {
    let user = match used_for {
        Use::Registration(user) => user.uuid(),
        Use::Assertion => Uuid::nil(),
    };
    let expires_at = now.plus(LIFETIME).millis().to_be_bytes();
    app.keys.seal(Purpose::PasskeyChallenge, &[user.as_bytes().as_slice(), &expires_at].concat())
}

/// When a challenge expires, if it is ours, for this use, and has not expired yet.
pub fn expiry(app: &App, challenge: &[u8], used_for: Use, now: Time) -> Option<Time> {
    let plain = app.keys.open(Purpose::PasskeyChallenge, challenge)?;
    let (user, rest) = plain.split_first_chunk::<16>()?;
    let (millis, _) = rest.split_first_chunk::<8>()?;
    let expected = match used_for {
        Use::Registration(user) => user.uuid(),
        Use::Assertion => Uuid::nil(),
    };
    let expires_at = Time::from_millis(i64::from_be_bytes(*millis));
    (Uuid::from_bytes(*user) == expected && now < expires_at).then_some(expires_at)
}
