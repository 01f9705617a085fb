//! Table `daily_spend`.

use std::collections::BTreeSet;

use super::DailySpend;
use db::{Conn, DbError, Inserts, Statement, Value, insert, params, row_values, sql};
use values::AccountId;

/// Reserves spend; false if that would exceed the limit of the day.
pub async fn reserve(conn: &mut Conn, day: DailySpend, amount: i64) -> Result<bool, DbError> {
    let reserved = conn
        .exec(
            sql!(
                "INSERT INTO daily_spend (account_id, day, charged, reserved, told)
                 SELECT $1, $2, 0, CAST($3 AS BIGINT), FALSE WHERE CAST($3 AS BIGINT) <= CAST($4 AS BIGINT)
                 ON CONFLICT (account_id, day) DO UPDATE SET reserved = daily_spend.reserved + $3
                 WHERE daily_spend.charged + daily_spend.reserved + $3 <= $4"
            ),
            params![day.account, day.day, amount, day.limit],
        )
        .await?;
    Ok(reserved > 0)
}

/// Reserves spend of several days, in the order of their locks. On PostgreSQL it returns what is spent of each.
pub fn reserve_each(days: &[(DailySpend, i64)]) -> Inserts<'_> {
    Inserts {
        text: sql!(
            "INSERT INTO daily_spend (account_id, day, charged, reserved, told) VALUES ($1, $2, 0, $3, FALSE)
             ON CONFLICT (account_id, day) DO UPDATE SET reserved = daily_spend.reserved + excluded.reserved
             /*pg RETURNING charged + reserved */"
        ),
        lists: days.iter().map(|(day, amount)| row_values![day.account, day.day, *amount].into()).collect(),
    }
}

/// What is left of the limit. Locks the row.
pub async fn remaining(conn: &mut Conn, day: DailySpend) -> Result<i64, DbError> {
    let spent: Option<(i64, i64)> = conn
        .opt(
            sql!("SELECT charged, reserved FROM daily_spend WHERE account_id = $1 AND day = $2 /*pg FOR UPDATE */"),
            params![day.account, day.day],
        )
        .await?;
    Ok(spent.map_or(day.limit, |(charged, reserved)| day.limit - charged - reserved))
}

/// Locks the days of accounts until the commit, in their order.
pub async fn lock_days(conn: &mut Conn, days: &BTreeSet<(AccountId, i64)>) -> Result<(), DbError> {
    let lists: Vec<Vec<Value<'_>>> = days.iter().map(|(account, day)| row_values![*account, *day].into()).collect();
    let text = sql!("SELECT day FROM daily_spend WHERE account_id = $1 AND day = $2 /*pg FOR NO KEY UPDATE */");
    let _: Vec<Option<(i64,)>> = conn.opt_each(text, &lists).await?;
    Ok(())
}

/// Adds the charges of calls that began on this day and releases what was reserved for them.
pub fn settle_spend(account: AccountId, day: i64, charged: i64, released: i64) -> Statement {
    Statement::new(
        sql!(
            "INSERT INTO daily_spend (account_id, day, charged, reserved, told) VALUES ($1, $2, $3, 0, FALSE)
             ON CONFLICT (account_id, day) DO UPDATE
             SET charged = daily_spend.charged + $3, reserved = daily_spend.reserved - $4"
        ),
        params![account, day, charged, released],
    )
}

/// Marks the day as notified; false if it was before.
pub async fn claim_notification(conn: &mut Conn, day: DailySpend) -> Result<bool, DbError> {
    let marked = insert!(
        conn,
        daily_spend { account_id: day.account, day: day.day, charged: 0i64, reserved: 0i64, told: true },
        "ON CONFLICT (account_id, day) DO UPDATE SET told = TRUE WHERE NOT daily_spend.told"
    )
    .await?;
    Ok(marked > 0)
}
