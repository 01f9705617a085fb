//! The `rate_plan_notices` table, and the notices in the assignments of customers.

use db::{Conn, DbError, insert, params, sql};
use values::{AccountId, RatePlanId, Time};

/// Records the notice of a plan from a time on.
pub async fn record(conn: &mut Conn, plan: RatePlanId, days: i64, at: Time) -> Result<(), DbError> {
    insert!(conn, rate_plan_notices { rate_plan_id: plan, recorded_at: at, notice_days: days }).await?;
    Ok(())
}

/// Deletes the notices of a plan that no customer ever had.
pub async fn delete(conn: &mut Conn, plan: RatePlanId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM rate_plan_notices WHERE rate_plan_id = $1"), params![plan]).await?;
    Ok(())
}

/// The notices of all plans, in order: since when, and how many days.
pub async fn of_plans(conn: &mut Conn) -> Result<Vec<(RatePlanId, Time, i64)>, DbError> {
    let mut notices = Vec::new();
    let sql =
        sql!("SELECT rate_plan_id, recorded_at, notice_days FROM rate_plan_notices ORDER BY rate_plan_id, recorded_at");
    conn.each(sql, params![], |notice| {
        notices.push(notice);
        Ok(())
    })
    .await?;
    Ok(notices)
}

/// The notices that were agreed with customers, in order: since when, and how many days.
pub async fn of_customers(conn: &mut Conn) -> Result<Vec<(AccountId, Time, i64)>, DbError> {
    let mut notices = Vec::new();
    let sql = sql!(
        "SELECT account_id, recorded_at, notice_days FROM rate_plan_assignments WHERE notice_days IS NOT NULL
         ORDER BY account_id, number"
    );
    conn.each(sql, params![], |notice| {
        notices.push(notice);
        Ok(())
    })
    .await?;
    Ok(notices)
}
