//! The carrier's team: who belongs to it and what they may do.
//!
//! A new member comes in by a magic link. Whoever loses a role or is deactivated is signed out everywhere at once, and
//! there is always an admin left: changes of the team wait for each other, so that no two of them can each leave the
//! other as the last.

mod store;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::customers;
use api::answer::{Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use db::Conn;
use identity::users::{self, NewUser};
use identity::{sessions, two_factor};
use platform::letters::{self, Addressee, Moment, SecondFactorReset, StaffInvited};
use store::MemberRow;
use values::{AccountId, Change, Email, Rfc3339, Role, Roles, Text, UserId};

/// A member of the team, or a user of a customer.
#[derive(Serialize, JsonSchema)]
pub struct AdminUser {
    pub id: UserId,
    pub email: Email,
    pub name: String,
    pub roles: Roles,
    pub is_active: bool,
    /// Whether signing in takes a code.
    pub has_second_factor: bool,
    pub created_at: Rfc3339,
}

impl From<MemberRow> for AdminUser {
    fn from(row: MemberRow) -> Self {
        let MemberRow { id, account_id: _, email, name, roles, is_active, has_second_factor, created_at } = row;
        AdminUser { id, email, name, roles, is_active, has_second_factor, created_at: created_at.into() }
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminUserCreate {
    email: Email,
    name: Text<1, 100>,
    /// `admin`, `support` or both.
    #[schemars(extend("minItems" = 1, "items" = team_role()))]
    roles: Roles,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminUserUpdate {
    /// `admin`, `support` or both.
    #[serde(default)]
    #[schemars(extend("minItems" = 1, "items" = team_role()))]
    roles: Change<Roles>,
    #[serde(default)]
    is_active: Change<bool>,
}

/// Roles of the team and no others.
fn team_role() -> Value {
    json!({ "type": "string", "enum": [Role::Admin, Role::Support] })
}

/// The newest first.
pub async fn list(mut ctx: ReadCtx, listing: Listing<Unfiltered, UserId>) -> Result<Page<AdminUser>, Problem> {
    let below = listing.after.unwrap_or(UserId::new(Uuid::max()));
    let rows = store::list(&mut ctx, below, listing.fetch()).await?;
    listing.page(rows, |row| row.id, AdminUser::from)
}

/// Who signs in for a customer, the newest first.
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

/// A new colleague, who hears of it by mail.
pub async fn create(
    ctx: RequestCtx,
    Body(wanted): Body<AdminUserCreate>,
) -> Result<Committed<Created<AdminUser>>, Problem> {
    ctx.commit(wanted, |tx, wanted| Box::pin(invite(tx, wanted))).await
}

async fn invite(tx: &mut Tx<'_>, wanted: &AdminUserCreate) -> Result<Created<AdminUser>, Problem> {
    let (call, now) = (tx.ctx.clone(), tx.ctx.now);
    let AdminUserCreate { email, name, roles } = wanted.clone();
    let user = NewUser {
        id: UserId::new(call.app.entropy.uuid(now)),
        account_id: call.principal()?.account_id,
        email,
        name: name.into_string(),
        roles,
        password_hash: None,
    };
    if !users::insert_if_new(tx, &user, now).await? {
        return Err(Problem::resource_in_use("This address belongs to a user already."));
    }
    call.audit_note("user", user.id.to_string());
    call.audit_note("roles", Vec::<Role>::from(roles).iter().map(|role| role.as_str()).collect::<Vec<_>>());
    let link = sessions::issue_magic_link(tx, &call.app, user.id, now).await?;
    let told = StaffInvited { link: link.url, expires_at: Moment(link.expires_at) };
    letters::send(tx, &call.app, &Addressee::new(&user.email, &user.name), &told, now).await?;
    Ok(Created(member(tx, user.id).await?.into()))
}

async fn member(conn: &mut Conn, id: UserId) -> Result<MemberRow, Problem> {
    store::find(conn, id).await?.ok_or_else(Problem::not_found)
}

async fn anybody(conn: &mut Conn, id: UserId) -> Result<MemberRow, Problem> {
    store::find_anybody(conn, id).await?.ok_or_else(Problem::not_found)
}

pub async fn change(
    ctx: RequestCtx,
    Path(id): Path<UserId>,
    Body(wanted): Body<AdminUserUpdate>,
) -> Result<Committed<Json<AdminUser>>, Problem> {
    ctx.audit_note("user", id.to_string());
    ctx.commit((id, wanted), |tx, (id, wanted)| Box::pin(apply(tx, *id, wanted))).await
}

async fn apply(tx: &mut Tx<'_>, id: UserId, wanted: &AdminUserUpdate) -> Result<Json<AdminUser>, Problem> {
    let now = tx.ctx.now;
    store::hold_team(tx).await?;
    let before = member(tx, id).await?;
    tx.expect_version(&AdminUser::from(before.clone()))?;
    let (mut roles, mut is_active) = (before.roles, before.is_active);
    wanted.roles.apply(&mut roles);
    wanted.is_active.apply(&mut is_active);
    if (roles, is_active) == (before.roles, before.is_active) {
        return Ok(Json(before.into()));
    }
    let governs = |roles: Roles, is_active: bool| is_active && roles.has(Role::Admin);
    let steps_down = governs(before.roles, before.is_active) && !governs(roles, is_active);
    if steps_down && store::other_admins(tx, id).await? == 0 {
        return Err(Problem::state_conflict("This is the last admin; make another one first."));
    }
    store::update(tx, id, roles, is_active, now).await?;
    // In this order: a code or link that is being used meanwhile is waited for, and the session it opens ends too.
    two_factor::void_challenges(tx, id, now).await?;
    if !is_active {
        // Whoever comes back asks for a new one.
        sessions::void_links(tx, id, now).await?;
    }
    sessions::end_everything(tx, id, now).await?;
    tx.ctx.audit_note("roles", Vec::<Role>::from(roles).iter().map(|role| role.as_str()).collect::<Vec<_>>());
    tx.ctx.audit_note("is_active", is_active);
    Ok(Json(member(tx, id).await?.into()))
}

/// For a colleague or a customer who lost the app and the recovery codes. Nobody does it for itself: a stolen token could.
pub async fn reset_second_factor(
    ctx: RequestCtx,
    Path(id): Path<UserId>,
) -> Result<Committed<Json<AdminUser>>, Problem> {
    if ctx.principal()?.user_id == id {
        return Err(Problem::forbidden("Ask another admin, or disable it yourself with a code."));
    }
    ctx.audit_note("user", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            let before = anybody(tx, *id).await?;
            tx.ctx.audit_account(before.account_id);
            two_factor::void_challenges(tx, *id, now).await?;
            two_factor::remove(tx, *id).await?;
            sessions::end_everything(tx, *id, now).await?;
            let to = Addressee::new(&before.email, &before.name);
            letters::send(tx, &app, &to, &SecondFactorReset { at: Moment(now) }, now).await?;
            Ok(Json(anybody(tx, *id).await?.into()))
        })
    })
    .await
}
