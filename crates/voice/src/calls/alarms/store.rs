//! The sums of hours and days, and what accounts were told of them.

use crate::calls::day_of;
use db::{Conn, DbError, params, row, sql};
use values::{AccountId, Time};

/// Accounts, after this one, whose calls of an hour cost at least so much.
pub async fn dear_hours(
    conn: &mut Conn,
    hour: i64,
    least: i64,
    after: AccountId,
    limit: i64,
) -> Result<Vec<(AccountId, i64)>, DbError> {
    conn.all(
        sql!(
            "SELECT account_id, CAST(SUM(charge) AS BIGINT) FROM cdr_hours WHERE hour = $1 AND account_id > $3
             GROUP BY account_id HAVING SUM(charge) >= $2 ORDER BY account_id LIMIT $4"
        ),
        params![hour, least, after, limit],
    )
    .await
}

/// What an account's calls from one hour on and before another have cost.
pub async fn spend_of_hours(conn: &mut Conn, account: AccountId, from: i64, to: i64) -> Result<i64, DbError> {
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
    /// A destination that hardly anybody answers.
    pub struct Poor {
        pub account_id: AccountId,
        pub country: String,
        pub destination_name: String,
        pub attempts: i64,
        pub answered: i64,
    }
}

/// Those of a day that nobody was told of. Calls to customers' numbers have no destination: how many of them are
/// answered is the customer's own affair.
pub async fn poor_destinations(
    conn: &mut Conn,
    day: i64,
    calls: i64,
    percent: i64,
    alarm: &str,
    limit: i64,
) -> Result<Vec<Poor>, DbError> {
    conn.all(
        sql!(
            "SELECT account_id, country, destination_name, attempts, answered FROM cdr_days d
             WHERE day = $1 AND destination_name <> '' AND attempts >= $2 AND answered * 100 < attempts * $3
               AND NOT EXISTS (SELECT 1 FROM call_alarms a
                               WHERE a.day = d.day AND a.account_id = d.account_id AND a.alarm = $4
                                 AND a.country = d.country AND a.destination_name = d.destination_name)
             LIMIT $5"
        ),
        params![day, calls, percent, alarm, limit],
    )
    .await
}

/// What an account is told of once a day.
#[derive(Clone, Debug)]
pub struct Alarm {
    pub day: i64,
    pub account: AccountId,
    pub alarm: &'static str,
    /// Empty when it is about no destination.
    pub country: String,
    pub destination_name: String,
}

impl Alarm {
    pub fn of_account(day: i64, account: AccountId, alarm: &'static str) -> Alarm {
        Alarm { day, account, alarm, country: String::new(), destination_name: String::new() }
    }
}

/// Whether this is the first to tell it.
pub async fn raise(conn: &mut Conn, alarm: &Alarm) -> Result<bool, DbError> {
    let raised = conn
        .exec(
            sql!(
                "INSERT INTO call_alarms (day, account_id, alarm, country, destination_name) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (day, account_id, alarm, country, destination_name) DO NOTHING"
            ),
            params![alarm.day, alarm.account, alarm.alarm, alarm.country, alarm.destination_name],
        )
        .await?;
    Ok(raised > 0)
}

/// Forgets what was told of days that are over for long; answers how much.
pub async fn forget(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
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
