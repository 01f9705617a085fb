//! Statements for the versions of plans and the assignments of customers.

use uuid::Uuid;

use super::NAME;
use super::notices;
use super::rules::{PlanBase, RateRule};
use crate::routing::cache::{self, Change};
use db::{Conn, DbError, FromRow, insert, params, row, sql, table_row};
use values::{AccountId, List, PlanMarkup, RatePlanId, RatePlanVersionId, Text, Time};

/// Assignments of one customer and versions of its plans that are read; far more than there are.
const MAX_CHANGES: i64 = 100_000;

table_row! {
    /// A plan, apart from its versions.
    #[derive(Clone, Debug)]
    pub struct PlanRow in rate_plans {
        pub id: RatePlanId,
        pub name: Text<1, 100>,
        pub notice_days: i64,
        pub created_at: Time,
        pub updated_at: Time,
    }
}

row! {
    /// A plan with the version of it that was written last, without its rules.
    #[derive(Clone, Debug)]
    pub struct PlanSummary {
        pub id: RatePlanId,
        pub name: Text<1, 100>,
        pub notice_days: i64,
        pub created_at: Time,
        pub updated_at: Time,
        pub version_id: RatePlanVersionId,
        pub number: i64,
        pub base: PlanBase,
        pub markup: PlanMarkup,
        pub allow_below_cost: bool,
        pub rule_count: i64,
        pub effective_at: Time,
        /// Customers that have the plan or are to have it.
        pub customers: i64,
    }
}

row! {
    /// What a plan says from a time on.
    #[derive(Clone, Debug)]
    pub struct VersionRow {
        pub id: RatePlanVersionId,
        pub rate_plan_id: RatePlanId,
        /// From 1.
        pub number: i64,
        pub base: PlanBase,
        pub markup: PlanMarkup,
        pub allow_below_cost: bool,
        pub rules: List<RateRule>,
        pub effective_at: Time,
        pub recorded_at: Time,
    }
}

row! {
    /// When a version counts.
    #[derive(Clone, Copy, Debug)]
    pub struct VersionTimes {
        pub id: RatePlanVersionId,
        pub rate_plan_id: RatePlanId,
        pub effective_at: Time,
        pub recorded_at: Time,
    }
}

row! {
    /// The plan of a customer from a time on.
    #[derive(Clone, Copy, Debug)]
    pub struct Assignment {
        pub account_id: AccountId,
        pub rate_plan_id: Option<RatePlanId>,
        pub effective_at: Time,
        pub recorded_at: Time,
    }
}

row! {
    /// An assignment in the history of a customer.
    #[derive(Clone, Debug)]
    pub struct AssignmentRow {
        /// From 1.
        pub number: i64,
        pub rate_plan_id: Option<RatePlanId>,
        pub effective_at: Time,
        pub recorded_at: Time,
        /// The notice that the customer was promised, in days.
        pub notice_days: Option<i64>,
        pub waive_reason: Option<String>,
    }
}

/// A version to be recorded.
#[derive(Clone, Debug)]
pub struct NewVersion {
    pub rate_plan_id: RatePlanId,
    pub base: PlanBase,
    pub markup: PlanMarkup,
    pub allow_below_cost: bool,
    pub rules: List<RateRule>,
    /// Now if it is past.
    pub effective_at: Time,
}

/// An assignment to be recorded.
#[derive(Clone, Debug)]
pub struct NewAssignment {
    pub account_id: AccountId,
    pub rate_plan_id: Option<RatePlanId>,
    /// Now if it is past.
    pub effective_at: Time,
    pub notice_days: Option<i64>,
    pub waive_reason: Option<String>,
}

/// Locks the plans against other changes until the commit, and returns their version.
pub async fn lock(conn: &mut Conn) -> Result<i64, DbError> {
    cache::lock(conn, NAME).await?;
    cache::version(conn, NAME).await
}

/// Inserts a plan; false if another has its name.
pub async fn insert_plan(conn: &mut Conn, plan: &PlanRow) -> Result<bool, DbError> {
    if name_is_taken(conn, plan).await? {
        return Ok(false);
    }
    conn.insert(plan).await?;
    record_notice(conn, plan).await?;
    Ok(true)
}

/// Saves a plan; false if another has its name.
pub async fn save_plan(conn: &mut Conn, plan: &PlanRow) -> Result<bool, DbError> {
    if name_is_taken(conn, plan).await? {
        return Ok(false);
    }
    let before = find(conn, plan.id).await?;
    conn.update(plan).await?;
    if before.is_none_or(|before| before.notice_days != plan.notice_days) {
        record_notice(conn, plan).await?;
    }
    Ok(true)
}

async fn record_notice(conn: &mut Conn, plan: &PlanRow) -> Result<(), DbError> {
    let Change { at, .. } = cache::bump_version(conn, NAME).await?;
    notices::record(conn, plan.id, plan.notice_days, at).await
}

/// Whether another plan has its name. Changes of plans run one after the other, so nothing comes between.
async fn name_is_taken(conn: &mut Conn, plan: &PlanRow) -> Result<bool, DbError> {
    lock(conn).await?;
    let (is_taken,) = conn
        .one(sql!("SELECT EXISTS (SELECT 1 FROM rate_plans WHERE name = $1 AND id <> $2)"), params![plan.name, plan.id])
        .await?;
    Ok(is_taken)
}

pub async fn find(conn: &mut Conn, id: RatePlanId) -> Result<Option<PlanRow>, DbError> {
    conn.opt(sql!("SELECT ", PlanRow::COLS, " FROM rate_plans WHERE id = $1"), params![id]).await
}

/// Lists plans, newest first, after the cursor.
pub async fn list(conn: &mut Conn, (at, id): (Time, RatePlanId), limit: i64) -> Result<Vec<PlanSummary>, DbError> {
    conn.all(
        sql!(
            "SELECT p.id, p.name, p.notice_days, p.created_at, p.updated_at, v.id, v.number, v.base, v.markup,
                 v.allow_below_cost, v.rule_count, v.effective_at,
                 (SELECT COUNT(DISTINCT a.account_id) FROM rate_plan_assignments AS a
                  WHERE a.rate_plan_id = p.id AND NOT EXISTS (
                      SELECT 1 FROM rate_plan_assignments AS later WHERE later.account_id = a.account_id
                          AND later.number > a.number
                          AND (later.effective_at <= $1 OR later.effective_at <= a.effective_at)))
             FROM rate_plans AS p JOIN rate_plan_versions AS v ON v.rate_plan_id = p.id
                 AND v.number = (SELECT MAX(number) FROM rate_plan_versions WHERE rate_plan_id = p.id)
             WHERE (p.created_at, p.id) < ($2, $3) ORDER BY p.created_at DESC, p.id DESC LIMIT $4"
        ),
        params![conn.now(), at, id, limit],
    )
    .await
}

/// A plan with the version of it that was written last.
pub async fn summary(conn: &mut Conn, id: RatePlanId) -> Result<Option<PlanSummary>, DbError> {
    conn.opt(
        sql!(
            "SELECT p.id, p.name, p.notice_days, p.created_at, p.updated_at, v.id, v.number, v.base, v.markup,
                 v.allow_below_cost, v.rule_count, v.effective_at,
                 (SELECT COUNT(DISTINCT a.account_id) FROM rate_plan_assignments AS a
                  WHERE a.rate_plan_id = p.id AND NOT EXISTS (
                      SELECT 1 FROM rate_plan_assignments AS later WHERE later.account_id = a.account_id
                          AND later.number > a.number
                          AND (later.effective_at <= $1 OR later.effective_at <= a.effective_at)))
             FROM rate_plans AS p JOIN rate_plan_versions AS v ON v.rate_plan_id = p.id
                 AND v.number = (SELECT MAX(number) FROM rate_plan_versions WHERE rate_plan_id = p.id)
             WHERE p.id = $2"
        ),
        params![conn.now(), id],
    )
    .await
}

/// Deletes a plan that no customer ever had, with its versions.
pub async fn delete(conn: &mut Conn, id: RatePlanId) -> Result<(), DbError> {
    cache::bump_version(conn, NAME).await?;
    conn.exec(sql!("DELETE FROM rate_plan_versions WHERE rate_plan_id = $1"), params![id]).await?;
    notices::delete(conn, id).await?;
    conn.exec(sql!("DELETE FROM rate_plans WHERE id = $1"), params![id]).await?;
    Ok(())
}

/// Records a version of a plan.
pub async fn record_version(conn: &mut Conn, new: &NewVersion) -> Result<VersionRow, DbError> {
    let Change { at: recorded_at, .. } = cache::bump_version(conn, NAME).await?;
    let latest = latest_version(conn, new.rate_plan_id).await?;
    let NewVersion { rate_plan_id, base, markup, allow_below_cost, rules, effective_at } = new.clone();
    let version = VersionRow {
        id: conn.new_id(),
        rate_plan_id,
        number: latest.map_or(1, |latest| latest.number + 1),
        base,
        markup,
        allow_below_cost,
        rules,
        effective_at: effective_at.max(conn.now()),
        recorded_at,
    };
    insert!(
        conn,
        rate_plan_versions {
            id: version.id,
            rate_plan_id: version.rate_plan_id,
            number: version.number,
            base: version.base,
            markup: version.markup,
            allow_below_cost: version.allow_below_cost,
            rules: version.rules,
            rule_count: i64::try_from(version.rules.0.len()).unwrap_or(i64::MAX),
            effective_at: version.effective_at,
            recorded_at: version.recorded_at
        }
    )
    .await?;
    Ok(version)
}

/// Records the plan of a customer.
pub async fn record_assignment(conn: &mut Conn, new: &NewAssignment) -> Result<AssignmentRow, DbError> {
    let Change { at: recorded_at, .. } = cache::bump_version(conn, NAME).await?;
    let (last,): (Option<i64>,) = conn
        .one(sql!("SELECT MAX(number) FROM rate_plan_assignments WHERE account_id = $1"), params![new.account_id])
        .await?;
    let assignment = AssignmentRow {
        number: last.unwrap_or(0) + 1,
        rate_plan_id: new.rate_plan_id,
        effective_at: new.effective_at.max(conn.now()),
        recorded_at,
        notice_days: new.notice_days,
        waive_reason: new.waive_reason.clone(),
    };
    insert!(
        conn,
        rate_plan_assignments {
            account_id: new.account_id,
            number: assignment.number,
            rate_plan_id: assignment.rate_plan_id,
            effective_at: assignment.effective_at,
            recorded_at: assignment.recorded_at,
            notice_days: assignment.notice_days,
            waive_reason: assignment.waive_reason
        }
    )
    .await?;
    Ok(assignment)
}

pub async fn find_version(conn: &mut Conn, id: RatePlanVersionId) -> Result<Option<VersionRow>, DbError> {
    conn.opt(sql!("SELECT ", VersionRow::COLS, " FROM rate_plan_versions WHERE id = $1"), params![id]).await
}

/// The version of a plan that was written last, whether it has begun or not.
pub async fn latest_version(conn: &mut Conn, plan: RatePlanId) -> Result<Option<VersionRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            VersionRow::COLS,
            " FROM rate_plan_versions WHERE rate_plan_id = $1 ORDER BY number DESC LIMIT 1"
        ),
        params![plan],
    )
    .await
}

/// Whether any customer ever had a plan, or is to have it.
pub async fn is_assigned(conn: &mut Conn, plan: RatePlanId) -> Result<bool, DbError> {
    let (is_assigned,) = conn
        .one(sql!("SELECT EXISTS (SELECT 1 FROM rate_plan_assignments WHERE rate_plan_id = $1)"), params![plan])
        .await?;
    Ok(is_assigned)
}

/// The customers that have a plan or are to have it, in order, after one of them.
pub async fn customers_after(
    conn: &mut Conn,
    plan: RatePlanId,
    after: Option<AccountId>,
    limit: i64,
) -> Result<Vec<(AccountId,)>, DbError> {
    conn.all(
        sql!(
            "SELECT DISTINCT account_id FROM rate_plan_assignments AS a
             WHERE rate_plan_id = $1 AND account_id > $2 AND NOT EXISTS (
                 SELECT 1 FROM rate_plan_assignments AS later WHERE later.account_id = a.account_id
                     AND later.number > a.number AND (later.effective_at <= $3 OR later.effective_at <= a.effective_at))
             ORDER BY account_id LIMIT $4"
        ),
        params![plan, after.unwrap_or(AccountId::new(Uuid::nil())), conn.now(), limit],
    )
    .await
}

/// The longest notice that those customers were promised, each `default` days unless something else was agreed; none if
/// there are no customers.
pub async fn longest_notice(conn: &mut Conn, plan: RatePlanId, default: i64) -> Result<Option<i64>, DbError> {
    let (days,) = conn
        .one(
            sql!(
                "SELECT MAX(COALESCE(notice_days, $2)) FROM rate_plan_assignments AS latest
                 WHERE number = (SELECT MAX(number) FROM rate_plan_assignments WHERE account_id = latest.account_id)
                     AND account_id IN (
                         SELECT account_id FROM rate_plan_assignments AS a WHERE rate_plan_id = $1 AND NOT EXISTS (
                             SELECT 1 FROM rate_plan_assignments AS later WHERE later.account_id = a.account_id
                                 AND later.number > a.number
                                 AND (later.effective_at <= $3 OR later.effective_at <= a.effective_at)))"
            ),
            params![plan, default, conn.now()],
        )
        .await?;
    Ok(days)
}

/// At most `limit` assignments of a customer before the one with this number, the newest first.
pub async fn assignments_before(
    conn: &mut Conn,
    account: AccountId,
    number: i64,
    limit: i64,
) -> Result<Vec<AssignmentRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            AssignmentRow::COLS,
            " FROM rate_plan_assignments WHERE account_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3"
        ),
        params![account, number, limit],
    )
    .await
}

/// The assignments of a customer, in order.
pub async fn assignments_of(conn: &mut Conn, account: AccountId) -> Result<Vec<Assignment>, DbError> {
    conn.all(
        sql!("SELECT ", Assignment::COLS, " FROM rate_plan_assignments WHERE account_id = $1 ORDER BY number LIMIT $2"),
        params![account, MAX_CHANGES],
    )
    .await
}

/// The versions of all plans that a customer ever had, in order.
pub async fn versions_for(conn: &mut Conn, account: AccountId) -> Result<Vec<VersionTimes>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            VersionTimes::COLS,
            " FROM rate_plan_versions WHERE rate_plan_id IN (
                  SELECT rate_plan_id FROM rate_plan_assignments WHERE account_id = $1)
              ORDER BY rate_plan_id, number LIMIT $2"
        ),
        params![account, MAX_CHANGES],
    )
    .await
}

/// The versions of a plan, in order.
pub async fn versions_of(conn: &mut Conn, plan: RatePlanId) -> Result<Vec<VersionTimes>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            VersionTimes::COLS,
            " FROM rate_plan_versions WHERE rate_plan_id = $1 ORDER BY number LIMIT $2"
        ),
        params![plan, MAX_CHANGES],
    )
    .await
}

/// The assignments of all customers that are not over at a time, in order.
pub async fn assignments_since(conn: &mut Conn, at: Time) -> Result<Vec<Assignment>, DbError> {
    let sql = sql!(
        "SELECT ",
        Assignment::COLS,
        " FROM rate_plan_assignments AS a WHERE NOT EXISTS (
              SELECT 1 FROM rate_plan_assignments AS later
              WHERE later.account_id = a.account_id AND later.number > a.number AND later.effective_at <= $1)
          ORDER BY account_id, number"
    );
    collect(conn, sql, at).await
}

/// The versions of all plans that are not over at a time, in order.
pub async fn versions_since(conn: &mut Conn, at: Time) -> Result<Vec<VersionTimes>, DbError> {
    let sql = sql!(
        "SELECT ",
        VersionTimes::COLS,
        " FROM rate_plan_versions AS v WHERE NOT EXISTS (
              SELECT 1 FROM rate_plan_versions AS later
              WHERE later.rate_plan_id = v.rate_plan_id AND later.number > v.number AND later.effective_at <= $1)
          ORDER BY rate_plan_id, number"
    );
    collect(conn, sql, at).await
}

/// Every row, since a node knows the plans of all customers.
async fn collect<T: FromRow + Send>(conn: &mut Conn, sql: &'static str, at: Time) -> Result<Vec<T>, DbError> {
    let mut rows = Vec::new();
    conn.each(sql, params![at], |row| {
        rows.push(row);
        Ok(())
    })
    .await?;
    Ok(rows)
}
