//! The signed-in user and its sessions: `GET /me`, `/me/sessions`.

use super::store;
use super::types::{Device, MeResponse, MeUser};
use crate::accounts;
use api::answer::{Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::Path;
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use values::SessionId;

pub async fn me(mut ctx: ReadCtx) -> Result<Json<MeResponse>, Problem> {
    let principal = ctx.principal()?;
    let user = MeUser { id: principal.user_id, email: principal.email.clone(), roles: principal.roles };
    let account = principal.account_id;
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
