//! Request and response types of the dashboards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use values::{AccountId, Email, UnixMillis, UserId, text_enum};

text_enum! {
    /// Period of a dashboard: `1h` (by minute), `24h` or `7d` (by hour).
    pub enum Window {
        Hour = "1h",
        Day = "24h",
        Week = "7d",
    }
}

/// Period of a dashboard.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowQuery {
    /// Period to show: `1h` by minute, `24h` and `7d` by hour.
    #[serde(default = "an_hour")]
    pub window: Window,
}

fn an_hour() -> Window {
    Window::Hour
}

/// Requests, errors, latency and audit volume of the API, on all nodes.
#[derive(Serialize, JsonSchema)]
pub struct OperationalDashboard {
    /// All API requests of the period.
    pub requests: Requests,
    /// Requests of the period that were answered with status 400 or above.
    pub errors: Errors,
    /// Response times of the period; null when there were no requests.
    pub latency: Option<Latency>,
    /// Audit log entries of the period.
    pub audit_volume: AuditVolume,
}

/// Number of API requests.
#[derive(Serialize, JsonSchema)]
pub struct Requests {
    /// Number of requests in the period.
    pub total: i64,
    /// Requests per minute or hour, oldest first, without gaps.
    pub ts_buckets: Vec<TimeBucket>,
    /// Requests per HTTP status, in the order of the status.
    pub by_status: Vec<StatusCount>,
}

/// Number of requests that were answered with status 400 or above.
#[derive(Serialize, JsonSchema)]
pub struct Errors {
    /// Number of failed requests in the period.
    pub total: i64,
    /// Failed requests per minute or hour, oldest first, without gaps.
    pub ts_buckets: Vec<TimeBucket>,
    /// Failed requests per endpoint, the most frequent first, at most 50.
    pub by_route: Vec<RouteCount>,
    /// Failed requests with a valid token per account, the most frequent first, at most 50.
    pub by_account: Vec<AccountCount>,
}

/// Percentiles of the response time.
#[derive(Serialize, JsonSchema)]
pub struct Latency {
    /// Median response time in milliseconds.
    pub p50: f64,
    /// 95th percentile of the response time in milliseconds.
    pub p95: f64,
    /// 99th percentile of the response time in milliseconds.
    pub p99: f64,
}

/// Number of audit log entries.
#[derive(Serialize, JsonSchema)]
pub struct AuditVolume {
    /// Number of entries in the period.
    pub total: i64,
    /// Entries per action, the most frequent first.
    pub by_action: Vec<ActionCount>,
}

/// Number of events in one minute or hour.
#[derive(Serialize, JsonSchema)]
pub struct TimeBucket {
    /// Start of the minute or hour (Unix milliseconds).
    pub ts: UnixMillis,
    /// Number of events that began in it.
    pub count: i64,
}

/// Number of requests with one HTTP status.
#[derive(Serialize, JsonSchema)]
pub struct StatusCount {
    /// HTTP status code.
    pub status: u16,
    /// Number of requests.
    pub count: i64,
}

/// Number of requests to one endpoint.
#[derive(Serialize, JsonSchema)]
pub struct RouteCount {
    /// Method and path of the endpoint, such as `GET /account`; empty when no endpoint matched.
    pub route: String,
    /// Number of requests.
    pub count: i64,
}

/// Number of failed requests of one account.
#[derive(Serialize, JsonSchema)]
pub struct AccountCount {
    /// Id of the account.
    pub account_id: AccountId,
    /// Id of the account as a plain UUID, as in all lists of the team.
    pub customer_id: Uuid,
    /// Number of failed requests.
    pub count: i64,
}

/// Number of audit log entries with one action.
#[derive(Serialize, JsonSchema)]
pub struct ActionCount {
    /// Action, such as `account.update`.
    pub action: String,
    /// Number of entries.
    pub count: i64,
}

/// Sign-in failures, token reuse, impersonation, lockouts and the team's second factors.
#[derive(Serialize, JsonSchema)]
pub struct SecurityDashboard {
    /// Second factors of the admins.
    pub admin_2fa: AdminTwoFactor,
    /// Failed sign-ins of the last 24 hours.
    pub failed_sign_ins: FailedSignIns,
    /// Sessions of the last 30 days that ended because a refresh token was used twice.
    pub token_reuse: TokenReuse,
    /// Impersonations of the last 30 days, newest first, at most 50.
    pub impersonations: Vec<Impersonation>,
    /// Users who are locked out for some network after failed sign-ins, the longest lockout first, at most 50.
    pub locked_users: Vec<LockedUser>,
    /// Requests of the last 24 hours that exceeded a rate limit.
    pub rate_limited: RateLimited,
}

/// Second factors of the active admins.
#[derive(Serialize, JsonSchema)]
pub struct AdminTwoFactor {
    /// Number of active admins.
    pub total_admins: i64,
    /// Number of active admins with a confirmed second factor.
    pub enrolled: i64,
    /// Active admins without a confirmed second factor.
    pub not_enrolled: Vec<NotEnrolled>,
    /// Admins who used their second factor in the last 30 days, the latest first.
    pub recently_used: Vec<RecentlyUsed>,
}

/// Admin without a confirmed second factor.
#[derive(Serialize, JsonSchema)]
pub struct NotEnrolled {
    /// Id of the admin.
    pub user_id: UserId,
    /// Email address of the admin.
    pub email: Email,
    /// Whole days since the user was created.
    pub days_since_admin_role: i64,
}

/// Admin who recently used a second factor.
#[derive(Serialize, JsonSchema)]
pub struct RecentlyUsed {
    /// Id of the admin.
    pub user_id: UserId,
    /// Email address of the admin.
    pub email: Email,
    /// When the second factor was last used (Unix milliseconds).
    pub last_used_at: UnixMillis,
}

/// Number of failed sign-ins.
#[derive(Serialize, JsonSchema)]
pub struct FailedSignIns {
    /// Number of failed sign-ins in the period.
    pub total: i64,
    /// Failed sign-ins per hour, oldest first, without gaps.
    pub ts_buckets: Vec<TimeBucket>,
    /// Failed sign-ins per IP address, the most frequent first, at most 50.
    pub by_ip: Vec<IpCount>,
}

/// Number of failed sign-ins from one IP address.
#[derive(Serialize, JsonSchema)]
pub struct IpCount {
    /// IP address of the client.
    pub ip: String,
    /// Number of failed sign-ins.
    pub count: i64,
}

/// Refresh tokens that were used twice.
#[derive(Serialize, JsonSchema)]
pub struct TokenReuse {
    /// Number of sessions that ended for this reason.
    pub total: i64,
    /// The latest of them, newest first, at most 50.
    pub recent: Vec<Reuse>,
}

/// Session that ended because a refresh token was used twice.
#[derive(Serialize, JsonSchema)]
pub struct Reuse {
    /// User of the session.
    pub user_id: Option<UserId>,
    /// Account of the user.
    pub account_id: Option<AccountId>,
    /// Id of the account as a plain UUID, as in all lists of the team; null when there is none.
    pub customer_id: Option<Uuid>,
    /// IP address of the second use.
    pub ip: Option<String>,
    /// When the token was used again (Unix milliseconds).
    pub ts: UnixMillis,
}

/// Impersonation of a customer by an admin.
#[derive(Serialize, JsonSchema)]
pub struct Impersonation {
    /// Admin who impersonated.
    pub admin: Option<UserId>,
    /// Account that was impersonated.
    pub account_id: Option<AccountId>,
    /// Id of the account as a plain UUID, as in all lists of the team; null when there is none.
    pub customer_id: Option<Uuid>,
    /// When the token was issued (Unix milliseconds).
    pub ts: UnixMillis,
}

/// User who is locked out after failed sign-ins.
#[derive(Serialize, JsonSchema)]
pub struct LockedUser {
    /// Id of the user.
    pub user_id: UserId,
    /// Email address of the user.
    pub email: Email,
    /// When the lockout ends (Unix milliseconds).
    pub locked_until: UnixMillis,
}

/// Requests that exceeded a rate limit.
#[derive(Serialize, JsonSchema)]
pub struct RateLimited {
    /// Number of requests in the period.
    pub total: i64,
    /// Requests per endpoint, the most frequent first.
    pub by_route: Vec<RouteCount>,
}
