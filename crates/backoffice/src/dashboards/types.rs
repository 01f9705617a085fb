//! The dashboards as the team sees them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use values::{AccountId, Email, UnixMillis, UserId, text_enum};

text_enum! {
    /// How far back a dashboard looks.
    pub enum Window {
        Hour = "1h",
        Day = "24h",
        Week = "7d",
    }
}

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

#[derive(Serialize, JsonSchema)]
pub struct OperationalDashboard {
    pub requests: Requests,
    /// Requests that were answered with 400 and above.
    pub errors: Errors,
    /// How long answers took, in milliseconds. Null while there are none.
    pub latency: Option<Latency>,
    pub audit_volume: AuditVolume,
}

#[derive(Serialize, JsonSchema)]
pub struct Requests {
    pub total: i64,
    pub ts_buckets: Vec<TimeBucket>,
    pub by_status: Vec<StatusCount>,
}

#[derive(Serialize, JsonSchema)]
pub struct Errors {
    pub total: i64,
    pub ts_buckets: Vec<TimeBucket>,
    /// The most frequent first.
    pub by_route: Vec<RouteCount>,
    /// Of callers whom a token named, the most frequent first.
    pub by_account: Vec<AccountCount>,
}

#[derive(Serialize, JsonSchema)]
pub struct Latency {
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

#[derive(Serialize, JsonSchema)]
pub struct AuditVolume {
    pub total: i64,
    pub by_action: Vec<ActionCount>,
}

#[derive(Serialize, JsonSchema)]
pub struct TimeBucket {
    /// When it begins.
    pub ts: UnixMillis,
    pub count: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct StatusCount {
    pub status: u16,
    pub count: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct RouteCount {
    /// Method and path of the endpoint; empty where there is none.
    pub route: String,
    pub count: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct AccountCount {
    pub account_id: AccountId,
    pub count: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct ActionCount {
    pub action: String,
    pub count: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct SecurityDashboard {
    pub admin_2fa: AdminTwoFactor,
    /// Of the last 24 hours.
    pub failed_sign_ins: FailedSignIns,
    /// Of the last 30 days.
    pub token_reuse: TokenReuse,
    /// The latest of the last 30 days, newest first.
    pub impersonations: Vec<Impersonation>,
    /// Users who have to wait before their next try to sign in counts, from some address.
    pub locked_users: Vec<LockedUser>,
    /// Of the last 24 hours.
    pub rate_limited: RateLimited,
}

#[derive(Serialize, JsonSchema)]
pub struct AdminTwoFactor {
    pub total_admins: i64,
    pub enrolled: i64,
    pub not_enrolled: Vec<NotEnrolled>,
    /// In the last 30 days, newest first.
    pub recently_used: Vec<RecentlyUsed>,
}

#[derive(Serialize, JsonSchema)]
pub struct NotEnrolled {
    pub user_id: UserId,
    pub email: Email,
    /// Whole days since the user was made.
    pub days_since_admin_role: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct RecentlyUsed {
    pub user_id: UserId,
    pub email: Email,
    pub last_used_at: UnixMillis,
}

#[derive(Serialize, JsonSchema)]
pub struct FailedSignIns {
    pub total: i64,
    pub ts_buckets: Vec<TimeBucket>,
    /// The most frequent first.
    pub by_ip: Vec<IpCount>,
}

#[derive(Serialize, JsonSchema)]
pub struct IpCount {
    pub ip: String,
    pub count: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct TokenReuse {
    pub total: i64,
    /// Newest first.
    pub recent: Vec<Reuse>,
}

/// A refresh token that came twice, so that its session was ended.
#[derive(Serialize, JsonSchema)]
pub struct Reuse {
    pub user_id: Option<UserId>,
    pub account_id: Option<AccountId>,
    pub ip: Option<String>,
    pub ts: UnixMillis,
}

#[derive(Serialize, JsonSchema)]
pub struct Impersonation {
    /// Who looked.
    pub admin: Option<UserId>,
    /// At whom.
    pub account_id: Option<AccountId>,
    pub ts: UnixMillis,
}

#[derive(Serialize, JsonSchema)]
pub struct LockedUser {
    pub user_id: UserId,
    pub email: Email,
    pub locked_until: UnixMillis,
}

#[derive(Serialize, JsonSchema)]
pub struct RateLimited {
    pub total: i64,
    /// The most frequent first.
    pub by_route: Vec<RouteCount>,
}
