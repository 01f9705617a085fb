//! Signing up. A known address is answered like a new one, in the same time, and told the truth by mail.

use super::rules::{AccountStatus, Standing};
use super::store::{self, Beginning};
use super::types::{BetaSignupRequest, BetaSignupResponse, SignupRequest, SignupResponse};
use crate::accounts::{self, NewAccount, OnboardingStatus};
use crate::users::{self, NewUser};
use api::answer::Accepted;
use api::context::{Committed, RequestCtx, Tx};
use api::input::Body;
use api::problem::Problem;
use platform::letters::{self, Addressee, KnownAddress, SignupReceived, Welcome};
use values::{AccountId, Country, E164, Email, Role, Text, UserId};

/// What both shapes of signup come down to.
struct Prospect {
    id: AccountId,
    company_name: Text<1, 200>,
    trading_name: Option<String>,
    country: Country,
    contact_name: String,
    email: Email,
    contact_phone: Option<E164>,
    password_hash: Option<String>,
    expected_volume: Option<String>,
}

pub async fn signup(
    ctx: RequestCtx,
    Body(request): Body<SignupRequest>,
) -> Result<Committed<Accepted<SignupResponse>>, Problem> {
    let prospect = Prospect {
        id: AccountId::new(ctx.app.entropy.uuid(ctx.now)),
        company_name: request.company,
        trading_name: None,
        country: Country::UNKNOWN,
        contact_name: request.email.to_string(),
        email: request.email,
        contact_phone: None,
        password_hash: None,
        expected_volume: Some(request.expected_volume.into_string()),
    };
    ctx.commit(prospect, |tx, prospect| {
        Box::pin(async move {
            take_in(tx, prospect).await?;
            // Of a known address the id leads nowhere; nobody but its owner can tell.
            Ok(Accepted(SignupResponse { signup_id: prospect.id }))
        })
    })
    .await
}

pub async fn beta_signup(
    ctx: RequestCtx,
    Body(request): Body<BetaSignupRequest>,
) -> Result<Committed<Accepted<BetaSignupResponse>>, Problem> {
    // Hashed whether it will be needed or not, so that time tells nothing.
    let password_hash = ctx.app.passwords.hash(request.password.expose()).await?;
    let prospect = Prospect {
        id: AccountId::new(ctx.app.entropy.uuid(ctx.now)),
        company_name: request.legal_name,
        trading_name: request.trading_name.map(Text::into_string).filter(|name| !name.is_empty()),
        country: request.country,
        contact_name: request.contact_name.into_string(),
        email: request.contact_email,
        contact_phone: request.contact_phone,
        password_hash: Some(password_hash),
        expected_volume: None,
    };
    ctx.commit(prospect, |tx, prospect| {
        Box::pin(async move {
            take_in(tx, prospect).await?;
            let message =
                "Thank you. If the address is new to us, you can sign in now; we have sent a mail.".to_owned();
            Ok(Accepted(BetaSignupResponse { message }))
        })
    })
    .await
}

/// Makes the account, unless the address has one; either way a letter follows.
async fn take_in(tx: &mut Tx<'_>, prospect: &Prospect) -> Result<(), Problem> {
    let call = tx.ctx.clone();
    let account = NewAccount {
        id: prospect.id,
        company_name: prospect.company_name.clone(),
        trading_name: prospect.trading_name.clone(),
        country: prospect.country,
        contact_name: prospect.contact_name.clone(),
        contact_email: prospect.email.clone(),
        contact_phone: prospect.contact_phone.clone(),
    };
    let user = NewUser {
        id: UserId::new(call.app.entropy.uuid(call.now)),
        account_id: prospect.id,
        email: prospect.email.clone(),
        name: prospect.contact_name.clone(),
        roles: vec![Role::Customer].into(),
        password_hash: prospect.password_hash.clone(),
    };
    accounts::insert(tx, &account, call.now).await?;
    if !users::insert_if_new(tx, &user, call.now).await? {
        accounts::discard(tx, prospect.id).await?;
        // The name is the stranger's, not the owner's.
        letters::send(tx, &call.app, &Addressee::nameless(&prospect.email), &KnownAddress {}, call.now).await?;
        return Ok(());
    }
    let standing =
        Standing { beta: AccountStatus::BetaSignup, onboarding: OnboardingStatus::SignupPending, suspended_from: None };
    let expected_volume = prospect.expected_volume.as_deref();
    let beginning = Beginning { standing, is_carrier: false, expected_volume };
    store::begin(tx, prospect.id, &beginning, call.now).await?;
    call.audit_subject(prospect.id, user.id, &user.roles);
    let to = Addressee::new(&user.email, &user.name);
    match user.password_hash {
        Some(_) => letters::send(tx, &call.app, &to, &Welcome {}, call.now).await?,
        None => letters::send(tx, &call.app, &to, &SignupReceived {}, call.now).await?,
    }
    Ok(())
}
