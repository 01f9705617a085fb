//! The first admin: made once, over HTTP with the token the server printed at its first start, or on the command line.

use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::accounts::{self, NewAccount, OnboardingStatus};
use crate::onboarding::{self, AccountStatus, Beginning, Standing};
use crate::users::{self, NewUser};
use api::answer::Created;
use api::context::{Committed, RequestCtx};
use api::input::{Body, Description, IncomingRequest, Input};
use api::problem::{Code, Problem};
use db::{Conn, DbError, params, sql};
use platform::app::App;
use values::{AccountId, Country, Email, Role, Secret, Text, Time, UserId};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminBootstrapRequest {
    pub legal_name: Text<1, 200>,
    pub contact_name: Text<1, 200>,
    pub contact_email: Email,
    pub password: Secret<12, 200>,
}

#[derive(Serialize, JsonSchema)]
pub struct AdminBootstrapResponse {
    pub account_id: AccountId,
    pub user_id: UserId,
    pub message: String,
}

/// The header that proves access to the server's console.
pub struct SetupToken;

impl Input for SetupToken {
    async fn read(ctx: &RequestCtx, inbound: &mut IncomingRequest) -> Result<Self, Problem> {
        let given = inbound.head.headers.get("x-bootstrap-token").map(|value| value.as_bytes()).unwrap_or_default();
        let expected = ctx.app.bootstrap_token.as_bytes();
        match aws_lc_rs::constant_time::verify_slices_are_equal(given, expected) {
            Ok(()) => Ok(SetupToken),
            Err(_) => Err(Problem::forbidden("X-Bootstrap-Token is not the token that the server printed.")),
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
    _: SetupToken,
    Body(request): Body<AdminBootstrapRequest>,
) -> Result<Committed<Created<AdminBootstrapResponse>>, Problem> {
    if exists(&mut *ctx.app.db.read().await?).await? {
        return Err(taken());
    }
    let password_hash = ctx.app.passwords.hash(request.password.expose()).await?;
    ctx.commit((request, password_hash), |tx, (request, password_hash)| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            let made = create(tx, &app, request, password_hash.clone(), now).await.map_err(|error| match error {
                DbError::Unique(_) => {
                    Problem::state_conflict("This address belongs to a user already; choose another.")
                }
                error => error.into(),
            })?;
            let (account_id, user_id) = made.ok_or_else(taken)?;
            tx.ctx.audit_subject(account_id, user_id, &vec![Role::Admin].into());
            let message = "The first admin exists; sign in, then set up a second factor.".to_owned();
            Ok(Created(AdminBootstrapResponse { account_id, user_id, message }))
        })
    })
    .await
}

fn taken() -> Problem {
    Problem::state_conflict("An admin exists already; bootstrap is only allowed while there is none.")
}

pub async fn exists(conn: &mut Conn) -> Result<bool, DbError> {
    let found: Option<(i64,)> = conn.opt(sql!("SELECT id FROM first_admin WHERE id = 1"), params![]).await?;
    Ok(found.is_some())
}

/// Makes the carrier's own account and its first admin; nothing when there is one already.
pub async fn create(
    conn: &mut Conn,
    app: &App,
    request: &AdminBootstrapRequest,
    password_hash: String,
    now: Time,
) -> Result<Option<(AccountId, UserId)>, DbError> {
    let account_id = AccountId::new(app.entropy.uuid(now));
    let user_id = UserId::new(app.entropy.uuid(now));
    // Of any number that try at once, the key lets one through.
    let first = conn
        .exec(
            sql!("INSERT INTO first_admin (id, user_id, created_at) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING"),
            params![user_id, now],
        )
        .await?;
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
    accounts::insert(conn, &account, now).await?;
    let standing = Standing { beta: AccountStatus::Live, onboarding: OnboardingStatus::Approved, suspended_from: None };
    onboarding::begin(conn, account_id, &Beginning { standing, is_carrier: true, expected_volume: None }, now).await?;
    let user = NewUser {
        id: user_id,
        account_id,
        email: request.contact_email.clone(),
        name: request.contact_name.to_string(),
        roles: vec![Role::Admin].into(),
        password_hash: Some(password_hash),
    };
    if !users::insert_if_new(conn, &user, now).await? {
        return Err(DbError::Unique("users_email_key".into()));
    }
    Ok(Some((account_id, user_id)))
}
