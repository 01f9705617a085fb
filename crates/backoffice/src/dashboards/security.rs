//! `GET /admin/dashboard/security`.

use std::time::Duration;

use super::operational::{MAX_ENTRIES, by_route, filled, total};
use super::store::{self, Admin, AuditEvent, Named};
use super::types::{
    AdminTwoFactor, FailedSignIns, Impersonation, IpCount, LockedUser, NotEnrolled, RateLimited, RecentlyUsed, Reuse,
    SecurityDashboard, TokenReuse,
};
use super::{flush_traffic, window_start};
use api::answer::Report;
use api::context::ReadCtx;
use api::problem::Problem;
use platform::request_stats::Count;
use values::{AccountId, Time, UnixMillis};

const DAY: Duration = Duration::from_secs(24 * 3600);
const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);
/// Admins that are read; more than a team has.
const MAX_ADMINS: i64 = 1000;

pub async fn security(ctx: ReadCtx) -> Result<Report<SecurityDashboard>, Problem> {
    let ReadCtx { conn, request } = ctx;
    // This connection's snapshot is older than the flush below.
    drop(conn);
    flush_traffic(&request.app).await?;
    let (mut conn, now) = (request.app.db.read().await?, request.now);
    let admin_2fa = two_factor(store::admins(&mut conn, MAX_ADMINS).await?, now);

    let last_day = window_start(now, DAY);
    let by_ip = store::by_name(&mut conn, last_day, Count::FailedSignIn, MAX_ENTRIES).await?;
    let failed = store::by_time(&mut conn, last_day, Count::FailedSignIn, "").await?;
    let failed_sign_ins = FailedSignIns {
        total: failed.iter().map(|bucket| bucket.count).sum(),
        ts_buckets: filled(last_day, now, failed),
        by_ip: by_ip.into_iter().map(|Named { name, count }| IpCount { ip: name, count }).collect(),
    };
    let limited = store::by_name(&mut conn, last_day, Count::Limited, i64::MAX).await?;
    let rate_limited = RateLimited { total: total(&limited), by_route: by_route(limited) };

    let month = now.minus(MONTH);
    let token_reuse = TokenReuse {
        total: store::count_audit_events(&mut conn, TOKEN_REUSE, month).await?,
        recent: store::audit_events(&mut conn, TOKEN_REUSE, month, MAX_ENTRIES).await?.into_iter().map(reuse).collect(),
    };
    let impersonations = store::audit_events(&mut conn, IMPERSONATION, month, MAX_ENTRIES).await?;
    let locked_users = store::locked_users(&mut conn, MAX_ENTRIES).await?.into_iter().map(|locked| LockedUser {
        user_id: locked.user_id,
        email: locked.email,
        locked_until: UnixMillis(locked.until),
    });
    Ok(Report(SecurityDashboard {
        admin_2fa,
        failed_sign_ins,
        token_reuse,
        impersonations: impersonations.into_iter().map(impersonation).collect(),
        locked_users: locked_users.collect(),
        rate_limited,
    }))
}

/// Audit actions.
const TOKEN_REUSE: &str = "session.token_reuse";
const IMPERSONATION: &str = "customer.impersonate";

fn two_factor(admins: Vec<Admin>, now: Time) -> AdminTwoFactor {
    let (enrolled, not_enrolled): (Vec<Admin>, Vec<Admin>) = admins.into_iter().partition(|admin| admin.is_enrolled);
    let mut recently_used: Vec<RecentlyUsed> = enrolled
        .iter()
        .filter_map(|admin| {
            let last_used_at = admin.last_used_at.filter(|used| *used > now.minus(MONTH))?;
            Some(RecentlyUsed {
                user_id: admin.user_id,
                email: admin.email.clone(),
                last_used_at: UnixMillis(last_used_at),
            })
        })
        .collect();
    recently_used.sort_by_key(|used| std::cmp::Reverse(used.last_used_at));
    AdminTwoFactor {
        total_admins: (enrolled.len() + not_enrolled.len()) as i64,
        enrolled: enrolled.len() as i64,
        not_enrolled: not_enrolled
            .into_iter()
            .map(|admin| NotEnrolled {
                user_id: admin.user_id,
                email: admin.email,
                days_since_admin_role: (now.since(admin.created_at).as_secs() / DAY.as_secs()).cast_signed(),
            })
            .collect(),
        recently_used,
    }
}

fn reuse(row: AuditEvent) -> Reuse {
    let customer_id = row.account_id.map(AccountId::uuid);
    Reuse { user_id: row.user_id, account_id: row.account_id, customer_id, ip: row.ip, ts: UnixMillis(row.ts) }
}

fn impersonation(row: AuditEvent) -> Impersonation {
    let customer_id = row.account_id.map(AccountId::uuid);
    Impersonation { admin: row.user_id, account_id: row.account_id, customer_id, ts: UnixMillis(row.ts) }
}
