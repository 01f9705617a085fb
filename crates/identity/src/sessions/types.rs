//! Sessions over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::Account;
use crate::two_factor::Code;
use crate::users::User;
use values::{AccountId, Email, Rfc3339, Roles, Secret, SessionId, Text, UserId};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInRequest {
    pub email: Email,
    pub password: Secret<8, 200>,
}

#[derive(Clone, Serialize, JsonSchema)]
pub struct SessionUser {
    pub id: UserId,
    pub email: Email,
    pub account_id: AccountId,
    pub roles: Roles,
}

impl From<&User> for SessionUser {
    fn from(user: &User) -> Self {
        SessionUser { id: user.id, email: user.email.clone(), account_id: user.account_id, roles: user.roles }
    }
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
pub enum TokenType {
    Bearer,
}

#[derive(Serialize, JsonSchema)]
pub struct SessionResponse {
    pub access_token: String,
    pub refresh_token: String,
    /// When the access token ends, in Unix seconds.
    pub expires_at: i64,
    pub token_type: TokenType,
    pub user: SessionUser,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
pub enum TwoFactorRequired {
    #[serde(rename = "2fa_required")]
    Required,
}

#[derive(Serialize, JsonSchema)]
pub struct SignInTwoFaRequired {
    pub status: TwoFactorRequired,
    /// For `POST /admin/2fa/verify`, within five minutes.
    pub tmp_token: String,
}

/// A session, or the demand for a second factor.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SignInResponse {
    Session(SessionResponse),
    TwoFactor(SignInTwoFaRequired),
}

/// A token as it was handed out. Whether it means anything is for the database to say.
pub type OpaqueToken = Text<1, 2048>;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyRequest {
    pub tmp_token: OpaqueToken,
    pub code: Code,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshRequest {
    pub refresh_token: OpaqueToken,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignOutRequest {
    pub refresh_token: OpaqueToken,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgotPasswordRequest {
    pub email: Email,
}

#[derive(Serialize, JsonSchema)]
pub struct ForgotPasswordResponse {
    pub message: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetPasswordRequest {
    pub token: OpaqueToken,
    pub new_password: Secret<8, 200>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FirstLoginRequest {
    pub token: OpaqueToken,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MagicLinkRedeemRequest {
    pub token: OpaqueToken,
}

#[derive(Serialize, JsonSchema)]
pub struct MagicLinkRedeemResponse {
    pub access_token: String,
    pub refresh_token: String,
    /// Seconds until the access token ends.
    pub expires_in: u64,
}

#[derive(Serialize, JsonSchema)]
pub struct MeUser {
    pub id: UserId,
    pub email: Email,
    pub roles: Roles,
}

#[derive(Serialize, JsonSchema)]
pub struct MeResponse {
    pub user: MeUser,
    pub account: Account,
}

/// A signed-in device.
#[derive(Serialize, JsonSchema)]
pub struct Device {
    pub id: SessionId,
    pub created_at: Rfc3339,
    pub last_used_at: Rfc3339,
    pub ip: String,
    pub user_agent: Option<String>,
    /// Whether this is the session that asks.
    pub current: bool,
}
