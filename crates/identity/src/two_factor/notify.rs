//! Tells a user by mail what happened to the way it signs in.

use crate::users;
use api::context::RequestCtx;
use api::problem::Problem;
use db::Conn;
use platform::mail::{self, FactorChange, ReadableTime, Recipient, SecondFactorChanged};
use values::UserId;

/// Queues the mail in the transaction of the change.
pub async fn send(conn: &mut Conn, ctx: &RequestCtx, user: UserId, change: FactorChange) -> Result<(), Problem> {
    let Some(user) = users::find(conn, user).await? else { return Ok(()) };
    let mail = SecondFactorChanged { change, at: ReadableTime(ctx.now), ip: ctx.ip };
    mail::send(conn, &ctx.app, &Recipient::new(&user.email, &user.name), &mail).await?;
    Ok(())
}
