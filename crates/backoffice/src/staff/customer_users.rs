//! What the team does to a customer's user: sign it out, deactivate it, reactivate it. The user is told by mail.

use schemars::JsonSchema;
use serde::Deserialize;

use super::AdminUser;
use super::store::{self, MemberRow};
use crate::customers;
use api::answer::Json;
use api::api_keys;
use api::context::{Committed, RequestCtx, Tx};
use api::input::{OptionalBody, PathPair};
use api::problem::Problem;
use identity::{mailed_links, sessions, two_factor, users};
use platform::mail::{self, AccessChange, AccessChanged, ReadableTime, Recipient};
use values::{AccountId, UserId};

type Answer = Result<Committed<Json<AdminUser>>, Problem>;

/// What becomes of the API keys of a user who is deactivated; the body may be omitted.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserDeactivation {
    /// Whether the API keys that the user created are revoked too; they stay otherwise.
    #[serde(default)]
    revoke_keys: bool,
}

pub async fn sign_out_user(ctx: RequestCtx, path: PathPair<AccountId, UserId>) -> Answer {
    change(ctx, path, AccessChange::SignedOut, false).await
}

pub async fn deactivate_user(
    ctx: RequestCtx,
    path: PathPair<AccountId, UserId>,
    OptionalBody(request): OptionalBody<UserDeactivation>,
) -> Answer {
    change(ctx, path, AccessChange::Deactivated, request.revoke_keys).await
}

pub async fn reactivate_user(ctx: RequestCtx, path: PathPair<AccountId, UserId>) -> Answer {
    change(ctx, path, AccessChange::Reactivated, false).await
}

async fn change(
    ctx: RequestCtx,
    PathPair(account, user): PathPair<AccountId, UserId>,
    change: AccessChange,
    revoke_keys: bool,
) -> Answer {
    ctx.audit_account(account);
    ctx.audit_note("user", user.to_string());
    ctx.commit((account, user, change, revoke_keys), |tx, (account, user, change, revoke_keys)| {
        Box::pin(async move {
            // Locked first: the user may be making a key, which then is revoked too.
            users::find_locked(tx, *user).await?;
            let before = find(tx, *account, *user).await?;
            if *revoke_keys {
                let revoked = api_keys::revoke_of_user(tx, *user).await?;
                tx.ctx.audit_note("revoked_keys", revoked);
            }
            apply(tx, &before, *change).await?;
            Ok(Json(find(tx, *account, *user).await?.into()))
        })
    })
    .await
}

async fn find(tx: &mut Tx<'_>, account: AccountId, user: UserId) -> Result<MemberRow, Problem> {
    customers::find(tx, account).await?;
    let user = store::find_user(tx, user).await?.filter(|user| user.account_id == account);
    user.ok_or_else(Problem::not_found)
}

async fn apply(tx: &mut Tx<'_>, user: &MemberRow, change: AccessChange) -> Result<(), Problem> {
    let app = tx.ctx.app.clone();
    let is_active = change != AccessChange::Deactivated;
    match change {
        AccessChange::SignedOut if !user.is_active => {
            return Err(Problem::state_conflict("The user is deactivated and has no sessions."));
        }
        AccessChange::Reactivated if user.is_active => return Ok(()),
        // Also where an owner deactivated the user before: from now on no owner reactivates it.
        AccessChange::Deactivated | AccessChange::Reactivated => {
            users::update_access(tx, user.id, user.roles, is_active).await?;
        }
        _ => {}
    }
    // In this order: a challenge or link that is being used concurrently commits first, and its session ends too.
    two_factor::void_challenges(tx, user.id).await?;
    if !is_active {
        mailed_links::void_all(tx, user.id).await?;
    }
    sessions::end_all_sessions(tx, user.id).await?;
    if change == AccessChange::Deactivated && !user.is_active {
        return Ok(());
    }
    let mail = AccessChanged { change, at: ReadableTime(tx.ctx.now) };
    Ok(mail::send(tx, &app, &Recipient::new(&user.email, &user.name), &mail).await?)
}
