//! The team's view of the audit log: who did what, when, from where, with which outcome.

mod archive;
mod store;

pub use archive::{ARCHIVE, archive_job, verify_archives};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use api::context::ReadCtx;
use api::page::{Listing, Rows};
use api::problem::Problem;
use identity::names::Names;
use platform::audit::{Actor, Outcome};
use store::{AuditFilter, LogRow};
use values::{AccountId, Rfc3339, Text, Time, UnixMillis, UserId};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return entries of this action only, such as `account.update`.
    #[serde(default)]
    action: Option<Text<1, 100>>,
    /// Return entries about this account only.
    #[serde(default)]
    account_id: Option<AccountId>,
    /// Return entries of this user only.
    #[serde(default)]
    user_id: Option<UserId>,
    /// Return entries of this kind of actor only.
    #[serde(default)]
    actor: Option<Actor>,
    /// Return entries with this outcome only.
    #[serde(default)]
    outcome: Option<Outcome>,
    /// Return entries of this time or later (RFC 3339).
    #[serde(default)]
    from: Option<Rfc3339>,
    /// Return entries before this time (RFC 3339).
    #[serde(default)]
    to: Option<Rfc3339>,
}

/// Entry of the audit log.
#[derive(Serialize, JsonSchema)]
pub struct AuditLogRow {
    /// Id of the entry.
    pub id: Uuid,
    /// When the action ended (Unix milliseconds).
    pub ts: UnixMillis,
    /// Action, such as `account.update`.
    pub action: String,
    /// Account that the action concerns; null when there is none.
    pub account_id: Option<AccountId>,
    /// Id of the account as a plain UUID, as in all lists of the team; null when there is none.
    pub customer_id: Option<Uuid>,
    /// Name of the account's company; null when there is none.
    pub customer_name: Option<String>,
    /// User who did it; null when nobody was signed in.
    pub user_id: Option<UserId>,
    /// Email address of the user; null when nobody was signed in.
    pub user_email: Option<String>,
    /// Kind of actor; null when nobody was signed in.
    pub actor: Option<Actor>,
    /// IP address of the request; null when there was no request.
    pub ip: Option<String>,
    /// `User-Agent` header of the request; null when there was none.
    pub user_agent: Option<String>,
    /// Whether the action succeeded.
    pub outcome: Outcome,
    /// Problem code of a failure, such as `auth.forbidden`; null after a success.
    pub reason: Option<String>,
    /// Details of the action as JSON text; null when there are none.
    pub meta: Option<String>,
}

impl AuditLogRow {
    fn new(row: LogRow, names: &Names) -> AuditLogRow {
        let LogRow { seq: _, id, ts, action, account_id, user_id, actor, ip, user_agent, outcome, reason, meta } = row;
        let (ts, customer_id) = (UnixMillis(ts), account_id.map(AccountId::uuid));
        AuditLogRow {
            id,
            ts,
            action,
            account_id,
            customer_id,
            customer_name: customer_id.and_then(|id| names.get(id)),
            user_id,
            user_email: user_id.and_then(|id| names.get(id.uuid())),
            actor,
            ip,
            user_agent,
            outcome,
            reason,
            meta,
        }
    }
}

/// Newest first.
pub async fn list(mut ctx: ReadCtx, listing: Listing<Filters, (i64, i64)>) -> Result<Rows<AuditLogRow>, Problem> {
    let filters = &listing.filters;
    let end = filters.to.map_or(Time::from_millis(i64::MAX), |Rfc3339(to)| to);
    let filter = AuditFilter {
        action: filters.action.as_deref(),
        account: filters.account_id,
        user: filters.user_id,
        actor: filters.actor,
        outcome: filters.outcome,
        from: filters.from.map_or(Time::from_millis(i64::MIN), |Rfc3339(from)| from),
        // Sequence numbers begin at 1, so rows of the moment `to` itself are excluded.
        before: listing.after.map_or((end, 0), |(at, seq)| (Time::from_millis(at), seq)),
        limit: listing.fetch(),
    };
    let rows = store::list(&mut ctx, &filter).await?;
    let mut names = Names::of_customers(&mut ctx, rows.iter().filter_map(|row| row.account_id)).await?;
    names.add_users(&mut ctx, rows.iter().filter_map(|row| row.user_id)).await?;
    listing.rows(rows, |row| (row.ts.millis(), row.seq), |row| AuditLogRow::new(row, &names))
}
