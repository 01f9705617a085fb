//! Proof of the mailbox.
//!
//! Anyone can sign up with anyone's address. So until a mailed link was used, the password, second factor and sessions
//! of a user may be those of a stranger who waits for the owner to come, and so may API keys and webhook endpoints. The
//! first use of a link drops them all ([`record_proof`]), unless its user also knows the password: that person has both,
//! the mailbox and what was set. A session does not show that, so the verification page asks for the password.

use super::links::{find_link_user, use_link};
use super::sign_in::{check_password, limit_attempts, lockout_key, wrong_credentials};
use super::types::{SignInRequest, VerificationRequested, VerifyEmailRequest};
use super::{issue, store};
use crate::mailed_links::{self, LinkPurpose, MailKind, MailedLink};
use crate::passkeys;
use crate::two_factor;
use crate::users::{self, User};
use api::answer::{Accepted, NoContent};
use api::api_keys;
use api::context::{Committed, RequestCtx, Tx};
use api::input::Body;
use api::problem::Problem;
use platform::jobs::{Class, Kind, enqueue};
use platform::limits::Limit;
use platform::mail::{self, EmailVerified, ReadableTime, Recipient, VerifyEmail};
use serde_json::json;

/// Enqueued when the first proof of a mailbox dropped what a stranger may have set; deletes the account's webhook
/// endpoints. Among the jobs that do not wait for others.
pub const CREDENTIALS_DROPPED: Kind = Kind::new("account.credentials_dropped").class(Class::Money);

/// Mails a new verification link to the signed-in user.
pub async fn request_verification(ctx: RequestCtx) -> Result<Committed<Accepted<VerificationRequested>>, Problem> {
    let (user, email) = (ctx.principal()?.user_id, &ctx.principal()?.email);
    ctx.limit(Limit::Mails, MailKind::Signup.subject(email)).await?;
    ctx.commit(user, |tx, user| {
        Box::pin(async move {
            let app = tx.ctx.app.clone();
            let user = users::find(tx, *user).await?.ok_or_else(Problem::not_found)?;
            if user.email_verified_at.is_some() {
                return Err(Problem::state_conflict("The email address is verified already."));
            }
            let MailedLink { url, expires_at } = mailed_links::issue(tx, &app, user.id, LinkPurpose::Verify).await?;
            let mail = VerifyEmail { link: url, expires_at: ReadableTime(expires_at) };
            mail::send(tx, &app, &Recipient::new(&user.email, &user.name), &mail).await?;
            let message = "We have sent you a mail with a link to verify your address.".to_owned();
            Ok(Accepted(VerificationRequested { message }))
        })
    })
    .await
}

pub async fn verify_email(
    ctx: RequestCtx,
    Body(request): Body<VerifyEmailRequest>,
) -> Result<Committed<NoContent>, Problem> {
    let VerifyEmailRequest { token, password } = request;
    let hash = issue::hash(&token);
    let user = find_link_user(&mut *ctx.app.db.read().await?, &ctx, &hash, LinkPurpose::Verify).await?;
    limit_attempts(&ctx, &user.email).await?;
    let holder = match password {
        Some(password) => {
            let pair = lockout_key(&user.email, ctx.ip);
            Some(check_password(&ctx, &SignInRequest { email: user.email, password }, pair).await?)
        }
        None => None,
    };
    ctx.commit((hash, holder), |tx, (hash, holder)| {
        Box::pin(async move {
            let user = use_link(tx, hash, LinkPurpose::Verify).await?;
            match holder {
                Some(holder) => keep_credentials(tx, holder).await?,
                None => record_proof(tx, &user).await?,
            }
            Ok(NoContent)
        })
    })
    .await
}

/// Verifies the address of a user who knows the password, and leaves everything as it is.
async fn keep_credentials(tx: &mut Tx<'_>, holder: &User) -> Result<(), Problem> {
    // The password was checked before the transaction; it may have been changed meanwhile.
    let current = users::find_locked(tx, holder.id).await?;
    if current.is_none_or(|current| current.password_hash != holder.password_hash) {
        return Err(wrong_credentials());
    }
    users::verify_email(tx, holder.id).await?;
    Ok(())
}

/// Records that the user received a mail. The first time, it drops every credential that was set before.
pub(super) async fn record_proof(tx: &mut Tx<'_>, user: &User) -> Result<(), Problem> {
    if !users::verify_email(tx, user.id).await? {
        return Ok(());
    }
    let ctx = tx.ctx.clone();
    let had_factor = two_factor::is_required(tx, user.id).await?;
    users::clear_password(tx, user.id).await?;
    // In this order: a challenge or link in concurrent use commits first, and its session ends too.
    two_factor::void_challenges(tx, user.id).await?;
    two_factor::delete(tx, user.id).await?;
    passkeys::delete_all(tx, user.id).await?;
    mailed_links::void_all(tx, user.id).await?;
    store::end_all_sessions(tx, user.id).await?;
    let revoked = api_keys::revoke_of_user(tx, user.id).await?;
    ctx.audit_note("email", "verified");
    if user.password_hash.is_some() || had_factor {
        ctx.audit_note("credentials", "dropped");
        if revoked > 0 {
            ctx.audit_note("revoked_keys", revoked);
        }
        enqueue(tx, CREDENTIALS_DROPPED, json!({"account_id": user.account_id, "until": ctx.now.millis()})).await?;
        let mail = EmailVerified { at: ReadableTime(ctx.now), ip: ctx.ip };
        mail::send(tx, &ctx.app, &Recipient::new(&user.email, &user.name), &mail).await?;
    }
    Ok(())
}
