//! API keys of a customer's account (`/account/api-keys`) and of the team (`/admin/api-keys`).
//!
//! Creating and changing them needs a recent sign-in; the secret is shown once. Nobody gives a key a scope that its own
//! role does not have. A key outlives its creator, unless the creator's deactivation says `revoke_keys`. What a key may
//! do, and how it is recognised, is in [`api::api_keys`] and [`api::scopes`].

mod types;

use crate::users::{self, User};
use crate::{accounts, onboarding};
use api::answer::{Created, Json, NoContent};
use api::api_keys::{self as keys, ApiKeyId, ApiKeyRow, NewApiKey, Secret};
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use db::Conn;
use platform::mail::{self, ApiKeyMade, ReadableTime, Recipient};
use platform::outside::payments::Provider;
use serde_json::json;
use types::{AdminApiKeyCreate, ApiKey, ApiKeyCreate, ApiKeyCreated, ApiKeyUpdate, NewKey};
use values::{AccountId, Change, List, Role};

/// Maximum number of keys of an account.
const MAX_KEYS: i64 = 100;

type Answer = Result<Committed<Created<ApiKeyCreated>>, Problem>;

/// Whose keys a request is about.
#[derive(Clone, Copy)]
enum Keyring {
    Account(AccountId),
    Team,
}

impl Keyring {
    fn own(ctx: &RequestCtx) -> Result<Keyring, Problem> {
        Ok(Keyring::Account(ctx.principal()?.account_id))
    }

    async fn find(self, conn: &mut Conn, id: ApiKeyId) -> Result<ApiKeyRow, Problem> {
        let found = match self {
            Keyring::Account(account) => keys::find(conn, account, id).await?,
            Keyring::Team => keys::find_of_team(conn, id).await?,
        };
        found.ok_or_else(Problem::not_found)
    }
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<ApiKeyId>>,
) -> Result<Page<ApiKey>, Problem> {
    let account = ctx.principal()?.account_id;
    page_of(&mut ctx, account, listing).await
}

/// The same for the team, of any customer.
pub async fn list_of_customer(
    mut ctx: ReadCtx,
    Path(customer): Path<AccountId>,
    listing: Listing<Unfiltered, NewestFirst<ApiKeyId>>,
) -> Result<Page<ApiKey>, Problem> {
    onboarding::require_customer(&mut ctx, customer).await?;
    page_of(&mut ctx, customer, listing).await
}

async fn page_of(
    conn: &mut Conn,
    account: AccountId,
    listing: Listing<Unfiltered, NewestFirst<ApiKeyId>>,
) -> Result<Page<ApiKey>, Problem> {
    let rows = keys::list(conn, account, listing.before(), listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), ApiKey::from)
}

pub async fn admin_list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<ApiKeyId>>,
) -> Result<Page<ApiKey>, Problem> {
    let rows = keys::list_of_team(&mut ctx, listing.before(), listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), ApiKey::from)
}

pub async fn create(ctx: RequestCtx, Body(Checked(request)): Body<Checked<ApiKeyCreate>>) -> Answer {
    let request = NewKey::from(request);
    for scope in &request.scopes {
        ctx.principal()?.check_account_role(scope.least_role())?;
    }
    commit_new(ctx, request, false).await
}

pub async fn admin_create(ctx: RequestCtx, Body(Checked(request)): Body<Checked<AdminApiKeyCreate>>) -> Answer {
    commit_new(ctx, request.into(), true).await
}

async fn commit_new(ctx: RequestCtx, request: NewKey, is_team: bool) -> Answer {
    ctx.commit((request, is_team), |tx, (request, is_team)| Box::pin(make(tx, request, *is_team))).await
}

async fn make(tx: &mut Tx<'_>, request: &NewKey, is_team: bool) -> Result<Created<ApiKeyCreated>, Problem> {
    let ctx = tx.ctx.clone();
    let caller = ctx.principal()?;
    accounts::lock(tx, caller.account_id).await?;
    let role = if is_team { Role::Admin } else { Role::Customer };
    // The creator may have been deactivated, and its keys revoked, since its token was checked.
    let creator = users::find_locked(tx, caller.user_id).await?;
    let is_same = |user: User| user.is_active && user.account_role == caller.account_role && user.roles.has(role);
    if !creator.is_some_and(is_same) {
        return Err(Problem::forbidden("Your role has changed. Try again."));
    }
    if keys::count(tx, caller.account_id).await? >= MAX_KEYS {
        return Err(Problem::state_conflict(format!("An account can have {MAX_KEYS} API keys. Delete one first.")));
    }
    let secret = Secret::generate(ctx.app.payments.provider() != Provider::Sandbox);
    let key = NewApiKey {
        id: tx.new_id(),
        account_id: caller.account_id,
        is_team,
        created_by: caller.user_id,
        name: request.name.to_string(),
        prefix: secret.prefix,
        secret_hash: secret.hash,
        scopes: values::Words(request.scopes.clone()),
        allowed_cidrs: List(request.allowed_cidrs.clone().unwrap_or_default()),
        expires_at: request.expires_at.map(|at| at.0),
    };
    keys::insert(tx, &key).await?;
    ctx.audit_note("key", key.id.to_string());
    ctx.audit_note("scopes", json!(request.scopes));
    let mail = ApiKeyMade {
        name: mail::safe_name(&key.name).unwrap_or_else(|| key.prefix.clone()),
        prefix: key.prefix.clone(),
        scopes: request.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", "),
        at: ReadableTime(ctx.now),
        ip: ctx.ip,
    };
    mail::send(tx, &ctx.app, &Recipient::unnamed(&caller.email), &mail).await?;
    let keyring = if is_team { Keyring::Team } else { Keyring::Account(caller.account_id) };
    let key = keyring.find(tx, key.id).await?.into();
    Ok(Created(ApiKeyCreated { key, secret: secret.text }))
}

pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<ApiKeyId>,
    Body(Checked(request)): Body<Checked<ApiKeyUpdate>>,
) -> Result<Committed<Json<ApiKey>>, Problem> {
    let keyring = Keyring::own(&ctx)?;
    commit_update(ctx, keyring, id, request).await
}

pub async fn admin_update(
    ctx: RequestCtx,
    Path(id): Path<ApiKeyId>,
    Body(Checked(request)): Body<Checked<ApiKeyUpdate>>,
) -> Result<Committed<Json<ApiKey>>, Problem> {
    commit_update(ctx, Keyring::Team, id, request).await
}

async fn commit_update(
    ctx: RequestCtx,
    keyring: Keyring,
    id: ApiKeyId,
    request: ApiKeyUpdate,
) -> Result<Committed<Json<ApiKey>>, Problem> {
    ctx.audit_note("key", id.to_string());
    ctx.commit((keyring, id, request), |tx, (keyring, id, request)| {
        Box::pin(async move {
            keyring.find(tx, *id).await?;
            keys::lock(tx, *id).await?;
            let before = keyring.find(tx, *id).await?;
            tx.expect_version(&ApiKey::from(before.clone()))?;
            let ApiKeyUpdate { name, allowed_cidrs, expires_at } = request.clone();
            let mut after = before.clone();
            if let Change::Set(name) = name {
                after.name = name.into_string();
            }
            if let Change::Set(networks) = allowed_cidrs {
                after.allowed_cidrs = List(networks);
            }
            if let Change::Set(at) = expires_at {
                after.expires_at = at.map(|at| at.0);
            }
            if !keys::update(tx, *id, &after.name, &after.allowed_cidrs, after.expires_at).await? {
                return Err(Problem::not_found());
            }
            let shown = |row: &ApiKeyRow| {
                let expires_at = row.expires_at.map(values::Rfc3339::from);
                [
                    ("name", json!(row.name)),
                    ("allowed_cidrs", json!(row.allowed_cidrs.0)),
                    ("expires_at", json!(expires_at)),
                ]
            };
            tx.ctx.audit_changes(shown(&before), shown(&after));
            Ok(Json(after.into()))
        })
    })
    .await
}

pub async fn delete(ctx: RequestCtx, Path(id): Path<ApiKeyId>) -> Result<Committed<NoContent>, Problem> {
    let keyring = Keyring::own(&ctx)?;
    commit_revoke(ctx, keyring, id).await
}

pub async fn admin_delete(ctx: RequestCtx, Path(id): Path<ApiKeyId>) -> Result<Committed<NoContent>, Problem> {
    commit_revoke(ctx, Keyring::Team, id).await
}

async fn commit_revoke(ctx: RequestCtx, keyring: Keyring, id: ApiKeyId) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("key", id.to_string());
    ctx.commit((keyring, id), |tx, (keyring, id)| {
        Box::pin(async move {
            keyring.find(tx, *id).await?;
            if !keys::revoke(tx, *id).await? {
                return Err(Problem::not_found());
            }
            Ok(NoContent)
        })
    })
    .await
}
