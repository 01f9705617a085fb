//! Table `traffic` (sums per minute and hour), and what the security dashboard reads.

use std::time::Duration;

use db::{Conn, DbError, params, row, sql};
use platform::request_stats::{Count, Counts};
use values::{AccountId, Email, Time, UserId, text_enum};

text_enum! {
    /// Length of time that a sum covers.
    pub enum Span {
        Minute = "minute",
        Hour = "hour",
    }
}

impl Span {
    pub const fn length(self) -> Duration {
        match self {
            Span::Minute => Duration::from_secs(60),
            Span::Hour => Duration::from_secs(3600),
        }
    }

    /// Start of the minute or hour that contains a moment.
    pub fn start(self, moment: Time) -> Time {
        let length = i64::try_from(self.length().as_millis()).unwrap_or(i64::MAX);
        Time::from_millis(moment.millis().div_euclid(length) * length)
    }
}

row! {
    /// Number of events in one minute or hour.
    pub struct Bucket {
        pub at: Time,
        pub count: i64,
    }
}

row! {
    /// Number of events with one name, such as a route.
    pub struct Named {
        pub name: String,
        pub count: i64,
    }
}

/// Adds counters to the minute and the hour of a moment, ordered by name, so that nodes do not deadlock.
pub async fn add(conn: &mut Conn, counts: &Counts) -> Result<(), DbError> {
    let now = conn.now();
    for ((what, name), number) in counts {
        let number = i64::try_from(*number).unwrap_or(i64::MAX);
        conn.exec(
            sql!(
                "INSERT INTO traffic (span, what, at, name, count) VALUES ('hour', $1, $2, $4, $5), ('minute', $1, $3, $4, $5)
                 ON CONFLICT (span, what, at, name) DO UPDATE SET count = traffic.count + excluded.count"
            ),
            params![*what, Span::Hour.start(now), Span::Minute.start(now), name, number],
        )
        .await?;
    }
    Ok(())
}

/// Counts audit rows that are not counted yet, up to `limit`, and returns how many.
pub async fn count_audit(conn: &mut Conn, limit: i64) -> Result<i64, DbError> {
    // Locks the row, so that no two nodes count the same audit rows.
    let (counted,): (i64,) =
        conn.one(sql!("UPDATE audit_counted SET seq = seq WHERE id = 1 RETURNING seq"), params![]).await?;
    let (last,): (Option<i64>,) = conn
        .one(
            sql!("SELECT MAX(seq) FROM (SELECT seq FROM audit_log WHERE seq > $1 ORDER BY seq LIMIT $2) AS fresh"),
            params![counted, limit],
        )
        .await?;
    let Some(last) = last else { return Ok(0) };
    conn.exec(
        sql!(
            "INSERT INTO traffic (span, what, at, name, count)
             SELECT 'hour', 'audit', ts - ts % 3600000, action, count(*) FROM audit_log WHERE seq > $1 AND seq <= $2
             GROUP BY ts - ts % 3600000, action
             ON CONFLICT (span, what, at, name) DO UPDATE SET count = traffic.count + excluded.count"
        ),
        params![counted, last],
    )
    .await?;
    conn.exec(
        sql!(
            "INSERT INTO traffic (span, what, at, name, count)
             SELECT 'minute', 'audit', ts - ts % 60000, action, count(*) FROM audit_log WHERE seq > $1 AND seq <= $2
             GROUP BY ts - ts % 60000, action
             ON CONFLICT (span, what, at, name) DO UPDATE SET count = traffic.count + excluded.count"
        ),
        params![counted, last],
    )
    .await?;
    conn.exec(sql!("UPDATE audit_counted SET seq = $1 WHERE id = 1"), params![last]).await?;
    Ok(last - counted)
}

/// Sums by name from a moment on, the most frequent first.
pub async fn by_name(
    conn: &mut Conn,
    (span, from): (Span, Time),
    what: Count,
    limit: i64,
) -> Result<Vec<Named>, DbError> {
    conn.all(
        sql!(
            "SELECT name, CAST(SUM(count) AS BIGINT) AS count FROM traffic WHERE span = $1 AND what = $2 AND at >= $3
             GROUP BY name ORDER BY 2 DESC, 1 LIMIT $4"
        ),
        params![span, what, from, limit],
    )
    .await
}

/// Sums per minute or hour, of names that sort at or after `first_name`.
pub async fn by_time(
    conn: &mut Conn,
    (span, from): (Span, Time),
    what: Count,
    first_name: &str,
) -> Result<Vec<Bucket>, DbError> {
    conn.all(
        sql!(
            "SELECT at, CAST(SUM(count) AS BIGINT) AS count FROM traffic
             WHERE span = $1 AND what = $2 AND at >= $3 AND name >= $4 GROUP BY at ORDER BY at"
        ),
        params![span, what, from, first_name],
    )
    .await
}

/// Deletes sums that began before `cutoff`.
pub async fn purge(conn: &mut Conn, span: Span, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM traffic WHERE (span, what, at, name) IN (
                 SELECT span, what, at, name FROM traffic WHERE span = $1 AND at < $2 LIMIT $3)"
        ),
        params![span, cutoff, batch],
    )
    .await
}

row! {
    pub struct Admin {
        pub user_id: UserId,
        pub email: Email,
        pub created_at: Time,
        pub is_enrolled: bool,
        pub last_used_at: Option<Time>,
    }
}

/// Active admins.
pub async fn admins(conn: &mut Conn, limit: i64) -> Result<Vec<Admin>, DbError> {
    conn.all(
        sql!(
            "SELECT u.id, u.email, u.created_at,
                    s.confirmed_at IS NOT NULL OR EXISTS (SELECT 1 FROM passkeys WHERE user_id = u.id),
                    (SELECT MAX(at) FROM (
                        SELECT s.last_used_at AS at
                        UNION ALL SELECT last_used_at FROM passkeys WHERE user_id = u.id
                        UNION ALL SELECT used_at FROM recovery_codes WHERE user_id = u.id) used)
             FROM users u LEFT JOIN two_factor_seeds s ON s.user_id = u.id
             WHERE u.roles <> 'customer' AND u.roles LIKE '%admin%' AND u.is_active ORDER BY u.id LIMIT $1"
        ),
        params![limit],
    )
    .await
}

row! {
    /// A successful action in the audit log.
    pub struct AuditEvent {
        pub user_id: Option<UserId>,
        pub account_id: Option<AccountId>,
        pub ip: Option<String>,
        pub ts: Time,
    }
}

/// Successful actions of one kind since a moment, newest first.
pub async fn audit_events(conn: &mut Conn, action: &str, since: Time, limit: i64) -> Result<Vec<AuditEvent>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            AuditEvent::COLS,
            " FROM audit_log WHERE action = $1 AND ts >= $2 AND outcome = 'success'
             ORDER BY ts DESC, seq DESC LIMIT $3"
        ),
        params![action, since, limit],
    )
    .await
}

/// Number of these actions, which are rare.
pub async fn count_audit_events(conn: &mut Conn, action: &str, since: Time) -> Result<i64, DbError> {
    let (count,) = conn
        .one(
            sql!("SELECT count(*) FROM audit_log WHERE action = $1 AND ts >= $2 AND outcome = 'success'"),
            params![action, since],
        )
        .await?;
    Ok(count)
}

row! {
    pub struct LockedUserRow {
        pub user_id: UserId,
        pub email: Email,
        pub until: Time,
    }
}

/// Users who are locked out, the longest lockout first.
pub async fn locked_users(conn: &mut Conn, limit: i64) -> Result<Vec<LockedUserRow>, DbError> {
    conn.all(
        sql!(
            "SELECT u.id, u.email, MAX(f.locked_until) FROM sign_in_failures f JOIN users u ON u.id = f.user_id
             WHERE f.user_id IS NOT NULL AND f.locked_until > $1
             GROUP BY u.id, u.email ORDER BY 3 DESC, 1 LIMIT $2"
        ),
        params![conn.now(), limit],
    )
    .await
}
