//! An admin reads as a customer: a token that may look and nothing else, and whose every look is written down.
//!
//! It speaks for the account's first customer, never for a member of the team, and has no refresh token. What an admin
//! loses, its impersonations lose too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store;
use crate::{onboarding, users};
use api::answer::Json;
use api::context::{Committed, RequestCtx, Tx};
use api::input::{Body, Path};
use api::problem::Problem;
use platform::crypto::tokens::{ACCESS_LIFETIME, AccessAudience, AccessClaims, Scope};
use values::{AccountId, Rfc3339, Role, Text, Time, text_enum};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminImpersonateRequest {
    /// Why; the audit log keeps it.
    reason: Text<1, 500>,
}

text_enum! {
    pub enum ImpersonationScope {
        ReadOnly = "read_only",
    }
}

#[derive(Serialize, JsonSchema)]
pub struct AdminImpersonateResponse {
    access_token: String,
    expires_at: Rfc3339,
    scope: ImpersonationScope,
}

pub async fn impersonate(
    ctx: RequestCtx,
    Path(id): Path<AccountId>,
    Body(request): Body<AdminImpersonateRequest>,
) -> Result<Committed<Json<AdminImpersonateResponse>>, Problem> {
    ctx.audit_account(id);
    ctx.audit_note("reason", request.reason.as_str());
    ctx.commit(id, |tx, id| Box::pin(issue(tx, *id))).await
}

async fn issue(tx: &mut Tx<'_>, id: AccountId) -> Result<Json<AdminImpersonateResponse>, Problem> {
    let (call, now) = (tx.ctx.clone(), tx.ctx.now);
    let account = onboarding::prospect(tx, id).await?.filter(|account| !account.is_carrier);
    account.ok_or_else(Problem::not_found)?;
    // Held, so that whoever deactivates the admin comes before this token or finds it.
    let admin = users::find_held(tx, call.principal()?.user_id).await?;
    let admin = admin.filter(|admin| admin.is_active && admin.roles.has(Role::Admin));
    let admin = admin.ok_or_else(|| Problem::forbidden("Only an active admin reads as a customer."))?;
    let customer = users::first_customer(tx, id).await?;
    let customer =
        customer.ok_or_else(|| Problem::state_conflict("Nobody signs in for this account as a customer."))?;
    let issued = now.seconds();
    let claims = AccessClaims {
        sub: customer.id,
        acc: id,
        roles: vec![Role::Customer].into(),
        iat: issued,
        exp: issued + ACCESS_LIFETIME.as_secs().cast_signed(),
        jti: call.app.entropy.uuid(now),
        aud: AccessAudience::Access,
        scope: Some(Scope::ReadOnly),
        act: Some(admin.id),
    };
    let expires_at = Time::from_seconds(claims.exp);
    store::insert_impersonation(tx, claims.jti, customer.id, admin.id, expires_at).await?;
    call.audit_note("user", customer.id.to_string());
    let access_token = call.app.tokens.sign(&claims).map_err(Problem::internal)?;
    Ok(Json(AdminImpersonateResponse {
        access_token,
        expires_at: expires_at.into(),
        scope: ImpersonationScope::ReadOnly,
    }))
}
