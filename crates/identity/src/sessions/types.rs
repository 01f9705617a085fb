//! Request and response types of sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::Account;
use crate::passkeys::PasskeyAssertion;
use crate::two_factor::{Code, SecondFactors};
use crate::users::User;
use values::{AccountId, AccountRole, Email, NewPassword, Rfc3339, Roles, Secret, SessionId, Text, UserId};

/// Email address and password.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInRequest {
    /// Email address of the user.
    pub email: Email,
    /// Password of the user.
    pub password: Secret<8, 200>,
}

/// User who signed in.
#[derive(Clone, Serialize, JsonSchema)]
pub struct SessionUser {
    /// Id of the user.
    pub id: UserId,
    /// Email address of the user.
    pub email: Email,
    /// Id of the account that the user belongs to.
    pub account_id: AccountId,
    /// Roles of the user.
    pub roles: Roles,
}

impl From<&User> for SessionUser {
    fn from(user: &User) -> Self {
        SessionUser { id: user.id, email: user.email.clone(), account_id: user.account_id, roles: user.roles }
    }
}

/// Scheme of the `Authorization` header: always `Bearer`.
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub enum TokenType {
    Bearer,
}

/// Tokens of a session.
#[derive(Serialize, JsonSchema)]
pub struct SessionResponse {
    /// Access token for the `Authorization: Bearer` header; it lasts 15 minutes.
    pub access_token: String,
    /// Refresh token for the next pair of tokens; it works once.
    pub refresh_token: String,
    /// When the access token expires (Unix seconds).
    pub expires_at: i64,
    /// Scheme of the `Authorization` header.
    pub token_type: TokenType,
    /// User who signed in.
    pub user: SessionUser,
}

/// Always `2fa_required`.
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub enum TwoFactorRequired {
    #[serde(rename = "2fa_required")]
    Required,
}

/// Second step of a sign-in: the account needs a second factor.
#[derive(Serialize, JsonSchema)]
pub struct SignInTwoFaRequired {
    /// Always `2fa_required`.
    pub status: TwoFactorRequired,
    /// Token for `POST /admin/2fa/verify` or `POST /auth/passkey`; it expires after five minutes.
    pub tmp_token: String,
}

/// Session, or the request for a second factor.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SignInResponse {
    Session(SessionResponse),
    TwoFactor(SignInTwoFaRequired),
}

/// A token as the client sends it; not checked yet.
pub type OpaqueToken = Text<1, 2048>;

/// Second factor of a sign-in.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyRequest {
    /// Token from the sign-in response; it accepts five attempts.
    pub tmp_token: OpaqueToken,
    /// Code of the authenticator app, or a recovery code.
    pub code: Code,
}

/// Request for a challenge that a passkey answers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasskeyChallengeRequest {
    /// Token from the sign-in response, when the passkey follows a password; otherwise left out.
    pub tmp_token: Option<OpaqueToken>,
}

/// Sign-in with a passkey.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasskeySignInRequest {
    /// Token from the sign-in response, when the passkey follows a password; otherwise left out.
    pub tmp_token: Option<OpaqueToken>,
    /// Answer of the passkey.
    pub passkey: PasskeyAssertion,
}

/// Proof of identity in the middle of a session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReauthenticateRequest {
    /// Password of the user; for users without a second factor.
    pub password: Option<Secret<8, 200>>,
    /// Code of the authenticator app, or a recovery code; required of users with a second factor.
    pub code: Option<Code>,
    /// Passkey in place of a code.
    pub passkey: Option<PasskeyAssertion>,
}

/// Until when the proof counts.
#[derive(Serialize, JsonSchema)]
pub struct ReauthenticateResponse {
    /// Until when this session may call endpoints that need a recent sign-in (RFC 3339, UTC).
    pub valid_until: Rfc3339,
}

/// Refresh token to exchange for a new pair of tokens.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshRequest {
    /// Refresh token of the session; it works once, and using it again ends the session.
    pub refresh_token: OpaqueToken,
}

/// Session to end.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignOutRequest {
    /// Refresh token of the session.
    pub refresh_token: OpaqueToken,
}

/// Request for a password reset link.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgotPasswordRequest {
    /// Email address of the user.
    pub email: Email,
}

/// Confirmation; the same whether or not the email address is known.
#[derive(Serialize, JsonSchema)]
pub struct ForgotPasswordResponse {
    /// What happens next, as a sentence.
    pub message: String,
}

/// New password for the user of a reset link.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetPasswordRequest {
    /// Token from the reset link; it works once, within one hour.
    pub token: OpaqueToken,
    /// New password, 8 to 200 characters, not a common one; all sessions of the user end.
    pub new_password: NewPassword<8, 200>,
}

/// Change of the signed-in user's password.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordChangeRequest {
    /// Current password; left out while the user has none.
    #[serde(default)]
    pub current_password: Option<Secret<8, 200>>,
    /// New password, 8 to 200 characters, not a common one; the user's other sessions end.
    pub new_password: NewPassword<8, 200>,
}

/// Magic link to sign in with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FirstLoginRequest {
    /// Token from the magic link; it works once, within 72 hours.
    pub token: OpaqueToken,
}

/// Magic link to sign in with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MagicLinkRedeemRequest {
    /// Token from the magic link; it works once, within 72 hours.
    pub token: OpaqueToken,
}

/// Tokens of a session that a magic link opened.
#[derive(Serialize, JsonSchema)]
pub struct MagicLinkRedeemResponse {
    /// Access token for the `Authorization: Bearer` header.
    pub access_token: String,
    /// Refresh token for the next pair of tokens; it works once.
    pub refresh_token: String,
    /// Seconds until the access token expires.
    pub expires_in: u64,
}

/// Email address to verify.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyEmailRequest {
    /// Token from the verification link; it works once, within 72 hours.
    pub token: OpaqueToken,
    /// Password of the user. Without it, a password, second factor and sessions from before are removed: whoever signed
    /// up with the address may have been somebody else.
    #[serde(default)]
    pub password: Option<Secret<8, 200>>,
}

/// Confirmation that a mail was sent.
#[derive(Serialize, JsonSchema)]
pub struct VerificationRequested {
    /// What happens next, as a sentence.
    pub message: String,
}

/// The signed-in user.
#[derive(Serialize, JsonSchema)]
pub struct MeUser {
    /// Id of the user.
    pub id: UserId,
    /// Email address of the user.
    pub email: Email,
    /// Name of the user.
    pub name: String,
    /// Roles of the user.
    pub roles: Roles,
    /// What the user may do in its account; null for the team.
    pub account_role: Option<AccountRole>,
    /// When the user first proved to receive mail at its address (RFC 3339, UTC); null until then.
    pub email_verified_at: Option<Rfc3339>,
    /// Whether the user has a password. Without one, only a mailed link signs in.
    pub has_password: bool,
    /// Second factors of the user.
    pub two_factor: SecondFactors,
}

/// The signed-in user and its account.
#[derive(Serialize, JsonSchema)]
pub struct MeResponse {
    /// The signed-in user.
    pub user: MeUser,
    /// Account that the user belongs to.
    pub account: Account,
}

/// Session of the signed-in user: one sign-in on one device.
#[derive(Serialize, JsonSchema)]
pub struct Device {
    /// Id of the session.
    pub id: SessionId,
    /// When the user signed in (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// When the session was last refreshed (RFC 3339, UTC).
    pub last_used_at: Rfc3339,
    /// IP address that the session was last refreshed from.
    pub ip: String,
    /// `User-Agent` header of the sign-in; null when there was none.
    pub user_agent: Option<String>,
    /// Whether this is the session of the request.
    pub current: bool,
}
