//! Team members and their roles.
//!
//! A new team member signs in with a magic link. A change of roles or a deactivation ends all sessions of the user. The
//! last admin cannot be removed: changes of the team lock all its members, so that two of them cannot both pass.
//! `customer_users` is what the team does to the users of customers.

mod customer_users;
mod store;

pub use customer_users::{deactivate_user, reactivate_user, sign_out_user};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::customers;
use api::answer::{Created, Json};
use api::api_keys;
use api::checks::{Checked, Checks, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use db::Conn;
use identity::users::{self, NewUser};
use identity::{mailed_links, passkeys, sessions, two_factor};
use platform::mail::{self, AccessChange, AccessChanged, ReadableTime, Recipient, SecondFactorReset, StaffInvited};
use store::MemberRow;
use values::{AccountId, AccountRole, Change, Email, Rfc3339, Role, Roles, Text, UserId};

/// Team member, or user of a customer.
#[derive(Serialize, JsonSchema)]
pub struct AdminUser {
    /// Id of the user.
    pub id: UserId,
    /// Email address with which the user signs in.
    pub email: Email,
    /// Full name of the user.
    pub name: String,
    /// Roles of the user.
    pub roles: Roles,
    /// Whether the user may sign in.
    pub is_active: bool,
    /// Whether signing in needs a second factor.
    pub has_second_factor: bool,
    /// When the user first proved to receive mail at its address (RFC 3339, UTC); null until then.
    pub email_verified_at: Option<Rfc3339>,
    /// When the user was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

impl From<MemberRow> for AdminUser {
    fn from(row: MemberRow) -> Self {
        let MemberRow { id, account_id: _, email, name, roles, is_active, has_second_factor, .. } = row;
        let (email_verified_at, created_at) = (row.email_verified_at.map(Rfc3339::from), row.created_at.into());
        AdminUser { id, email, name, roles, is_active, has_second_factor, email_verified_at, created_at }
    }
}

/// New team member.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminUserCreate {
    /// Email address; a magic link is sent to it.
    email: Email,
    /// Full name.
    name: Text<1, 100>,
    /// Roles: `admin`, `support` or both.
    #[schemars(extend("minItems" = 1, "items" = team_role()))]
    roles: Roles,
}

/// Changes to a team member; any change ends all sessions of the user.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminUserUpdate {
    /// Roles: `admin`, `support` or both.
    #[serde(default)]
    #[schemars(extend("minItems" = 1, "items" = team_role()))]
    roles: Change<Roles>,
    /// Whether the user may sign in.
    #[serde(default)]
    is_active: Change<bool>,
    /// With `is_active: false`, whether the API keys that the member created are revoked too; they stay otherwise.
    #[serde(default)]
    revoke_keys: bool,
}

impl Checks for AdminUserUpdate {
    fn check(given: &Given<'_>) {
        given.check_with("revoke_keys", "is_active", |revoke: bool, is_active: Option<bool>| {
            must(!revoke || is_active == Some(false), "needs is_active to be false")
        });
    }
}

/// Roles of the team and no others.
fn team_role() -> Value {
    json!({ "type": "string", "enum": [Role::Admin, Role::Support] })
}

/// Newest first.
pub async fn list(mut ctx: ReadCtx, listing: Listing<Unfiltered, UserId>) -> Result<Page<AdminUser>, Problem> {
    let below = listing.after.unwrap_or(UserId::new(Uuid::max()));
    let rows = store::list(&mut ctx, below, listing.fetch()).await?;
    listing.page(rows, |row| row.id, AdminUser::from)
}

/// Users of a customer, newest first.
pub async fn list_of_customer(
    mut ctx: ReadCtx,
    Path(account): Path<AccountId>,
    listing: Listing<Unfiltered, UserId>,
) -> Result<Page<AdminUser>, Problem> {
    customers::find(&mut ctx, account).await?;
    let below = listing.after.unwrap_or(UserId::new(Uuid::max()));
    let rows = store::list_of_account(&mut ctx, account, below, listing.fetch()).await?;
    listing.page(rows, |row| row.id, AdminUser::from)
}

/// Creates a team member and sends the invitation by mail.
pub async fn create(
    ctx: RequestCtx,
    Body(request): Body<AdminUserCreate>,
) -> Result<Committed<Created<AdminUser>>, Problem> {
    ctx.commit(request, |tx, request| Box::pin(invite(tx, request))).await
}

async fn invite(tx: &mut Tx<'_>, request: &AdminUserCreate) -> Result<Created<AdminUser>, Problem> {
    let ctx = tx.ctx.clone();
    let AdminUserCreate { email, name, roles } = request.clone();
    let user = NewUser {
        id: tx.new_id(),
        account_id: ctx.principal()?.account_id,
        email,
        name: name.into_string(),
        roles,
        account_role: AccountRole::Owner,
        is_invited: false,
        password_hash: None,
        email_verified_at: None,
    };
    if !users::insert_if_new(tx, &user).await? {
        return Err(Problem::resource_in_use("A user with this email address exists already."));
    }
    ctx.audit_note("user", user.id.to_string());
    ctx.audit_note("roles", Vec::<Role>::from(roles).iter().map(|role| role.as_str()).collect::<Vec<_>>());
    let link = mailed_links::issue_magic_link(tx, &ctx.app, user.id).await?;
    let mail = StaffInvited { link: link.url, expires_at: ReadableTime(link.expires_at) };
    mail::send(tx, &ctx.app, &Recipient::new(&user.email, &user.name), &mail).await?;
    Ok(Created(member(tx, user.id).await?.into()))
}

async fn member(conn: &mut Conn, id: UserId) -> Result<MemberRow, Problem> {
    store::find(conn, id).await?.ok_or_else(Problem::not_found)
}

async fn find_user(conn: &mut Conn, id: UserId) -> Result<MemberRow, Problem> {
    store::find_user(conn, id).await?.ok_or_else(Problem::not_found)
}

pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<UserId>,
    Body(Checked(request)): Body<Checked<AdminUserUpdate>>,
) -> Result<Committed<Json<AdminUser>>, Problem> {
    ctx.audit_note("user", id.to_string());
    ctx.commit((id, request), |tx, (id, request)| Box::pin(apply(tx, *id, request))).await
}

async fn apply(tx: &mut Tx<'_>, id: UserId, request: &AdminUserUpdate) -> Result<Json<AdminUser>, Problem> {
    store::lock_team(tx).await?;
    let before = member(tx, id).await?;
    tx.expect_version(&AdminUser::from(before.clone()))?;
    let (mut roles, mut is_active) = (before.roles, before.is_active);
    request.roles.apply(&mut roles);
    request.is_active.apply(&mut is_active);
    if request.revoke_keys {
        let revoked = api_keys::revoke_of_user(tx, id).await?;
        tx.ctx.audit_note("revoked_keys", revoked);
    }
    if (roles, is_active) == (before.roles, before.is_active) {
        return Ok(Json(before.into()));
    }
    let is_active_admin = |roles: Roles, is_active: bool| is_active && roles.has(Role::Admin);
    let loses_admin = is_active_admin(before.roles, before.is_active) && !is_active_admin(roles, is_active);
    if loses_admin && store::other_admins(tx, id).await? == 0 {
        return Err(Problem::state_conflict("This is the last admin. Make another user an admin first."));
    }
    users::update_access(tx, id, roles, is_active).await?;
    // In this order: a challenge or link that is being used concurrently commits first, and its session ends too.
    two_factor::void_challenges(tx, id).await?;
    if !is_active {
        mailed_links::void_all(tx, id).await?;
    }
    sessions::end_all_sessions(tx, id).await?;
    tx.ctx.audit_note("roles", Vec::<Role>::from(roles).iter().map(|role| role.as_str()).collect::<Vec<_>>());
    tx.ctx.audit_note("is_active", is_active);
    let change = match (before.is_active, is_active) {
        (true, false) => AccessChange::Deactivated,
        (false, true) => AccessChange::Reactivated,
        _ => AccessChange::Roles,
    };
    let (app, at) = (tx.ctx.app.clone(), ReadableTime(tx.ctx.now));
    mail::send(tx, &app, &Recipient::new(&before.email, &before.name), &AccessChanged { change, at }).await?;
    Ok(Json(member(tx, id).await?.into()))
}

/// For a user who lost the app and the recovery codes. Not for oneself: a stolen token could remove the second factor.
pub async fn reset_second_factor(
    ctx: RequestCtx,
    Path(id): Path<UserId>,
) -> Result<Committed<Json<AdminUser>>, Problem> {
    if ctx.principal()?.user_id == id {
        return Err(Problem::forbidden(
            "You cannot reset your own second factor. Ask another admin, or disable it with a code.",
        ));
    }
    ctx.audit_note("user", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            let before = find_user(tx, *id).await?;
            tx.ctx.audit_account(before.account_id);
            two_factor::void_challenges(tx, *id).await?;
            passkeys::delete_all(tx, *id).await?;
            two_factor::delete(tx, *id).await?;
            sessions::end_all_sessions(tx, *id).await?;
            let to = Recipient::new(&before.email, &before.name);
            mail::send(tx, &app, &to, &SecondFactorReset { at: ReadableTime(now) }).await?;
            Ok(Json(find_user(tx, *id).await?.into()))
        })
    })
    .await
}
