//! The signed-in user and its sessions: `GET /me`, `/me/sessions`.

use super::store;
use super::types::{Device, MeResponse, MeUser};
use crate::two_factor::SecondFactors;
use api::answer::{Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::Path;
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use values::{Rfc3339, SessionId};

pub async fn me(mut ctx: ReadCtx) -> Result<Json<MeResponse>, Problem> {
    let principal = ctx.principal()?;
    let (id, roles) = (principal.user_id, principal.roles);
    let (profile, account) = store::profile(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    let user = MeUser {
        id,
        email: profile.email,
        name: profile.name,
        roles,
        account_role: Some(profile.account_role).filter(|_| !roles.is_team()),
        email_verified_at: profile.email_verified_at.map(Rfc3339::from),
        has_password: profile.has_password,
        two_factor: SecondFactors::new(profile.has_app, profile.passkeys, profile.recovery_codes),
    };
    Ok(Json(MeResponse { user, account: account.into() }))
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
