//! Users of a customer's account, and what each may do: its `account_role`.
//!
//! An owner invites a user by mail. The last owner can be neither deleted, deactivated nor demoted; an invited owner
//! counts once it has signed in. Changes lock all users of the account, so that two of them cannot both pass.
//!
//! Nobody learns from an invitation whether an address belongs to a user of another account: then too a user is listed
//! as invited, whom no link reaches, and the owner of the address gets a mail. The role itself is checked in the
//! pipeline, by what the endpoint's row says.

mod store;
mod types;

use crate::mailed_links::{self, MailKind};
use crate::users::{self, NewUser};
use crate::{accounts, invitations, onboarding, passkeys, sessions, two_factor};
use api::answer::{Created, Json, NoContent};
use api::api_keys;
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use db::Conn;
use platform::limits::{Limit, Subject};
use platform::mail::{self, InvitationRefused, MembershipChange, MembershipChanged, ReadableTime, Recipient};
use serde_json::Value;
use store::MemberRow;
use types::{AccountUser, AccountUserCreate, AccountUserUpdate, UserActivation};
use uuid::Uuid;
use values::{AccountId, AccountRole, Change, Role, UserId};

/// Maximum number of users of an account.
const MAX_USERS: i64 = 100;

/// Newest first.
pub async fn list(mut ctx: ReadCtx, listing: Listing<Unfiltered, UserId>) -> Result<Page<AccountUser>, Problem> {
    let account = ctx.principal()?.account_id;
    let below = listing.after.unwrap_or(UserId::new(Uuid::max()));
    let rows = store::list(&mut ctx, account, below, listing.fetch()).await?;
    listing.page(rows, |row| row.id, AccountUser::from)
}

pub async fn invite(
    ctx: RequestCtx,
    Body(request): Body<AccountUserCreate>,
) -> Result<Committed<Created<AccountUser>>, Problem> {
    let (account, user) = (ctx.principal()?.account_id, ctx.principal()?.user_id);
    let mut conn = ctx.app.db.read().await?;
    onboarding::require_active(&mut conn, account).await?;
    onboarding::require_verified_email(&mut conn, &ctx.app, user).await?;
    drop(conn);
    ctx.limit(Limit::Invitations, Subject::account(account)).await?;
    ctx.limit(Limit::Mails, MailKind::Invitation.subject(&request.email)).await?;
    ctx.commit(request, |tx, request| Box::pin(create(tx, request))).await
}

async fn create(tx: &mut Tx<'_>, request: &AccountUserCreate) -> Result<Created<AccountUser>, Problem> {
    let ctx = tx.ctx.clone();
    let account = lock(tx).await?;
    ctx.audit_note("account_role", request.account_role.as_str());
    let id = match store::find_by_address(tx, account, &request.email).await? {
        Some(known) => {
            mail_again(tx, &known).await?;
            known.id
        }
        None => create_new(tx, account, request).await?,
    };
    ctx.audit_note("user", id.to_string());
    Ok(Created(member(tx, account, id).await?.into()))
}

/// Locks the users of the caller's account. The caller may have lost its role while it waited.
async fn lock(tx: &mut Tx<'_>) -> Result<AccountId, Problem> {
    let ctx = tx.ctx.clone();
    let caller = ctx.principal()?;
    store::lock_all(tx, caller.account_id).await?;
    users::require_role(tx, caller.user_id, AccountRole::Owner).await?;
    Ok(caller.account_id)
}

/// The user is in the account already: an invited one gets a new link, any other is told.
async fn mail_again(tx: &mut Tx<'_>, known: &MemberRow) -> Result<(), Problem> {
    let is_waiting = known.is_pending && known.is_active;
    let has_address = !known.is_shadow || (is_waiting && users::claim_free_address(tx, known.id).await?);
    if is_waiting && has_address { send_link(tx, known).await } else { send_refusal(tx, known).await }
}

async fn create_new(tx: &mut Tx<'_>, account: AccountId, request: &AccountUserCreate) -> Result<UserId, Problem> {
    if store::count(tx, account).await? >= MAX_USERS {
        return Err(Problem::state_conflict(format!("An account can have {MAX_USERS} users. Delete one first.")));
    }
    let user = NewUser {
        id: tx.new_id(),
        account_id: account,
        email: request.email.clone(),
        name: request.name.to_string(),
        roles: vec![Role::Customer].into(),
        account_role: request.account_role,
        is_invited: true,
        password_hash: None,
        email_verified_at: None,
    };
    let is_new = users::insert_if_new(tx, &user).await?;
    if !is_new {
        users::insert_shadow(tx, &user).await?;
    }
    let row = member(tx, account, user.id).await?;
    if is_new {
        send_link(tx, &row).await?
    } else {
        send_refusal(tx, &row).await?
    }
    Ok(user.id)
}

async fn send_link(tx: &mut Tx<'_>, user: &MemberRow) -> Result<(), Problem> {
    let app = tx.ctx.app.clone();
    let account = tx.ctx.principal()?.account_id;
    Ok(invitations::send(tx, &app, account, user.id, &Recipient::new(&user.email, &user.name)).await?)
}

async fn send_refusal(tx: &mut Tx<'_>, user: &MemberRow) -> Result<(), Problem> {
    let app = tx.ctx.app.clone();
    let account = tx.ctx.principal()?.account_id;
    let mail = InvitationRefused { company: invitations::company(tx, account).await? };
    // The name in the request may not be the owner's.
    Ok(mail::send(tx, &app, &Recipient::unnamed(&user.email), &mail).await?)
}

async fn member(conn: &mut Conn, account: AccountId, id: UserId) -> Result<MemberRow, Problem> {
    store::find(conn, account, id).await?.ok_or_else(Problem::not_found)
}

pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<UserId>,
    Body(Checked(request)): Body<Checked<AccountUserUpdate>>,
) -> Result<Committed<Json<AccountUser>>, Problem> {
    ctx.audit_note("user", id.to_string());
    ctx.commit((id, request), |tx, (id, request)| Box::pin(apply(tx, *id, request))).await
}

async fn apply(tx: &mut Tx<'_>, id: UserId, request: &AccountUserUpdate) -> Result<Json<AccountUser>, Problem> {
    let account = lock(tx).await?;
    let before = member(tx, account, id).await?;
    tx.expect_version(&AccountUser::from(before.clone()))?;
    let AccountUserUpdate { name, account_role, status, revoke_keys } = request.clone();
    let mut after = before.clone();
    if let Change::Set(name) = name {
        after.name = name.into_string();
    }
    account_role.apply(&mut after.account_role);
    if let Change::Set(status) = status {
        after.is_active = status == UserActivation::Active;
    }
    if after.is_active {
        require_unblocked(&before)?;
    }
    keep_an_owner(tx, account, &before, Some(&after)).await?;
    users::update_member(tx, id, &after.name, after.account_role, after.is_active).await?;
    note_changes(tx.ctx, &before, &after);
    if revoke_keys {
        let revoked = api_keys::revoke_of_user(tx, id).await?;
        tx.ctx.audit_note("revoked_keys", revoked);
    }
    let change = match (before.is_active, after.is_active) {
        (true, false) => {
            end_access(tx, &before).await?;
            Some(MembershipChange::Deactivated)
        }
        (false, true) => Some(MembershipChange::Reactivated),
        _ if before.account_role != after.account_role => Some(MembershipChange::Role(after.account_role)),
        _ => None,
    };
    if let Some(change) = change {
        tell(tx, &before, change).await?;
    }
    Ok(Json(member(tx, account, id).await?.into()))
}

fn note_changes(ctx: &RequestCtx, before: &MemberRow, after: &MemberRow) {
    let fields = |row: &MemberRow| {
        [
            ("account_role", Value::from(row.account_role.as_str())),
            ("name", Value::from(row.name.as_str())),
            ("is_active", Value::from(row.is_active)),
        ]
    };
    ctx.audit_changes(fields(before), fields(after));
}

/// Refuses what would give a user whom the team deactivated its access back: reactivating it, or deleting it in order
/// to invite its address again.
fn require_unblocked(user: &MemberRow) -> Result<(), Problem> {
    if user.is_blocked {
        return Err(Problem::state_conflict("The operator deactivated this user. Ask support to reactivate it."));
    }
    Ok(())
}

/// Refuses a change after which nobody could manage the account. `after` is none for a user who is deleted.
async fn keep_an_owner(
    conn: &mut Conn,
    account: AccountId,
    before: &MemberRow,
    after: Option<&MemberRow>,
) -> Result<(), Problem> {
    let is_owner = |row: &MemberRow| row.account_role == AccountRole::Owner && row.is_active && !row.is_pending;
    let loses_owner = is_owner(before) && !after.is_some_and(is_owner);
    if loses_owner && store::other_owners(conn, account, before.id).await? == 0 {
        return Err(Problem::state_conflict(
            "This is the last owner of the account. Make another user an owner first.",
        ));
    }
    Ok(())
}

/// Ends everything that a user could sign in with, and hands the account's mail on to another owner.
async fn end_access(tx: &mut Tx<'_>, user: &MemberRow) -> Result<(), Problem> {
    // In this order: a challenge or link that is being used concurrently commits first, and its session ends too.
    two_factor::void_challenges(tx, user.id).await?;
    mailed_links::void_all(tx, user.id).await?;
    sessions::end_all_sessions(tx, user.id).await?;
    hand_contact_on(tx, user).await
}

/// Whoever leaves does not stay the contact, who gets the mail about the account.
async fn hand_contact_on(tx: &mut Tx<'_>, user: &MemberRow) -> Result<(), Problem> {
    let ctx = tx.ctx.clone();
    let caller = ctx.principal()?;
    let contact = accounts::contact(tx, caller.account_id).await?;
    if user.is_shadow || contact.is_none_or(|contact| contact.contact_email != user.email) {
        return Ok(());
    }
    if let Some(next) = store::next_contact(tx, caller.account_id, user.id, caller.user_id).await? {
        ctx.audit_note("contact_email", next.contact_email.to_string());
        accounts::set_contact(tx, caller.account_id, &next).await?;
    }
    Ok(())
}

/// Tells the user what an owner changed, unless it never was one.
async fn tell(tx: &mut Tx<'_>, user: &MemberRow, change: MembershipChange) -> Result<(), Problem> {
    if user.is_pending {
        return Ok(());
    }
    let (app, at) = (tx.ctx.app.clone(), ReadableTime(tx.ctx.now));
    let account = tx.ctx.principal()?.account_id;
    let mail = MembershipChanged { company: invitations::company(tx, account).await?, change, at };
    Ok(mail::send(tx, &app, &Recipient::new(&user.email, &user.name), &mail).await?)
}

pub async fn delete(ctx: RequestCtx, Path(id): Path<UserId>) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("user", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let account = lock(tx).await?;
            let user = member(tx, account, *id).await?;
            require_unblocked(&user)?;
            keep_an_owner(tx, account, &user, None).await?;
            end_access(tx, &user).await?;
            passkeys::delete_all(tx, *id).await?;
            two_factor::delete(tx, *id).await?;
            users::delete(tx, *id).await?;
            tell(tx, &user, MembershipChange::Removed).await?;
            Ok(NoContent)
        })
    })
    .await
}
