//! Signup. A known email address gets the same response in the same time as a new one; only the mail differs.

use super::rules::{AccountState, AccountStatus};
use super::store::{self, NewOnboarding};
use super::types::{BetaSignupRequest, BetaSignupResponse, SignupRequest, SignupResponse};
use crate::accounts::{self, NewAccount, OnboardingStatus};
use crate::invitations::{self, Invitation};
use crate::mailed_links::{self, LinkPurpose, MailKind, MailedLink};
use crate::users::{self, NewUser};
use api::answer::Accepted;
use api::checks::Checked;
use api::context::{Committed, RequestCtx, Tx};
use api::input::Body;
use api::problem::Problem;
use platform::mail::{self, AccountExists, ReadableTime, Recipient, SignupReceived, Welcome};
use values::{AccountId, AccountRole, Country, E164, Email, Role, Text};

/// A signup, with or without a password.
struct Signup {
    id: AccountId,
    company_name: Text<1, 200>,
    trading_name: Option<String>,
    country: Country,
    contact_name: String,
    email: Email,
    contact_phone: Option<E164>,
    password_hash: Option<String>,
    expected_volume: Option<String>,
    /// Whether an address that is known gets another mail.
    may_mail: bool,
}

pub async fn signup(
    ctx: RequestCtx,
    Body(request): Body<SignupRequest>,
) -> Result<Committed<Accepted<SignupResponse>>, Problem> {
    let may_mail = mailed_links::may_mail(&ctx, MailKind::Signup, &request.email).await?;
    let signup = Signup {
        id: ctx.new_id(),
        company_name: request.company,
        trading_name: None,
        country: Country::UNKNOWN,
        contact_name: request.email.to_string(),
        email: request.email,
        contact_phone: None,
        password_hash: None,
        expected_volume: Some(request.expected_volume.into_string()),
        may_mail,
    };
    ctx.commit(signup, |tx, signup| {
        Box::pin(async move {
            create_account(tx, signup).await?;
            // For a known address this id does not exist, which the caller cannot find out.
            Ok(Accepted(SignupResponse { signup_id: signup.id }))
        })
    })
    .await
}

pub async fn beta_signup(
    ctx: RequestCtx,
    Body(Checked(request)): Body<Checked<BetaSignupRequest>>,
) -> Result<Committed<Accepted<BetaSignupResponse>>, Problem> {
    // Hashed even if the address is known, so that the response time does not tell.
    let password_hash = ctx.app.passwords.hash(request.password.expose()).await?;
    let may_mail = mailed_links::may_mail(&ctx, MailKind::Signup, &request.contact_email).await?;
    let signup = Signup {
        id: ctx.new_id(),
        company_name: request.legal_name,
        trading_name: request.trading_name.map(Text::into_string).filter(|name| !name.is_empty()),
        country: request.country,
        contact_name: request.contact_name.into_string(),
        email: request.contact_email,
        contact_phone: request.contact_phone,
        password_hash: Some(password_hash),
        expected_volume: None,
        may_mail,
    };
    ctx.commit(signup, |tx, signup| {
        Box::pin(async move {
            create_account(tx, signup).await?;
            let message =
                "Thank you. If the address is new to us, you can sign in now. We have sent you a mail.".to_owned();
            Ok(Accepted(BetaSignupResponse { message }))
        })
    })
    .await
}

/// Creates the account, unless the email address has one; a mail is sent either way.
async fn create_account(tx: &mut Tx<'_>, signup: &Signup) -> Result<(), Problem> {
    let ctx = tx.ctx.clone();
    let account = NewAccount {
        id: signup.id,
        company_name: signup.company_name.clone(),
        trading_name: signup.trading_name.clone(),
        country: signup.country,
        contact_name: signup.contact_name.clone(),
        contact_email: signup.email.clone(),
        contact_phone: signup.contact_phone.clone(),
    };
    let user = NewUser {
        id: ctx.new_id(),
        account_id: signup.id,
        email: signup.email.clone(),
        name: signup.contact_name.clone(),
        roles: vec![Role::Customer].into(),
        account_role: AccountRole::Owner,
        is_invited: false,
        password_hash: signup.password_hash.clone(),
        email_verified_at: None,
    };
    accounts::insert(tx, &account).await?;
    let mut is_new = users::insert_if_new(tx, &user).await?;
    let mut was_mailed = false;
    if !is_new {
        match invitations::remind(tx, &ctx.app, &signup.email, signup.may_mail).await? {
            Invitation::None => {}
            Invitation::Open => was_mailed = true,
            Invitation::Expired(invited) => {
                users::give_up_address(tx, &invited).await?;
                is_new = users::insert_if_new(tx, &user).await?;
            }
        }
    }
    if !is_new {
        accounts::delete_new(tx, signup.id).await?;
        if signup.may_mail && !was_mailed {
            // The name in the request may not be the owner's.
            mail::send(tx, &ctx.app, &Recipient::unnamed(&signup.email), &AccountExists {}).await?;
        }
        return Ok(());
    }
    let state = AccountState {
        beta: AccountStatus::BetaSignup,
        onboarding: OnboardingStatus::SignupPending,
        suspended_from: None,
    };
    let expected_volume = signup.expected_volume.as_deref();
    let onboarding = NewOnboarding { state, is_carrier: false, expected_volume };
    store::insert(tx, signup.id, &onboarding).await?;
    ctx.audit_subject(signup.id, user.id, &user.roles);
    let to = Recipient::new(&user.email, &user.name);
    let MailedLink { url: link, expires_at } = mailed_links::issue(tx, &ctx.app, user.id, LinkPurpose::Verify).await?;
    let expires_at = ReadableTime(expires_at);
    match user.password_hash {
        Some(_) => mail::send(tx, &ctx.app, &to, &Welcome { link, expires_at }).await?,
        None => mail::send(tx, &ctx.app, &to, &SignupReceived { link, expires_at }).await?,
    }
    Ok(())
}
