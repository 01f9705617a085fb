//! Passkeys (WebAuthn): a second factor that nobody can guess or phish, and a sign-in without a password.
//!
//! After a password, a passkey takes the place of a code. Without one it signs in alone, if the authenticator checked
//! its user by fingerprint or PIN. The signature counter must rise with every use, so a copied key is found out. Sign-in
//! is in [`super::sessions`], which calls [`check`] and then [`accept`] in its transaction.
//!
//! The checks are our own, on the cryptography that the service has already: crates for relying parties bring dozens of
//! others with them, for attestation, which is not asked for here.
//!
//! - `webauthn`: what an authenticator sent · `cbor`, `cose`: how it is written · `challenges`: what it signs

mod cbor;
mod challenges;
mod cose;
mod store;
mod types;
mod webauthn;

pub use store::{delete_all, purge_challenges};
pub use types::{PasskeyAssertion, PasskeyRequestOptions};

use crate::two_factor;
use crate::users;
use api::answer::{Created, Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::faults::Faults;
use api::input::{Body, Path, sha256};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use challenges::Use;
use platform::mail::FactorChange;
use types::{Base64Url, CredentialDescriptor, Passkey, PasskeyCreate, PasskeyCreated, PasskeyCreationOptions};
use values::{PasskeyId, Time, UserId};
use webauthn::{Ceremony, NewCredential, RelyingParty};

/// Maximum number of passkeys of a user.
const MAX_PASSKEYS: usize = 20;

fn us(ctx: &RequestCtx) -> RelyingParty {
    RelyingParty::new(&ctx.app.public_url)
}

fn timeout_ms() -> u64 {
    challenges::LIFETIME.as_secs() * 1000
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<PasskeyId>>,
) -> Result<Page<Passkey>, Problem> {
    let user = ctx.principal()?.user_id;
    let rows = store::list(&mut ctx, user, listing.before(), listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), Passkey::from)
}

/// Options for the browser. Nothing is stored.
pub async fn begin_registration(ctx: RequestCtx) -> Result<Committed<Json<PasskeyCreationOptions>>, Problem> {
    let id = ctx.principal()?.user_id;
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let ctx = tx.ctx;
            let user = users::find(tx, *id).await?.ok_or_else(Problem::not_found)?;
            let known = store::credentials(tx, *id).await?;
            let challenge = challenges::issue(&ctx.app, Use::Registration(*id), ctx.now);
            Ok(Json(PasskeyCreationOptions::new(us(ctx), &user, challenge, known, timeout_ms())))
        })
    })
    .await
}

/// A registration that was checked.
struct Registration {
    passkey: store::Passkey,
    sign_count: i64,
    challenge: SpentChallenge,
}

struct SpentChallenge {
    hash: [u8; 32],
    expires_at: Time,
}

pub async fn create(
    ctx: RequestCtx,
    Body(request): Body<PasskeyCreate>,
) -> Result<Committed<Created<PasskeyCreated>>, Problem> {
    let registration = read_registration(&ctx, request)?;
    ctx.audit_note("passkey_id", registration.passkey.id.to_string());
    ctx.commit(registration, |tx, registration| Box::pin(register(tx, registration))).await
}

fn read_registration(ctx: &RequestCtx, request: PasskeyCreate) -> Result<Registration, Problem> {
    let (us, user_id) = (us(ctx), ctx.principal()?.user_id);
    let challenge = answered(ctx, &request.client_data_json.0, Ceremony::Registration, Use::Registration(user_id));
    let credential = webauthn::new_credential(&request.attestation_object.0, &us);
    match (challenge, credential) {
        (Some(challenge), Some(NewCredential { id, public_key, sign_count })) => Ok(Registration {
            passkey: store::Passkey {
                id: ctx.new_id(),
                user_id,
                credential_id: id,
                public_key,
                name: request.name.as_str().to_owned(),
                created_at: ctx.now,
                last_used_at: None,
            },
            sign_count,
            challenge,
        }),
        (challenge, credential) => {
            let mut faults = Faults::default();
            faults.unless(challenge.is_some(), "client_data_json", "does not answer a challenge of this registration");
            faults.unless(credential.is_some(), "attestation_object", "is not a passkey for this service");
            Err(faults.into_result().err().unwrap_or_else(wrong_passkey))
        }
    }
}

/// The challenge that the client data answers, if it is ours and still good.
fn answered(ctx: &RequestCtx, client_data: &[u8], ceremony: Ceremony, used_for: Use) -> Option<SpentChallenge> {
    let challenge = webauthn::answered_challenge(client_data, ceremony, &us(ctx))?;
    let expires_at = challenges::expiry(&ctx.app, &challenge, used_for, ctx.now)?;
    Some(SpentChallenge { hash: sha256(&challenge), expires_at })
}

async fn register(tx: &mut Tx<'_>, new: &Registration) -> Result<Created<PasskeyCreated>, Problem> {
    let (ctx, passkey) = (tx.ctx, &new.passkey);
    spend(tx, &new.challenge).await?;
    if store::credentials(tx, passkey.user_id).await?.len() >= MAX_PASSKEYS {
        return Err(Problem::state_conflict(format!("You have {MAX_PASSKEYS} passkeys, which is the limit.")));
    }
    let is_first = !two_factor::is_required(tx, passkey.user_id).await?;
    if !store::insert(tx, passkey, new.sign_count).await? {
        return Err(Problem::resource_in_use("This passkey is registered already."));
    }
    let recovery_codes = match is_first {
        true => Some(two_factor::issue_recovery_codes(tx, passkey.user_id).await?.recovery_codes),
        false => None,
    };
    let change = FactorChange::PasskeyAdded { name: passkey.name.clone() };
    two_factor::notify(tx, ctx, passkey.user_id, change).await?;
    let created_at = passkey.created_at.into();
    Ok(Created(PasskeyCreated { id: passkey.id, name: passkey.name.clone(), created_at, recovery_codes }))
}

pub async fn delete(ctx: RequestCtx, Path(id): Path<PasskeyId>) -> Result<Committed<NoContent>, Problem> {
    let user = ctx.principal()?.user_id;
    ctx.audit_note("passkey_id", id.to_string());
    ctx.commit((user, id), |tx, (user, id)| {
        Box::pin(async move {
            let ctx = tx.ctx;
            let name = store::delete(tx, *user, *id).await?.ok_or_else(Problem::not_found)?;
            two_factor::drop_useless_recovery_codes(tx, *user).await?;
            two_factor::notify(tx, ctx, *user, FactorChange::PasskeyRemoved { name }).await?;
            Ok(NoContent)
        })
    })
    .await
}

/// Options for an assertion: after a password by this user, otherwise by whoever has a passkey here.
pub async fn request_options(tx: &mut Tx<'_>, user: Option<UserId>) -> Result<PasskeyRequestOptions, Problem> {
    let ctx = tx.ctx;
    let known = match user {
        Some(user) => store::credentials(tx, user).await?,
        None => Vec::new(),
    };
    Ok(PasskeyRequestOptions {
        challenge: Base64Url(challenges::issue(&ctx.app, Use::Assertion, ctx.now)),
        rp_id: us(ctx).id,
        timeout: timeout_ms(),
        allow_credentials: known.into_iter().map(CredentialDescriptor::new).collect(),
        user_verification: if user.is_some() { "preferred" } else { "required" },
    })
}

/// An assertion whose signature is right; [`accept`] makes it count.
pub struct CheckedAssertion {
    pub user_id: UserId,
    passkey: PasskeyId,
    sign_count: i64,
    challenge: SpentChallenge,
}

/// Checks an assertion. `verified`: the authenticator must have checked its user.
pub async fn check(ctx: &RequestCtx, given: &PasskeyAssertion, verified: bool) -> Result<CheckedAssertion, Problem> {
    let challenge = answered(ctx, &given.client_data_json.0, Ceremony::Assertion, Use::Assertion);
    let challenge = challenge.ok_or_else(wrong_passkey)?;
    let passkey = store::find_by_credential(&mut *ctx.app.db.read().await?, &given.credential_id.0).await?;
    let passkey = passkey.ok_or_else(wrong_passkey)?;
    let (data, client_data, signature) = (&given.authenticator_data.0, &given.client_data_json.0, &given.signature.0);
    let sign_count = webauthn::sign_count(data, client_data, signature, &passkey.public_key, &us(ctx), verified);
    let sign_count = sign_count.ok_or_else(wrong_passkey)?;
    Ok(CheckedAssertion { user_id: passkey.user_id, passkey: passkey.id, sign_count, challenge })
}

/// Spends the challenge and counts the use.
pub async fn accept(tx: &mut Tx<'_>, checked: &CheckedAssertion) -> Result<(), Problem> {
    spend(tx, &checked.challenge).await?;
    if !store::count_use(tx, checked.passkey, checked.sign_count).await? {
        return Err(wrong_passkey());
    }
    Ok(())
}

async fn spend(tx: &mut Tx<'_>, challenge: &SpentChallenge) -> Result<(), Problem> {
    match store::use_challenge(tx, &challenge.hash, challenge.expires_at).await? {
        true => Ok(()),
        false => Err(wrong_passkey()),
    }
}

pub fn wrong_passkey() -> Problem {
    Problem::invalid_credentials("The passkey is unknown, or its answer is not valid. Ask for a new challenge.")
}
