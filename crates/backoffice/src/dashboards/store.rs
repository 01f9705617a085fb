//! Sums of minutes and hours.

use std::time::Duration;

use db::{Conn, DbError, params, row, sql};
use platform::request_stats::{Count, Counts};
use values::{AccountId, Email, Time, UserId, text_enum};

text_enum! {
    /// How much time a sum is of.
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

    /// Where the span begins that a moment is in.
    pub fn start(self, moment: Time) -> Time {
        let length = i64::try_from(self.length().as_millis()).unwrap_or(i64::MAX);
        Time::from_millis(moment.millis().div_euclid(length) * length)
    }
}

row! {
    /// How often something happened in a span.
    pub struct Bucket {
        pub at: Time,
        pub count: i64,
    }
}

row! {
    /// How often it happened under one name.
    pub struct Named {
        pub name: String,
        pub count: i64,
    }
}

/// Adds numbers to the minute and the hour of a moment. In the order of their names, as other nodes do.
pub async fn add(conn: &mut Conn, counts: &Counts, now: Time) -> Result<(), DbError> {
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

/// Counts rows of the audit log that nobody has counted yet, and says how many they were.
pub async fn count_audit(conn: &mut Conn, at_most: i64) -> Result<i64, DbError> {
    // The row is the lock: nodes take turns, and none counts what another has.
    let (counted,): (i64,) =
        conn.one(sql!("UPDATE audit_counted SET seq = seq WHERE id = 1 RETURNING seq"), params![]).await?;
    let (last,): (Option<i64>,) = conn
        .one(
            sql!("SELECT MAX(seq) FROM (SELECT seq FROM audit_log WHERE seq > $1 ORDER BY seq LIMIT $2) AS fresh"),
            params![counted, at_most],
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

/// What happened from a moment on, by name, the most frequent first.
pub async fn by_name(
    conn: &mut Conn,
    (span, from): (Span, Time),
    what: Count,
    at_most: i64,
) -> Result<Vec<Named>, DbError> {
    conn.all(
        sql!(
            "SELECT name, CAST(SUM(count) AS BIGINT) AS count FROM traffic WHERE span = $1 AND what = $2 AND at >= $3
             GROUP BY name ORDER BY 2 DESC, 1 LIMIT $4"
        ),
        params![span, what, from, at_most],
    )
    .await
}

/// What happened in each span, of names not before this one.
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

/// Forgets sums that began before a moment.
pub async fn forget(conn: &mut Conn, span: Span, cutoff: Time, batch: i64) -> Result<u64, DbError> {
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

/// Those who may do everything.
pub async fn admins(conn: &mut Conn, at_most: i64) -> Result<Vec<Admin>, DbError> {
    conn.all(
        sql!(
            "SELECT u.id, u.email, u.created_at, s.confirmed_at IS NOT NULL, s.last_used_at
             FROM users u LEFT JOIN two_factor_seeds s ON s.user_id = u.id
             WHERE u.roles <> 'customer' AND u.roles LIKE '%admin%' AND u.is_active ORDER BY u.id LIMIT $1"
        ),
        params![at_most],
    )
    .await
}

row! {
    /// A row of the audit log.
    pub struct Recorded {
        pub user_id: Option<UserId>,
        pub account_id: Option<AccountId>,
        pub ip: Option<String>,
        pub ts: Time,
    }
}

/// What was done since a moment, the newest first.
pub async fn recorded(conn: &mut Conn, action: &str, since: Time, at_most: i64) -> Result<Vec<Recorded>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            Recorded::COLS,
            " FROM audit_log WHERE action = $1 AND ts >= $2 AND outcome = 'success'
             ORDER BY ts DESC, seq DESC LIMIT $3"
        ),
        params![action, since, at_most],
    )
    .await
}

/// How often that was. What is counted here is rare.
pub async fn recorded_times(conn: &mut Conn, action: &str, since: Time) -> Result<i64, DbError> {
    let (times,) = conn
        .one(
            sql!("SELECT count(*) FROM audit_log WHERE action = $1 AND ts >= $2 AND outcome = 'success'"),
            params![action, since],
        )
        .await?;
    Ok(times)
}

row! {
    pub struct Locked {
        pub user_id: UserId,
        pub email: Email,
        pub until: Time,
    }
}

/// Users who have to wait, the longest first.
pub async fn locked(conn: &mut Conn, now: Time, at_most: i64) -> Result<Vec<Locked>, DbError> {
    conn.all(
        sql!(
            "SELECT u.id, u.email, MAX(f.locked_until) FROM sign_in_failures f JOIN users u ON u.id = f.user_id
             WHERE f.user_id IS NOT NULL AND f.locked_until > $1
             GROUP BY u.id, u.email ORDER BY 3 DESC, 1 LIMIT $2"
        ),
        params![now, at_most],
    )
    .await
}
