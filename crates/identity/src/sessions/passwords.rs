//! `POST /me/password`: a signed-in user changes its password, or chooses its first one. Its other sessions end.

use super::sign_in::{check_password, limit_attempts, lockout_key, wrong_credentials};
use super::store;
use super::types::{PasswordChangeRequest, SignInRequest};
use crate::users::{self, User};
use crate::{mailed_links, onboarding, two_factor};
use api::answer::NoContent;
use api::context::{Committed, RequestCtx, Tx};
use api::faults::Faults;
use api::input::Body;
use api::problem::Problem;
use db::Conn;
use platform::mail::{self, PasswordChanged, ReadableTime, Recipient};
use values::{NewPassword, OWN_WORDS_REASON};

pub async fn change_password(
    ctx: RequestCtx,
    Body(request): Body<PasswordChangeRequest>,
) -> Result<Committed<NoContent>, Problem> {
    let PasswordChangeRequest { current_password, new_password } = request;
    let mut conn = ctx.app.db.read().await?;
    let user = users::find(&mut conn, ctx.principal()?.user_id).await?.ok_or_else(Problem::not_found)?;
    let mut faults = Faults::default();
    let is_missing = current_password.is_none() && user.password_hash.is_some();
    faults.unless(!is_missing, "current_password", "is required to replace a password");
    add_own_words(&mut conn, &mut faults, &user, &new_password).await?;
    drop(conn);
    faults.into_result()?;
    let user = match current_password {
        Some(password) => {
            limit_attempts(&ctx, &user.email).await?;
            let pair = lockout_key(&user.email, ctx.ip);
            check_password(&ctx, &SignInRequest { email: user.email, password }, pair).await?
        }
        None => user,
    };
    let password_hash = ctx.app.passwords.hash(new_password.expose()).await?;
    ctx.commit((user, password_hash), |tx, (user, password_hash)| Box::pin(replace(tx, user, password_hash))).await
}

async fn replace(tx: &mut Tx<'_>, user: &User, password_hash: &str) -> Result<NoContent, Problem> {
    let ctx = tx.ctx.clone();
    // The password was checked before the transaction; it may have been changed meanwhile.
    if !users::replace_password(tx, user.id, user.password_hash.as_deref(), password_hash).await? {
        return Err(wrong_credentials());
    }
    // In this order: a challenge or link in concurrent use commits first, and its session ends too.
    two_factor::void_challenges(tx, user.id).await?;
    mailed_links::void_all(tx, user.id).await?;
    store::end_other_sessions(tx, ctx.principal()?).await?;
    store::clear_failures(tx, lockout_key(&user.email, ctx.ip)).await?;
    let mail = PasswordChanged { at: ReadableTime(ctx.now), ip: ctx.ip };
    mail::send(tx, &ctx.app, &Recipient::new(&user.email, &user.name), &mail).await?;
    Ok(NoContent)
}

/// Refuses a new password that is little more than the user's address or the name of its company.
pub(super) async fn add_own_words<const MIN: usize, const MAX: usize>(
    conn: &mut Conn,
    faults: &mut Faults,
    user: &User,
    password: &NewPassword<MIN, MAX>,
) -> Result<(), Problem> {
    let account = onboarding::find_account(conn, user.account_id).await?.ok_or_else(Problem::not_found)?;
    let repeats = password.repeats(Some(&user.email), Some(&account.company_name));
    faults.unless(!repeats, "new_password", OWN_WORDS_REASON);
    Ok(())
}
