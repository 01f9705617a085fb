//! Request and response types of an account's users.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::MemberRow;
use api::checks::{Checks, Given, must};
use values::{AccountRole, Change, Email, Rfc3339, Text, UserId, text_enum};

text_enum! {
    /// Status of a user: `invited` until it signs in for the first time, `active`, or `deactivated`.
    pub enum UserStatus {
        Invited = "invited",
        Active = "active",
        Deactivated = "deactivated",
    }
}

text_enum! {
    /// Whether a user may sign in: `active` or `deactivated`.
    pub enum UserActivation {
        Active = "active",
        Deactivated = "deactivated",
    }
}

/// User of an account.
#[derive(Serialize, JsonSchema)]
pub struct AccountUser {
    /// Id of the user.
    pub id: UserId,
    /// Email address with which the user signs in.
    pub email: Email,
    /// Full name of the user.
    pub name: String,
    /// What the user may do in the account.
    pub account_role: AccountRole,
    /// Whether the user was invited, is active or is deactivated.
    pub status: UserStatus,
    /// Whether the operator deactivated the user; then the account can neither reactivate nor delete it.
    pub blocked: bool,
    /// Whether signing in needs a second factor.
    pub two_factor: bool,
    /// When the user last signed in (RFC 3339, UTC); null before the first time.
    pub last_sign_in_at: Option<Rfc3339>,
}

impl From<MemberRow> for AccountUser {
    fn from(row: MemberRow) -> Self {
        let MemberRow { id, email, name, account_role, is_blocked, two_factor, .. } = row;
        let status = match (row.is_active, row.is_pending) {
            (false, _) => UserStatus::Deactivated,
            (true, true) => UserStatus::Invited,
            (true, false) => UserStatus::Active,
        };
        let last_sign_in_at = row.last_sign_in_at.map(Rfc3339::from);
        AccountUser { id, email, name, account_role, status, blocked: is_blocked, two_factor, last_sign_in_at }
    }
}

/// User to invite.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountUserCreate {
    /// Email address; a magic link is sent to it.
    pub email: Email,
    /// Full name.
    pub name: Text<1, 100>,
    /// What the user may do in the account.
    pub account_role: AccountRole,
}

/// Changes to a user of the account; omitted fields stay as they are.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountUserUpdate {
    /// Full name.
    #[serde(default)]
    pub name: Change<Text<1, 100>>,
    /// What the user may do in the account; counts from the next request.
    #[serde(default)]
    pub account_role: Change<AccountRole>,
    /// `deactivated` ends all sessions of the user and refuses further sign-ins; `active` lets it sign in again.
    #[serde(default)]
    pub status: Change<UserActivation>,
    /// With `status: deactivated`, whether the API keys that the user created are revoked too; they stay otherwise.
    #[serde(default)]
    pub revoke_keys: bool,
}

impl Checks for AccountUserUpdate {
    fn check(given: &Given<'_>) {
        given.check_with("revoke_keys", "status", |revoke: bool, status: Option<UserActivation>| {
            let is_deactivated = status == Some(UserActivation::Deactivated);
            must(!revoke || is_deactivated, "needs status to be deactivated")
        });
    }
}
