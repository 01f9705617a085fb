//! The payments.

use uuid::Uuid;

use super::rules::{PATIENCE, PaymentStatus, Purpose};
use api::idempotency::RequestFingerprint;
use db::{Conn, DbError, params, row, sql};
use platform::outside::payments::Provider;
use values::{AccountId, Currency, Money, PaymentId, PaymentMethodId, Time};

row! {
    #[derive(Clone, Debug)]
    pub struct PaymentRow {
        pub id: PaymentId,
        pub account_id: AccountId,
        pub purpose: Purpose,
        pub status: PaymentStatus,
        pub provider: Provider,
        pub provider_order_id: Option<String>,
        pub method_id: Option<PaymentMethodId>,
        pub amount: Option<i64>,
        pub currency: Option<Currency>,
        pub refunded: i64,
        pub balance_after: Option<i64>,
        pub decline: Option<String>,
        pub request_digest: Option<Vec<u8>>,
        pub created_at: Time,
        pub completed_at: Option<Time>,
    }
}

impl PaymentRow {
    pub fn money(&self) -> Option<Money> {
        Some(Money::from_nanos(self.amount?, self.currency?))
    }
}

/// A payment to be.
pub struct NewPayment {
    pub id: PaymentId,
    pub account_id: AccountId,
    pub purpose: Purpose,
    pub provider: Provider,
    pub method_id: Option<PaymentMethodId>,
    pub amount: Option<Money>,
    pub mark: RequestFingerprint,
    pub poll_at: Time,
    pub now: Time,
}

/// Begins a payment, or finds the one that the same request began before.
pub async fn begin(conn: &mut Conn, new: &NewPayment) -> Result<PaymentRow, DbError> {
    // A key is good for as long as a checkout: after that it begins another. A card is charged once for each key.
    conn.exec(
        sql!(
            "UPDATE payments SET request_key = NULL
             WHERE account_id = $1 AND purpose = $2 AND request_key = $3 AND created_at <= $4
               AND purpose <> 'recharge'"
        ),
        params![new.account_id, new.purpose, new.mark.key, new.now.minus(PATIENCE)],
    )
    .await?;
    conn.exec(
        sql!(
            "INSERT INTO payments (id, account_id, purpose, status, provider, method_id, amount, currency, refunded,
                                   request_key, request_digest, poll_at, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11, $12, $12)
             ON CONFLICT (account_id, purpose, request_key) DO NOTHING"
        ),
        params![
            new.id,
            new.account_id,
            new.purpose,
            PaymentStatus::Pending,
            new.provider,
            new.method_id,
            new.amount.map(Money::nanos),
            new.amount.map(Money::currency),
            new.mark.key,
            new.mark.body_digest.as_slice(),
            new.poll_at,
            new.now
        ],
    )
    .await?;
    find_by_key(conn, new.account_id, new.purpose, new.mark.key).await?.ok_or(DbError::NotFound)
}

/// What the request of this key began.
pub async fn find_by_key(
    conn: &mut Conn,
    account: AccountId,
    purpose: Purpose,
    request_key: Uuid,
) -> Result<Option<PaymentRow>, DbError> {
    conn.opt(
        sql!("SELECT ", PaymentRow::COLS, " FROM payments WHERE account_id = $1 AND purpose = $2 AND request_key = $3"),
        params![account, purpose, request_key],
    )
    .await
}

/// How many of the account's checkouts wait for their payer, but for the one this request began.
pub async fn waiting(conn: &mut Conn, account: AccountId, request_key: Uuid) -> Result<i64, DbError> {
    let (waiting,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM payments
                 WHERE account_id = $1 AND status = 'pending' AND poll_at IS NOT NULL
                   AND (request_key IS NULL OR request_key <> $2)"
            ),
            params![account, request_key],
        )
        .await?;
    Ok(waiting)
}

pub async fn find(conn: &mut Conn, id: PaymentId) -> Result<Option<PaymentRow>, DbError> {
    conn.opt(sql!("SELECT ", PaymentRow::COLS, " FROM payments WHERE id = $1"), params![id]).await
}

/// The payment, which nobody else can change before we commit.
pub async fn lock(conn: &mut Conn, id: PaymentId) -> Result<Option<PaymentRow>, DbError> {
    conn.opt(sql!("SELECT ", PaymentRow::COLS, " FROM payments WHERE id = $1 /*pg FOR NO KEY UPDATE */"), params![id])
        .await
}

/// An account's payment by our id or by the provider's.
pub async fn find_by_either(
    conn: &mut Conn,
    account: AccountId,
    id: Option<PaymentId>,
    order_id: &str,
) -> Result<Option<PaymentRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            PaymentRow::COLS,
            " FROM payments WHERE account_id = $1 AND amount IS NOT NULL AND (id = $2 OR provider_order_id = $3) LIMIT 1"
        ),
        params![account, id, order_id],
    )
    .await
}

/// Writes down which order the provider opened for it.
pub async fn keep_order(conn: &mut Conn, id: PaymentId, order_id: &str, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE payments SET provider_order_id = $2, updated_at = $3 WHERE id = $1 AND provider_order_id IS NULL"),
        params![id, order_id, now],
    )
    .await?;
    Ok(())
}

/// Takes the charge of a payment for ourselves until then; false while it is somebody else's, or no longer waits.
pub async fn take_charge(conn: &mut Conn, id: PaymentId, until: Time, now: Time) -> Result<bool, DbError> {
    let taken = conn
        .exec(
            sql!(
                "UPDATE payments SET sending_until = $2
                 WHERE id = $1 AND status = 'pending' AND sending_until <= $3"
            ),
            params![id, until, now],
        )
        .await?;
    Ok(taken == 1)
}

/// Leaves a charge that we took until then to others, from this moment on.
pub async fn leave_charge(conn: &mut Conn, id: PaymentId, until: Time, free: Time) -> Result<(), DbError> {
    let sql = sql!("UPDATE payments SET sending_until = $3 WHERE id = $1 AND sending_until = $2");
    conn.exec(sql, params![id, until, free]).await?;
    Ok(())
}

/// Writes where a payment stands.
pub async fn move_to(
    conn: &mut Conn,
    id: PaymentId,
    status: PaymentStatus,
    decline: Option<&str>,
    now: Time,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE payments SET status = $2, decline = $3, updated_at = $4,
                                 completed_at = CASE WHEN $5 THEN $4 ELSE completed_at END
             WHERE id = $1"
        ),
        params![id, status, decline, now, status == PaymentStatus::Completed],
    )
    .await?;
    Ok(())
}

pub async fn keep_balance(conn: &mut Conn, id: PaymentId, balance_after: Money) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE payments SET balance_after = $2 WHERE id = $1"), params![id, balance_after.nanos()]).await?;
    Ok(())
}

/// Counts so much more as refunded, or less, never more than was paid.
pub async fn add_refunded(conn: &mut Conn, id: PaymentId, nanos: i64, now: Time) -> Result<bool, DbError> {
    let counted = conn
        .exec(
            sql!(
                "UPDATE payments SET refunded = refunded + $2, updated_at = $3
                 WHERE id = $1 AND status = 'completed' AND refunded + $2 >= 0 AND refunded + $2 <= amount"
            ),
            params![id, nanos, now],
        )
        .await?;
    Ok(counted == 1)
}

/// The payments to ask the provider for.
pub async fn due(conn: &mut Conn, now: Time, batch: i64) -> Result<Vec<PaymentRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            PaymentRow::COLS,
            " FROM payments WHERE poll_at IS NOT NULL AND poll_at <= $1 ORDER BY poll_at, id LIMIT $2"
        ),
        params![now, batch],
    )
    .await
}

pub async fn poll_later(conn: &mut Conn, id: PaymentId, at: Time) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE payments SET poll_at = $2 WHERE id = $1 AND poll_at IS NOT NULL"), params![id, at]).await?;
    Ok(())
}

pub async fn poll_no_more(conn: &mut Conn, id: PaymentId) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE payments SET poll_at = NULL WHERE id = $1"), params![id]).await?;
    Ok(())
}

/// Payments of money, newest first, after a position.
pub async fn list_of(
    conn: &mut Conn,
    account: AccountId,
    (at, id): (Time, PaymentId),
    limit: i64,
) -> Result<Vec<PaymentRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            PaymentRow::COLS,
            " FROM payments WHERE account_id = $1 AND amount IS NOT NULL AND (created_at, id) < ($2, $3)
             ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![account, at, id, limit],
    )
    .await
}

/// The same of every account.
pub async fn list(conn: &mut Conn, (at, id): (Time, PaymentId), limit: i64) -> Result<Vec<PaymentRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            PaymentRow::COLS,
            " FROM payments WHERE amount IS NOT NULL AND (created_at, id) < ($1, $2)
             ORDER BY created_at DESC, id DESC LIMIT $3"
        ),
        params![at, id, limit],
    )
    .await
}
