//! The `numbers` table, and the checks of the trunks that numbers are on.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::types::NumberId;
use crate::inventory::{NumberCapability, NumberType, Regulatory, StockId};
use db::{Conn, DbError, Statement, Value, insert, params, row, row_values, sql};
use values::{AccountId, Country, E164, Time, TrunkId, Words};

row! {
    #[derive(Clone, Debug)]
    pub struct NumberRow {
        pub id: NumberId,
        pub account_id: AccountId,
        pub order_id: Uuid,
        pub stock_id: StockId,
        pub trunk_id: TrunkId,
        pub e164: E164,
        pub country: Country,
        pub kind: NumberType,
        pub capabilities: Words<NumberCapability>,
        pub regulatory: Regulatory,
        pub monthly: i64,
        pub since: Time,
        pub months_paid: i64,
        pub next_renewal_at: Time,
        pub try_at: Time,
        pub failures: i64,
        pub released_at: Option<Time>,
    }
}

pub async fn insert(conn: &mut Conn, new: &NumberRow) -> Result<(), DbError> {
    insert!(
        conn,
        numbers {
            id: new.id,
            account_id: new.account_id,
            order_id: new.order_id,
            stock_id: new.stock_id,
            trunk_id: new.trunk_id,
            e164: new.e164,
            country: new.country,
            kind: new.kind,
            capabilities: new.capabilities,
            regulatory: new.regulatory,
            monthly: new.monthly,
            since: new.since,
            months_paid: new.months_paid,
            next_renewal_at: new.next_renewal_at,
            try_at: new.try_at,
            failures: 0i64,
            warned_of: 0i64
        }
    )
    .await?;
    Ok(())
}

/// A number that the account rents.
pub async fn find(conn: &mut Conn, account: AccountId, id: NumberId) -> Result<Option<NumberRow>, DbError> {
    conn.opt(
        sql!("SELECT ", NumberRow::COLS, " FROM numbers WHERE id = $1 AND account_id = $2 AND released_at IS NULL"),
        params![id, account],
    )
    .await
}

/// A rented number, locked until the commit.
pub async fn lock(conn: &mut Conn, id: NumberId) -> Result<Option<NumberRow>, DbError> {
    conn.opt(
        sql!("SELECT ", NumberRow::COLS, " FROM numbers WHERE id = $1 AND released_at IS NULL /*pg FOR UPDATE */"),
        params![id],
    )
    .await
}

/// Locks numbers, in the order of their ids, and returns them in the given one.
pub async fn lock_each(conn: &mut Conn, ids: &[(NumberId,)]) -> Result<Vec<NumberRow>, DbError> {
    let mut sorted: Vec<NumberId> = ids.iter().map(|(id,)| *id).collect();
    sorted.sort_unstable();
    let lists: Vec<Vec<Value<'_>>> = sorted.iter().map(|id| row_values![*id].into()).collect();
    let locked: Vec<Option<NumberRow>> = conn
        .opt_each(
            sql!("SELECT ", NumberRow::COLS, " FROM numbers WHERE id = $1 AND released_at IS NULL /*pg FOR UPDATE */"),
            &lists,
        )
        .await?;
    let mut locked: BTreeMap<NumberId, NumberRow> = locked.into_iter().flatten().map(|row| (row.id, row)).collect();
    Ok(ids.iter().filter_map(|(id,)| locked.remove(id)).collect())
}

/// Lists the numbers of an account, of one country or of all, newest first, after the cursor.
pub async fn list(
    conn: &mut Conn,
    account: AccountId,
    country: Option<Country>,
    (at, id): (Time, NumberId),
    limit: i64,
) -> Result<Vec<NumberRow>, DbError> {
    match country {
        None => {
            let sql = sql!(
                "SELECT ",
                NumberRow::COLS,
                " FROM numbers WHERE account_id = $1 AND released_at IS NULL AND (since, id) < ($2, $3)
                 ORDER BY since DESC, id DESC LIMIT $4"
            );
            conn.all(sql, params![account, at, id, limit]).await
        }
        Some(country) => {
            let sql = sql!(
                "SELECT ",
                NumberRow::COLS,
                " FROM numbers
                 WHERE account_id = $1 AND country = $2 AND released_at IS NULL AND (since, id) < ($3, $4)
                 ORDER BY since DESC, id DESC LIMIT $5"
            );
            conn.all(sql, params![account, country, at, id, limit]).await
        }
    }
}

/// Lists the numbers of an account from one text on and before another, in their order.
pub async fn list_by_number(
    conn: &mut Conn,
    account: AccountId,
    (start, end): (&str, &str),
    limit: i64,
) -> Result<Vec<NumberRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            NumberRow::COLS,
            " FROM numbers WHERE account_id = $1 AND released_at IS NULL AND e164 /*pg COLLATE \"C\" */ >= $2
                 AND e164 /*pg COLLATE \"C\" */ < $3
             ORDER BY e164 /*pg COLLATE \"C\" */ LIMIT $4"
        ),
        params![account, start, end, limit],
    )
    .await
}

/// Lists the numbers of a trunk in one country, newest first, after the cursor.
pub async fn list_of_trunk_in(
    conn: &mut Conn,
    trunk: TrunkId,
    country: Country,
    (at, id): (Time, NumberId),
    limit: i64,
) -> Result<Vec<NumberRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            NumberRow::COLS,
            " FROM numbers WHERE trunk_id = $1 AND country = $2 AND released_at IS NULL AND (since, id) < ($3, $4)
             ORDER BY since DESC, id DESC LIMIT $5"
        ),
        params![trunk, country, at, id, limit],
    )
    .await
}

/// Lists the numbers of a trunk, newest first, after the cursor.
pub async fn list_of_trunk(
    conn: &mut Conn,
    trunk: TrunkId,
    (at, id): (Time, NumberId),
    limit: i64,
) -> Result<Vec<NumberRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            NumberRow::COLS,
            " FROM numbers WHERE trunk_id = $1 AND released_at IS NULL AND (since, id) < ($2, $3)
             ORDER BY since DESC, id DESC LIMIT $4"
        ),
        params![trunk, at, id, limit],
    )
    .await
}

/// Whether numbers or open orders use a trunk.
pub async fn is_on_trunk(conn: &mut Conn, trunk: TrunkId) -> Result<bool, DbError> {
    let (found,) = conn
        .one(
            sql!(
                "SELECT EXISTS (SELECT 1 FROM numbers WHERE trunk_id = $1 AND released_at IS NULL)
                     OR EXISTS (SELECT 1 FROM number_orders
                                WHERE trunk_id = $1 AND status IN ('pending_documents', 'provisioning'))"
            ),
            params![trunk],
        )
        .await?;
    Ok(found)
}

pub async fn move_to_trunk(conn: &mut Conn, id: NumberId, trunk: TrunkId) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE numbers SET trunk_id = $2 WHERE id = $1"), params![id, trunk]).await?;
    Ok(())
}

/// Marks a number as released.
pub async fn release(conn: &mut Conn, id: NumberId, reason: &str) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE numbers SET released_at = $2, release_reason = $3 WHERE id = $1"),
        params![id, conn.now(), reason],
    )
    .await?;
    Ok(())
}

/// Numbers whose renewal is due.
pub async fn list_due(conn: &mut Conn, limit: i64) -> Result<Vec<(NumberId,)>, DbError> {
    conn.all(
        sql!("SELECT id FROM numbers WHERE released_at IS NULL AND try_at <= $1 ORDER BY try_at LIMIT $2"),
        params![conn.now(), limit],
    )
    .await
}

/// What updates the renewal state of a number.
pub fn update_renewal(number: &NumberRow) -> Statement {
    Statement::new(
        sql!("UPDATE numbers SET months_paid = $2, next_renewal_at = $3, try_at = $4, failures = $5 WHERE id = $1"),
        params![number.id, number.months_paid, number.next_renewal_at, number.try_at, number.failures],
    )
}

/// Accounts with renewals before `until` that they were not reminded of, after the cursor.
pub async fn accounts_to_remind(
    conn: &mut Conn,
    until: Time,
    after: AccountId,
    limit: i64,
) -> Result<Vec<(AccountId,)>, DbError> {
    conn.all(
        sql!(
            "SELECT DISTINCT account_id FROM numbers
             WHERE released_at IS NULL AND try_at <= $1 AND failures = 0 AND warned_of <= months_paid AND account_id > $2
             ORDER BY account_id LIMIT $3"
        ),
        params![until, after, limit],
    )
    .await
}

row! {
    /// Count and total of an account's renewals before a given time.
    pub struct UpcomingRenewals {
        pub numbers: i64,
        pub total: i64,
        /// When the first of them is tried: a renewal that failed, later than it was due.
        pub first: Option<Time>,
    }
}

pub async fn upcoming_renewals(conn: &mut Conn, account: AccountId, until: Time) -> Result<UpcomingRenewals, DbError> {
    conn.one(
        sql!(
            "SELECT COUNT(*), CAST(COALESCE(SUM(monthly), 0) AS BIGINT), MIN(try_at) FROM numbers
             WHERE account_id = $1 AND released_at IS NULL AND try_at <= $2"
        ),
        params![account, until],
    )
    .await
}

pub async fn mark_reminded(conn: &mut Conn, account: AccountId, until: Time) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE numbers SET warned_of = months_paid + 1
             WHERE account_id = $1 AND released_at IS NULL AND try_at <= $2"
        ),
        params![account, until],
    )
    .await?;
    Ok(())
}

/// Prevents the deletion of the account's trunks until the commit.
pub async fn lock_trunks_shared(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    let _: Option<(AccountId,)> =
        conn.opt(sql!("SELECT id FROM accounts WHERE id = $1 /*pg FOR SHARE */"), params![account]).await?;
    Ok(())
}

pub async fn owns_trunk(conn: &mut Conn, account: AccountId, trunk: TrunkId) -> Result<bool, DbError> {
    let (owned,) = conn
        .one(sql!("SELECT EXISTS (SELECT 1 FROM trunks WHERE id = $1 AND account_id = $2)"), params![trunk, account])
        .await?;
    Ok(owned)
}

/// The default trunk of the account.
pub async fn default_trunk(conn: &mut Conn, account: AccountId) -> Result<Option<TrunkId>, DbError> {
    let found: Option<(TrunkId,)> =
        conn.opt(sql!("SELECT id FROM trunks WHERE account_id = $1 AND is_default"), params![account]).await?;
    Ok(found.map(|(trunk,)| trunk))
}
