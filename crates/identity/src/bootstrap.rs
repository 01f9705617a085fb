//! First admin: created once, over HTTP with the token that the server printed at its first start, or by the command
//! line. The row in `first_admin` makes sure that there is only one.

use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::accounts::{self, NewAccount, OnboardingStatus};
use crate::onboarding::{self, AccountState, AccountStatus, NewOnboarding};
use crate::users::{self, NewUser};
use api::answer::Created;
use api::checks::{Checked, Checks, Given, must};
use api::context::{Committed, RequestCtx};
use api::input::{Body, Description, IncomingRequest, Input};
use api::problem::{Code, Problem};
use db::{Conn, DbError, insert, params, sql};
use values::{AccountId, AccountRole, Country, Email, NewPassword, OWN_WORDS_REASON, Role, Text, UserId};

/// The portal's screen that creates the first admin.
pub const WELCOME: &str = "/welcome";

/// The operator's account and its first admin.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminBootstrapRequest {
    /// Legal name of the operator.
    pub legal_name: Text<1, 200>,
    /// Full name of the first admin.
    pub contact_name: Text<1, 200>,
    /// Email address with which the first admin signs in.
    pub contact_email: Email,
    /// Password of the first admin, 12 to 200 characters, not a common one.
    pub password: NewPassword<12, 200>,
}

impl Checks for AdminBootstrapRequest {
    fn check(given: &Given<'_>) {
        type Password = NewPassword<12, 200>;
        given.check_with("password", "contact_email", |password: Password, email: Email| {
            must(!password.repeats(Some(&email), None), OWN_WORDS_REASON)
        });
        given.check_with("password", "legal_name", |password: Password, name: Text<1, 200>| {
            must(!password.repeats(None, Some(&name)), OWN_WORDS_REASON)
        });
    }
}

/// Ids of the account and the admin that were created.
#[derive(Serialize, JsonSchema)]
pub struct AdminBootstrapResponse {
    /// Id of the operator's account.
    pub account_id: AccountId,
    /// Id of the first admin.
    pub user_id: UserId,
    /// What to do next, as a sentence.
    pub message: String,
}

/// `X-Bootstrap-Token` header, which proves access to the server's console.
pub struct BootstrapToken;

impl Input for BootstrapToken {
    async fn read(ctx: &RequestCtx, inbound: &mut IncomingRequest) -> Result<Self, Problem> {
        let given = inbound.head.headers.get("x-bootstrap-token").map(|value| value.as_bytes()).unwrap_or_default();
        let expected = ctx.app.bootstrap_token.as_bytes();
        match aws_lc_rs::constant_time::verify_slices_are_equal(given, expected) {
            Ok(()) => Ok(BootstrapToken),
            Err(_) => Err(Problem::forbidden(
                "X-Bootstrap-Token is not the token that the server printed at its first start.",
            )),
        }
    }

    fn describe(_: &str, _: &mut SchemaGenerator, description: &mut Description) {
        description.parameters.push(json!({
            "name": "X-Bootstrap-Token", "in": "header", "required": true, "schema": {"type": "string"},
            "description": "Bootstrap token: printed by the server at its first start, or set by TRUNKLINE_BOOTSTRAP_TOKEN.",
        }));
        description.problems.push(Code::Forbidden);
    }
}

pub async fn bootstrap(
    ctx: RequestCtx,
    _: BootstrapToken,
    Body(Checked(request)): Body<Checked<AdminBootstrapRequest>>,
) -> Result<Committed<Created<AdminBootstrapResponse>>, Problem> {
    if exists(&mut *ctx.app.db.read().await?).await? {
        return Err(already_exists());
    }
    let password_hash = ctx.app.passwords.hash(request.password.expose()).await?;
    ctx.commit((request, password_hash), |tx, (request, password_hash)| {
        Box::pin(async move {
            let created = create(tx, request, password_hash.clone()).await.map_err(|error| match error {
                DbError::Unique(_) => {
                    Problem::state_conflict("A user with this email address exists already. Choose another address.")
                }
                error => error.into(),
            })?;
            let (account_id, user_id) = created.ok_or_else(already_exists)?;
            tx.ctx.audit_subject(account_id, user_id, &vec![Role::Admin].into());
            let message = "The first admin was created. Sign in, then set up a second factor.".to_owned();
            Ok(Created(AdminBootstrapResponse { account_id, user_id, message }))
        })
    })
    .await
}

/// The address of that screen. The token follows `#`, which browsers do not send.
pub fn welcome_url(public_url: &str, token: &str) -> String {
    // A generated token needs no escapes; a configured one may.
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    format!("{public_url}{WELCOME}#token={}", token.bytes().map(escaped).collect::<String>())
}

fn already_exists() -> Problem {
    Problem::state_conflict("An admin exists already. Bootstrap is only allowed while there is none.")
}

/// Whether the first admin exists.
pub async fn exists(conn: &mut Conn) -> Result<bool, DbError> {
    let found: Option<(i64,)> = conn.opt(sql!("SELECT id FROM first_admin WHERE id = 1"), params![]).await?;
    Ok(found.is_some())
}

/// Creates the operator's account and its first admin; none when there is one already.
pub async fn create(
    conn: &mut Conn,
    request: &AdminBootstrapRequest,
    password_hash: String,
) -> Result<Option<(AccountId, UserId)>, DbError> {
    let now = conn.now();
    let account_id: AccountId = conn.new_id();
    let user_id: UserId = conn.new_id();
    // The primary key lets one of several concurrent attempts through.
    let first =
        insert!(conn, first_admin { id: 1i64, user_id, created_at: now }, "ON CONFLICT (id) DO NOTHING").await?;
    if first == 0 {
        return Ok(None);
    }
    let account = NewAccount {
        id: account_id,
        company_name: request.legal_name.clone(),
        trading_name: None,
        country: Country::UNKNOWN,
        contact_name: request.contact_name.to_string(),
        contact_email: request.contact_email.clone(),
        contact_phone: None,
    };
    accounts::insert(conn, &account).await?;
    let state =
        AccountState { beta: AccountStatus::Live, onboarding: OnboardingStatus::Approved, suspended_from: None };
    onboarding::insert(conn, account_id, &NewOnboarding { state, is_carrier: true, expected_volume: None }).await?;
    let user = NewUser {
        id: user_id,
        account_id,
        email: request.contact_email.clone(),
        name: request.contact_name.to_string(),
        roles: vec![Role::Admin].into(),
        account_role: AccountRole::Owner,
        is_invited: false,
        password_hash: Some(password_hash),
        // Whoever has the console vouches for the address.
        email_verified_at: Some(now),
    };
    if !users::insert_if_new(conn, &user).await? {
        return Err(DbError::Unique("users_email_key".into()));
    }
    Ok(Some((account_id, user_id)))
}

#[cfg(test)]
mod tests {
    use super::welcome_url;

    #[test]
    fn a_token_in_a_link_is_escaped() {
        let url = "https://voice.example";
        assert_eq!(welcome_url(url, "aZ09-_.~"), "https://voice.example/welcome#token=aZ09-_.~");
        assert!(welcome_url(url, "a+b/c=d e%#é").ends_with("#token=a%2Bb%2Fc%3Dd%20e%25%23%C3%A9"));
    }
}
