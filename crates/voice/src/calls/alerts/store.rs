//! Rollups that alerts are based on, and the alerts that were sent (table `call_alarms`).

use crate::concurrency::day_of;
use db::{Conn, DbError, insert, params, row, sql};
use values::{AccountId, Time};

/// Accounts after this one whose calls of an hour cost at least `min_spend`, with their spend.
pub async fn list_expensive_hours(
    conn: &mut Conn,
    hour: i64,
    min_spend: i64,
    after: AccountId,
    limit: i64,
) -> Result<Vec<(AccountId, i64)>, DbError> {
    conn.all(
        sql!(
            "SELECT account_id, CAST(SUM(charge) AS BIGINT) FROM cdr_hours WHERE hour = $1 AND account_id > $3
             GROUP BY account_id HAVING SUM(charge) >= $2 ORDER BY account_id LIMIT $4"
        ),
        params![hour, min_spend, after, limit],
    )
    .await
}

/// Spend of an account's calls from one hour to before another.
pub async fn sum_spend(conn: &mut Conn, account: AccountId, from: i64, to: i64) -> Result<i64, DbError> {
    let (spend,) = conn
        .one(
            sql!(
                "SELECT CAST(COALESCE(SUM(charge), 0) AS BIGINT) FROM cdr_hours
                 WHERE account_id = $1 AND hour >= $2 AND hour < $3"
            ),
            params![account, from, to],
        )
        .await?;
    Ok(spend)
}

row! {
    /// A destination with a low ASR.
    pub struct LowAsr {
        pub account_id: AccountId,
        pub country: String,
        pub destination_name: String,
        pub attempts: i64,
        pub answered: i64,
    }
}

/// Destinations with a low ASR on a day whose accounts were not alerted. Inbound calls have no destination: whether
/// they are answered is up to the customer.
pub async fn list_low_asr(
    conn: &mut Conn,
    day: i64,
    min_calls: i64,
    percent: i64,
    code: &str,
    limit: i64,
) -> Result<Vec<LowAsr>, DbError> {
    conn.all(
        sql!(
            "SELECT account_id, country, destination_name, attempts, answered FROM cdr_days d
             WHERE day = $1 AND destination_name <> '' AND attempts >= $2 AND answered * 100 < attempts * $3
               AND NOT EXISTS (SELECT 1 FROM call_alarms a
                               WHERE a.day = d.day AND a.account_id = d.account_id AND a.alarm = $4
                                 AND a.country = d.country AND a.destination_name = d.destination_name)
             LIMIT $5"
        ),
        params![day, min_calls, percent, code, limit],
    )
    .await
}

/// An alert that is sent once a day.
#[derive(Clone, Debug)]
pub struct Alert {
    pub day: i64,
    pub account: AccountId,
    /// Code of the notification.
    pub code: &'static str,
    /// Empty if the alert is not about a destination; so is the name.
    pub country: String,
    pub destination_name: String,
}

impl Alert {
    pub fn of_account(day: i64, account: AccountId, code: &'static str) -> Alert {
        Alert { day, account, code, country: String::new(), destination_name: String::new() }
    }
}

/// Stores an alert; false if it was sent before.
pub async fn claim(conn: &mut Conn, alert: &Alert) -> Result<bool, DbError> {
    let inserted = insert!(
        conn,
        call_alarms {
            day: alert.day,
            account_id: alert.account,
            alarm: alert.code,
            country: alert.country,
            destination_name: alert.destination_name
        },
        "ON CONFLICT (day, account_id, alarm, country, destination_name) DO NOTHING"
    )
    .await?;
    Ok(inserted > 0)
}

/// Purges up to `batch` alerts of days before `cutoff`.
pub async fn purge(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM call_alarms WHERE (day, account_id, alarm, country, destination_name) IN
                 (SELECT day, account_id, alarm, country, destination_name FROM call_alarms WHERE day < $1
                  ORDER BY day LIMIT $2)"
        ),
        params![day_of(cutoff), batch],
    )
    .await
}
