//! Authentication: the bearer token, an access token or an API key, checked against its row: on every request that
//! changes something, and once a second for those that read (see `callers`).

use std::net::IpAddr;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderMap};
use uuid::Uuid;

use super::api_keys::{self, KeyCaller};
use super::endpoint::Endpoint;
use super::problem::Problem;
use db::{Conn, params, row, sql};
use platform::app::App;
use platform::crypto::tokens::TokenError;
use platform::limits::Subject;
use values::{AccountId, AccountRole, Email, Role, Roles, SessionId, Time, UserId};

/// How long a sign-in counts as recent.
pub const RECENT_SIGN_IN: Duration = Duration::from_secs(15 * 60);

/// Who may call an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// No token needed.
    Anyone,
    /// Any signed-in user.
    SignedIn,
    /// A customer for its own account, or an admin for the operator's account.
    Holder,
    /// A customer, in its own account.
    Customer,
    /// The team: admin or support.
    Team,
    /// Admins only.
    Admin,
}

impl Who {
    fn admits(self, roles: &Roles) -> bool {
        match self {
            Who::Anyone | Who::SignedIn => true,
            Who::Holder => roles.has(Role::Customer) || roles.has(Role::Admin),
            Who::Customer => roles.has(Role::Customer),
            Who::Team => roles.is_team(),
            Who::Admin => roles.has(Role::Admin),
        }
    }

    /// Whether a customer may call the endpoint with a token.
    pub fn admits_customers(self) -> bool {
        matches!(self, Who::SignedIn | Who::Holder | Who::Customer)
    }

    /// Whether a team member may call the endpoint with a token.
    pub fn admits_team(self) -> bool {
        !matches!(self, Who::Anyone | Who::Customer)
    }

    /// The roles as OpenAPI lists them (`x-roles`).
    pub fn roles(self) -> &'static [&'static str] {
        match self {
            Who::Anyone => &[],
            Who::SignedIn => &["customer", "admin", "support"],
            Who::Holder => &["customer", "admin"],
            Who::Customer => &["customer"],
            Who::Team => &["admin", "support"],
            Who::Admin => &["admin"],
        }
    }
}

/// A caller with a valid token.
#[derive(Clone, Debug)]
pub struct Principal {
    pub user_id: UserId,
    pub email: Email,
    pub account_id: AccountId,
    pub roles: Roles,
    /// What a customer's user may do in its account. It does not bind the team.
    pub account_role: AccountRole,
    /// The session of this token; none with impersonation.
    pub session_id: Option<SessionId>,
    pub jti: Uuid,
    pub read_only: bool,
    /// The admin behind an impersonation.
    pub impersonator: Option<UserId>,
    /// When the user last proved its identity in this session; refreshing tokens does not.
    pub authenticated_at: Time,
    /// When the token or key expires; none for a key without an expiry.
    pub expires_at: Option<Time>,
    /// Whether the user must set up a second factor before anything else.
    pub must_enroll: bool,
    /// The API key of the request, if it came with one; `user_id` is its creator's.
    pub key: Option<KeyCaller>,
}

impl Principal {
    /// The user, or the admin behind an impersonation.
    pub fn person(&self) -> UserId {
        self.impersonator.unwrap_or(self.user_id)
    }

    /// Whose requests are counted: each key's apart, else the person's.
    pub fn limit_subject(&self) -> Subject {
        match &self.key {
            Some(key) => Subject::api_key(key.id.uuid()),
            None => Subject::user(self.person()),
        }
    }

    /// Checks that the user proved its identity a short time ago.
    pub fn check_recent_sign_in(&self, now: Time) -> Result<(), Problem> {
        if now.since(self.authenticated_at) <= RECENT_SIGN_IN {
            return Ok(());
        }
        Err(Problem::reauthentication_required())
    }

    /// Checks scope and role.
    pub fn check(&self, endpoint: &Endpoint) -> Result<(), Problem> {
        if self.read_only && endpoint.changes() {
            return Err(Problem::forbidden("This token is read-only."));
        }
        if !endpoint.who.admits(&self.roles) {
            return Err(Problem::forbidden("Your role does not allow this."));
        }
        match &self.key {
            Some(key) => key.check(endpoint),
            None => self.check_account_role(endpoint.account_role.unwrap_or(AccountRole::Owner)),
        }
    }

    /// Checks the role of a customer's user, which the endpoint's row names, or where only the handler knows it.
    pub fn check_account_role(&self, least: AccountRole) -> Result<(), Problem> {
        match (self.roles.is_team() || self.account_role.covers(least), least) {
            (true, _) => Ok(()),
            (_, AccountRole::Billing) => {
                Err(Problem::forbidden("This is for owners and billing users of the account."))
            }
            (_, AccountRole::Technical) => {
                Err(Problem::forbidden("This is for owners and technical users of the account."))
            }
            _ => Err(Problem::forbidden("This is for owners of the account.")),
        }
    }
}

row! {
    struct LiveToken {
        email: Email,
        account_id: AccountId,
        roles: Roles,
        account_role: AccountRole,
        session_id: Option<SessionId>,
        is_read_only: bool,
        impersonator: Option<UserId>,
        is_revoked: bool,
        is_active: bool,
        authenticated_at: Time,
    }
}

/// The caller with this bearer token: a user with an access token, or an API key.
pub async fn authenticate(conn: &mut Conn, app: &App, token: &str, ip: IpAddr) -> Result<Principal, Problem> {
    let now = conn.now();
    if api_keys::is_key(token) {
        return api_keys::authenticate(conn, token, ip).await;
    }
    let claims = app.tokens.read_access(token, now).map_err(|error| match error {
        TokenError::Expired => {
            Problem::token_expired("The access token has expired. Refresh it with POST /v1/auth/refresh.")
        }
        TokenError::Invalid => Problem::token_invalid("The access token is not valid."),
    })?;
    let live: Option<LiveToken> = conn
        .opt(
            sql!(
                "SELECT u.email, u.account_id, u.roles, u.account_role, t.session_id, t.is_read_only OR t.impersonator_id IS NOT NULL,
                        t.impersonator_id, t.revoked_at IS NOT NULL, u.is_active, t.authenticated_at
                 FROM access_tokens t JOIN users u ON u.id = t.user_id
                 WHERE t.jti = $1 AND t.user_id = $2"
            ),
            params![claims.jti, claims.sub],
        )
        .await?;
    let Some(live) = live.filter(|live| live.is_active && !live.is_revoked) else {
        return Err(Problem::token_invalid("The access token was revoked."));
    };
    // A role that was revoked does not count, even if the token has it.
    let roles = claims.roles.intersection(live.roles);
    let is_bound = app.settings.require_team_2fa && roles.is_team();
    let must_enroll = is_bound && !has_second_factor(conn, claims.sub).await?;
    // Whose account, whether it may write and who impersonates is in the rows; the claims only tell the client.
    Ok(Principal {
        user_id: claims.sub,
        email: live.email,
        account_id: live.account_id,
        roles,
        account_role: live.account_role,
        session_id: live.session_id,
        jti: claims.jti,
        read_only: live.is_read_only,
        impersonator: live.impersonator,
        authenticated_at: live.authenticated_at,
        expires_at: Some(Time::from_millis(claims.exp.saturating_mul(1000))),
        must_enroll,
        key: None,
    })
}

/// Until when the caller may be served; none if the token or key was revoked or has expired meanwhile. For responses that
/// outlive the request.
pub async fn valid_until(conn: &mut Conn, caller: &Principal) -> Result<Option<Time>, Problem> {
    if let Some(key) = &caller.key {
        return Ok(api_keys::valid_until(conn, key.id).await?);
    }
    let live: Option<(Time,)> = conn
        .opt(
            sql!(
                "SELECT t.expires_at FROM access_tokens t JOIN users u ON u.id = t.user_id
                 WHERE t.jti = $1 AND t.user_id = $2 AND t.revoked_at IS NULL AND u.is_active"
            ),
            params![caller.jti, caller.user_id],
        )
        .await?;
    let now = conn.now();
    Ok(live.map(|(expires_at,)| expires_at).filter(|expires_at| now < *expires_at))
}

async fn has_second_factor(conn: &mut Conn, user: UserId) -> Result<bool, Problem> {
    let found: Option<(UserId,)> = conn
        .opt(
            sql!(
                "SELECT user_id FROM two_factor_seeds WHERE user_id = $1 AND confirmed_at IS NOT NULL
                 UNION SELECT user_id FROM passkeys WHERE user_id = $1"
            ),
            params![user],
        )
        .await?;
    Ok(found.is_some())
}

/// The bearer token of the `Authorization` header.
pub fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(Problem::token_invalid("Send one Authorization header: `Bearer` and your access token."));
    };
    let text = value.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() => Ok(token),
        _ => Err(Problem::token_invalid("The Authorization header must be `Bearer` and your access token.")),
    }
}
