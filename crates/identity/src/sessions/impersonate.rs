//! Impersonation: a read-only access token with which an admin sees what a customer sees. Every read is audited.
//!
//! The token is issued for the account's first user with the role `customer`, without a refresh token. It is revoked
//! together with the admin's own tokens.

use db::Entropy;
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

/// Request for an impersonation token.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminImpersonateRequest {
    /// Why the customer is impersonated; stored in the audit log.
    reason: Text<1, 500>,
}

text_enum! {
    /// Scope of an impersonation token: `read_only`.
    pub enum ImpersonationScope {
        ReadOnly = "read_only",
    }
}

/// Impersonation token.
#[derive(Serialize, JsonSchema)]
pub struct AdminImpersonateResponse {
    /// Access token that reads as the customer; there is no refresh token.
    access_token: String,
    /// When the token expires (RFC 3339, UTC), 15 minutes after it was issued.
    expires_at: Rfc3339,
    /// What the token may do.
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
    let (ctx, now) = (tx.ctx.clone(), tx.ctx.now);
    let account = onboarding::find_account(tx, id).await?.filter(|account| !account.is_carrier);
    account.ok_or_else(Problem::not_found)?;
    // Locked, so that a concurrent deactivation of the admin either prevents this token or revokes it.
    let admin = users::find_locked(tx, ctx.principal()?.user_id).await?;
    let admin = admin.filter(|admin| admin.is_active && admin.roles.has(Role::Admin));
    let admin = admin.ok_or_else(|| Problem::forbidden("Only an active admin can impersonate a customer."))?;
    let customer = users::first_customer(tx, id).await?;
    let customer =
        customer.ok_or_else(|| Problem::state_conflict("The account has no active user with the role customer."))?;
    let issued = now.seconds();
    let claims = AccessClaims {
        sub: customer.id,
        acc: id,
        roles: vec![Role::Customer].into(),
        iat: issued,
        exp: issued + ACCESS_LIFETIME.as_secs().cast_signed(),
        jti: Entropy.uuid(now),
        aud: AccessAudience::Access,
        scope: Some(Scope::ReadOnly),
        act: Some(admin.id),
    };
    let expires_at = Time::from_seconds(claims.exp);
    store::insert_impersonation(tx, claims.jti, customer.id, admin.id, expires_at).await?;
    ctx.audit_note("user", customer.id.to_string());
    let access_token = ctx.app.tokens.sign(&claims).map_err(Problem::internal)?;
    Ok(Json(AdminImpersonateResponse {
        access_token,
        expires_at: expires_at.into(),
        scope: ImpersonationScope::ReadOnly,
    }))
}
