//! Request and response types of API keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use api::api_keys::{ApiKeyId, ApiKeyRow};
use api::checks::{Checks, Given, must};
use api::scopes::Scope;
use values::{Change, Cidr, Rfc3339, Text, UserId};

/// API key, without its secret.
#[derive(Serialize, JsonSchema)]
pub struct ApiKey {
    /// Id of the key.
    pub id: ApiKeyId,
    /// Name of the key.
    pub name: String,
    /// First characters of the secret, to recognise it by.
    pub prefix: String,
    /// What the key may do.
    pub scopes: Vec<Scope>,
    /// Networks that the key may be used from; any if empty.
    pub allowed_cidrs: Vec<Cidr>,
    /// When the key expires (RFC 3339, UTC); null if it does not.
    pub expires_at: Option<Rfc3339>,
    /// When the key was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// User who created the key.
    pub created_by: UserId,
    /// When the key was last used (RFC 3339, UTC), to the minute; null before the first time.
    pub last_used_at: Option<Rfc3339>,
    /// IP address that the key was last used from; null before the first time.
    pub last_used_ip: Option<String>,
}

impl From<ApiKeyRow> for ApiKey {
    fn from(row: ApiKeyRow) -> Self {
        ApiKey {
            id: row.id,
            name: row.name,
            prefix: row.prefix,
            scopes: row.scopes.0,
            allowed_cidrs: row.allowed_cidrs.0,
            expires_at: row.expires_at.map(Rfc3339::from),
            created_at: row.created_at.into(),
            created_by: row.created_by,
            last_used_at: row.last_used_at.map(Rfc3339::from),
            last_used_ip: row.last_used_ip,
        }
    }
}

/// New API key with its secret.
#[derive(Serialize, JsonSchema)]
pub struct ApiKeyCreated {
    #[serde(flatten)]
    pub key: ApiKey,
    /// Secret for the `Authorization: Bearer` header; shown only once.
    pub secret: String,
}

/// What a new key has, whoever makes it.
pub struct NewKey {
    pub name: Text<1, 100>,
    pub scopes: Vec<Scope>,
    pub allowed_cidrs: Option<Vec<Cidr>>,
    pub expires_at: Option<Rfc3339>,
}

/// API key to create.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiKeyCreate {
    /// Name of the key, such as that of the program that uses it.
    name: Text<1, 100>,
    /// What the key may do; a write scope includes its read scope.
    #[schemars(extend("minItems" = 1, "uniqueItems" = true, "items" = Scope::schema(false)))]
    scopes: Vec<Scope>,
    /// Networks that the key may be used from, at most 50; any if empty or left out.
    #[serde(default)]
    #[schemars(length(max = 50))]
    allowed_cidrs: Option<Vec<Cidr>>,
    /// When the key expires (RFC 3339), in the future; never if left out.
    #[serde(default)]
    expires_at: Option<Rfc3339>,
}

impl Checks for ApiKeyCreate {
    fn check(given: &Given<'_>) {
        check_expiry(given);
    }
}

impl From<ApiKeyCreate> for NewKey {
    fn from(ApiKeyCreate { name, scopes, allowed_cidrs, expires_at }: ApiKeyCreate) -> Self {
        NewKey { name, scopes, allowed_cidrs, expires_at }
    }
}

/// API key of the team to create.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminApiKeyCreate {
    /// Name of the key, such as that of the program that uses it.
    name: Text<1, 100>,
    /// What the key may do.
    #[schemars(extend("minItems" = 1, "uniqueItems" = true, "items" = Scope::schema(true)))]
    scopes: Vec<Scope>,
    /// Networks that the key may be used from, at most 50; any if empty or left out.
    #[serde(default)]
    #[schemars(length(max = 50))]
    allowed_cidrs: Option<Vec<Cidr>>,
    /// When the key expires (RFC 3339), in the future; never if left out.
    #[serde(default)]
    expires_at: Option<Rfc3339>,
}

impl Checks for AdminApiKeyCreate {
    fn check(given: &Given<'_>) {
        check_expiry(given);
    }
}

impl From<AdminApiKeyCreate> for NewKey {
    fn from(AdminApiKeyCreate { name, scopes, allowed_cidrs, expires_at }: AdminApiKeyCreate) -> Self {
        NewKey { name, scopes, allowed_cidrs, expires_at }
    }
}

/// A key that expires at once is a mistake.
fn check_expiry(given: &Given<'_>) {
    given.check("expires_at", |at: Rfc3339| must(at.0 > given.now, "must be in the future"));
}

/// Changes to an API key; omitted fields stay as they are.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiKeyUpdate {
    /// Name of the key.
    #[serde(default)]
    pub name: Change<Text<1, 100>>,
    /// Networks that the key may be used from, at most 50; any if empty.
    #[serde(default)]
    #[schemars(length(max = 50))]
    pub allowed_cidrs: Change<Vec<Cidr>>,
    /// When the key expires (RFC 3339), in the future; never if null.
    #[serde(default)]
    pub expires_at: Change<Option<Rfc3339>>,
}

impl Checks for ApiKeyUpdate {
    fn check(given: &Given<'_>) {
        check_expiry(given);
    }
}
