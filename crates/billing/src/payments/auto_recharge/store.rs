//! SQL of auto-recharge settings and attempts.

use uuid::Uuid;

use db::{Conn, DbError, insert, params, row, sql};
use values::{AccountId, Time, text_enum};

row! {
    /// Amounts are nanos of EUR.
    #[derive(Clone, Debug)]
    pub struct Settings {
        pub enabled: bool,
        pub threshold: i64,
        pub recharge_amount: i64,
        pub payment_method_id: Option<Uuid>,
        /// Declines in a row.
        pub declines: i64,
        pub declined_at: Option<Time>,
    }
}

pub async fn settings(conn: &mut Conn, account: AccountId) -> Result<Option<Settings>, DbError> {
    conn.opt(sql!("SELECT ", Settings::COLS, " FROM auto_recharges WHERE account_id = $1"), params![account]).await
}

pub async fn is_switched_off(conn: &mut Conn, account: AccountId) -> Result<bool, DbError> {
    Ok(settings(conn, account).await?.is_some_and(|settings| !settings.enabled))
}

/// The settings, locked until the transaction ends. Starting and ending an attempt takes this lock.
pub async fn lock(conn: &mut Conn, account: AccountId) -> Result<Option<Settings>, DbError> {
    conn.opt(
        sql!("SELECT ", Settings::COLS, " FROM auto_recharges WHERE account_id = $1 /*pg FOR UPDATE */"),
        params![account],
    )
    .await
}

pub async fn save(conn: &mut Conn, account: AccountId, settings: &Settings) -> Result<(), DbError> {
    let Settings { enabled, threshold, recharge_amount, payment_method_id, declines, declined_at } = settings;
    insert!(conn, auto_recharges { account_id: account, enabled: *enabled, threshold: *threshold, recharge_amount: *recharge_amount, payment_method_id: *payment_method_id, declines: *declines, declined_at: *declined_at, updated_at: conn.now() }, "ON CONFLICT (account_id) DO UPDATE SET enabled = excluded.enabled, threshold = excluded.threshold, recharge_amount = excluded.recharge_amount, payment_method_id = excluded.payment_method_id, declines = excluded.declines, declined_at = excluded.declined_at, updated_at = excluded.updated_at")
    .await?;
    Ok(())
}

/// Switches auto-recharge off; false if it was off.
pub async fn switch_off(conn: &mut Conn, account: AccountId) -> Result<bool, DbError> {
    let now = conn.now();
    let switched = conn
        .exec(
            sql!("UPDATE auto_recharges SET enabled = FALSE, updated_at = $2 WHERE account_id = $1 AND enabled"),
            params![account, now],
        )
        .await?;
    Ok(switched == 1)
}

text_enum! {
    pub enum AttemptStatus {
        Open = "open",
        Paid = "paid",
        Declined = "declined",
    }
}

row! {
    #[derive(Clone, Debug)]
    pub struct Attempt {
        pub id: Uuid,
        pub account_id: AccountId,
        pub payment_method_id: Uuid,
        pub amount: i64,
        pub started_at: Time,
    }
}

/// The open attempt of the account.
pub async fn find_open(conn: &mut Conn, account: AccountId) -> Result<Option<Attempt>, DbError> {
    conn.opt(
        sql!("SELECT ", Attempt::COLS, " FROM recharge_attempts WHERE account_id = $1 AND status = 'open'"),
        params![account],
    )
    .await
}

pub async fn insert_attempt(conn: &mut Conn, attempt: &Attempt) -> Result<(), DbError> {
    let Attempt { id, account_id, payment_method_id, amount, started_at } = attempt;
    insert!(
        conn,
        recharge_attempts {
            id: *id,
            account_id: *account_id,
            payment_method_id: *payment_method_id,
            amount: *amount,
            status: "open",
            started_at: *started_at
        }
    )
    .await?;
    Ok(())
}

/// Ends an attempt; false when it was ended before.
pub async fn end_attempt(conn: &mut Conn, id: Uuid, status: AttemptStatus) -> Result<bool, DbError> {
    let now = conn.now();
    let ended = conn
        .exec(
            sql!("UPDATE recharge_attempts SET status = $2, ended_at = $3 WHERE id = $1 AND status = 'open'"),
            params![id, status, now],
        )
        .await?;
    Ok(ended == 1)
}

pub async fn count_attempts_since(conn: &mut Conn, account: AccountId, since: Time) -> Result<i64, DbError> {
    let (count,) = conn
        .one(
            sql!("SELECT COUNT(*) FROM recharge_attempts WHERE account_id = $1 AND started_at >= $2"),
            params![account, since],
        )
        .await?;
    Ok(count)
}
