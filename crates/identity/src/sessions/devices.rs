//! The signed-in user and its sessions: `GET /me`, `/me/sessions`.

use super::store;
use super::types::{Device, MeResponse, MeUser};
use crate::{accounts, two_factor, users};
use api::answer::{Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::Path;
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use values::{Rfc3339, SessionId};

pub async fn me(mut ctx: ReadCtx) -> Result<Json<MeResponse>, Problem> {
    let principal = ctx.principal()?;
    let (user, account, roles) = (principal.user_id, principal.account_id, principal.roles);
    let user = users::find(&mut ctx, user).await?.ok_or_else(Problem::not_found)?;
    let user = MeUser {
        id: user.id,
        email: user.email,
        name: user.name,
        roles,
        account_role: Some(user.account_role).filter(|_| !roles.is_team()),
        email_verified_at: user.email_verified_at.map(Rfc3339::from),
        has_password: user.password_hash.is_some(),
        two_factor: two_factor::summary(&mut ctx, user.id).await?,
    };
    Ok(Json(MeResponse { user, account: accounts::view(&mut ctx, account).await? }))
}

pub async fn list_devices(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<SessionId>>,
) -> Result<Page<Device>, Problem> {
    let principal = ctx.principal()?;
    let (user, current) = (principal.user_id, principal.session_id);
    let sessions = store::list_sessions(&mut ctx, user, listing.before(), listing.fetch()).await?;
    listing.page(
        sessions,
        |session| (session.created_at, session.id),
        |session| Device {
            id: session.id,
            created_at: session.created_at.into(),
            last_used_at: session.last_used_at.into(),
            ip: session.ip,
            user_agent: session.user_agent,
            current: current == Some(session.id),
        },
    )
}

/// Ends all sessions of the user except the one of the request.
pub async fn delete_other_devices(ctx: RequestCtx) -> Result<Committed<NoContent>, Problem> {
    let caller = ctx.principal()?.clone();
    ctx.commit(caller, |tx, caller| {
        Box::pin(async move {
            store::end_other_sessions(tx, caller).await?;
            Ok(NoContent)
        })
    })
    .await
}

pub async fn delete_device(ctx: RequestCtx, Path(id): Path<SessionId>) -> Result<Committed<NoContent>, Problem> {
    let user = ctx.principal()?.user_id;
    ctx.commit((user, id), |tx, (user, id)| {
        Box::pin(async move {
            let session = store::live_session(tx, *id).await?.filter(|session| session.user_id == *user);
            let session = session.ok_or_else(Problem::not_found)?;
            store::end_session(tx, session.id).await?;
            store::revoke_access_of_session(tx, session.id).await?;
            Ok(NoContent)
        })
    })
    .await
}
