//! SQL of payments.

use uuid::Uuid;

use super::rules::{AdminPaymentStatus, CHECKOUT_TTL, PaymentStatus, Purpose};
use api::idempotency::RequestFingerprint;
use db::{Conn, DbError, insert, params, row, sql};
use platform::outside::payments::{Checkout, Provider};
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
        pub checkout_url: Option<String>,
        pub method_id: Option<PaymentMethodId>,
        pub amount: Option<i64>,
        pub currency: Option<Currency>,
        pub refunded: i64,
        pub balance_after: Option<i64>,
        pub decline: Option<String>,
        /// The reference under which the money was returned, because the card was used too often.
        pub return_id: Option<Uuid>,
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

/// A payment to insert.
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

/// Inserts a payment, or finds the one that the same request inserted before.
pub async fn insert_or_find(conn: &mut Conn, new: &NewPayment) -> Result<PaymentRow, DbError> {
    // A key expires with its checkout and may then start another. A charge of a saved card keeps its key for good.
    conn.exec(
        sql!(
            "UPDATE payments SET request_key = NULL
             WHERE account_id = $1 AND purpose = $2 AND request_key = $3 AND created_at <= $4
               AND purpose <> 'recharge'"
        ),
        params![new.account_id, new.purpose, new.mark.key, new.now.minus(CHECKOUT_TTL)],
    )
    .await?;
    insert!(
        conn,
        payments {
            id: new.id,
            account_id: new.account_id,
            purpose: new.purpose,
            status: PaymentStatus::Pending,
            provider: new.provider,
            method_id: new.method_id,
            amount: new.amount.map(Money::nanos),
            currency: new.amount.map(Money::currency),
            refunded: 0i64,
            request_key: new.mark.key,
            request_digest: new.mark.body_digest.as_slice(),
            poll_at: new.poll_at,
            created_at: new.now,
            updated_at: new.now
        },
        "ON CONFLICT (account_id, purpose, request_key) DO NOTHING"
    )
    .await?;
    find_by_key(conn, new.account_id, new.purpose, new.mark.key).await?.ok_or(DbError::NotFound)
}

/// The payment that a request with this key inserted.
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

/// Open checkouts of the account, not counting the one of this request.
pub async fn count_open_checkouts(conn: &mut Conn, account: AccountId, request_key: Uuid) -> Result<i64, DbError> {
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

/// Number of the account's top-ups since then, and the sum of those that were not declined, in nanos. The account is
/// locked until the transaction ends, so that top-ups at the same time count each other.
pub async fn topups_since(conn: &mut Conn, account: AccountId, since: Time) -> Result<(i64, i64), DbError> {
    let _: Option<(AccountId,)> =
        conn.opt(sql!("SELECT id FROM accounts WHERE id = $1 /*pg FOR NO KEY UPDATE */"), params![account]).await?;
    conn.one(
        sql!(
            "SELECT COUNT(*), CAST(COALESCE(SUM(CASE WHEN status IN ('pending', 'completed') THEN amount ELSE 0 END), 0)
                                   AS BIGINT)
             FROM payments WHERE account_id = $1 AND created_at > $2 AND purpose = 'topup'"
        ),
        params![account, since],
    )
    .await
}

/// Stores which card a payment is made with, and returns how many payments with it since then were not declined, and
/// their sum in nanos, this one included. The card is locked until the transaction ends, so that payments at the same
/// time count each other.
pub async fn use_card(conn: &mut Conn, id: PaymentId, card: &str, since: Time) -> Result<(i64, i64), DbError> {
    let now = conn.now();
    insert!(
        conn,
        payment_cards { card, last_used_at: now },
        "ON CONFLICT (card) DO UPDATE SET last_used_at = excluded.last_used_at"
    )
    .await?;
    conn.exec(sql!("UPDATE payments SET card = $2, card_used_at = $3 WHERE id = $1"), params![id, card, now]).await?;
    conn.one(
        sql!(
            "SELECT COUNT(*), CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM payments
             WHERE card = $1 AND card_used_at > $2 AND (status IN ('pending', 'completed') OR id = $3)"
        ),
        params![card, since, id],
    )
    .await
}

/// Stores under which reference a payment is returned.
pub async fn set_return_id(conn: &mut Conn, id: PaymentId, return_id: Uuid) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE payments SET return_id = $2 WHERE id = $1"), params![id, return_id]).await?;
    Ok(())
}

/// Deletes the locks of cards that were not used since the cutoff.
pub async fn purge_cards(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM payment_cards WHERE card IN
                 (SELECT card FROM payment_cards WHERE last_used_at <= $1 ORDER BY last_used_at LIMIT $2)
             AND last_used_at <= $1"
        ),
        params![cutoff, batch],
    )
    .await
}

pub async fn find(conn: &mut Conn, id: PaymentId) -> Result<Option<PaymentRow>, DbError> {
    conn.opt(sql!("SELECT ", PaymentRow::COLS, " FROM payments WHERE id = $1"), params![id]).await
}

/// The payment, locked until the transaction ends.
pub async fn lock(conn: &mut Conn, id: PaymentId) -> Result<Option<PaymentRow>, DbError> {
    conn.opt(sql!("SELECT ", PaymentRow::COLS, " FROM payments WHERE id = $1 /*pg FOR NO KEY UPDATE */"), params![id])
        .await
}

/// The payment with this order of the provider, locked until the transaction ends.
pub async fn lock_order(conn: &mut Conn, provider: Provider, order_id: &str) -> Result<Option<PaymentRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            PaymentRow::COLS,
            " FROM payments WHERE provider = $1 AND provider_order_id = $2 /*pg FOR NO KEY UPDATE */"
        ),
        params![provider, order_id],
    )
    .await
}

/// A payment of the account by our id or by the provider's order id.
pub async fn find_by_any_id(
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

/// Stores the provider's order id, once.
pub async fn set_order_id(conn: &mut Conn, id: PaymentId, order_id: &str) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE payments SET provider_order_id = $2, updated_at = $3 WHERE id = $1 AND provider_order_id IS NULL"),
        params![id, order_id, conn.now()],
    )
    .await?;
    Ok(())
}

/// Stores the provider's order id and where it is paid, once.
pub async fn set_checkout(conn: &mut Conn, id: PaymentId, checkout: &Checkout) -> Result<(), DbError> {
    set_order_id(conn, id, &checkout.order_id).await?;
    let sql = sql!("UPDATE payments SET checkout_url = $2 WHERE id = $1 AND checkout_url IS NULL");
    conn.exec(sql, params![id, checkout.checkout_url]).await?;
    Ok(())
}

/// Leases the charge of a pending payment to this node; false while another node has the lease.
pub async fn lease_charge(conn: &mut Conn, id: PaymentId, until: Time) -> Result<bool, DbError> {
    let now = conn.now();
    let leased = conn
        .exec(
            sql!(
                "UPDATE payments SET sending_until = $2
                 WHERE id = $1 AND status = 'pending' AND sending_until <= $3"
            ),
            params![id, until, now],
        )
        .await?;
    Ok(leased == 1)
}

/// Ends our lease of a charge at `free`.
pub async fn release_charge(conn: &mut Conn, id: PaymentId, until: Time, free: Time) -> Result<(), DbError> {
    let sql = sql!("UPDATE payments SET sending_until = $3 WHERE id = $1 AND sending_until = $2");
    conn.exec(sql, params![id, until, free]).await?;
    Ok(())
}

pub async fn set_status(
    conn: &mut Conn,
    id: PaymentId,
    status: PaymentStatus,
    decline: Option<&str>,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE payments SET status = $2, decline = $3, updated_at = $4,
                                 completed_at = CASE WHEN $5 THEN $4 ELSE completed_at END
             WHERE id = $1"
        ),
        params![id, status, decline, conn.now(), status == PaymentStatus::Completed],
    )
    .await?;
    Ok(())
}

pub async fn set_balance_after(conn: &mut Conn, id: PaymentId, balance_after: Money) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE payments SET balance_after = $2 WHERE id = $1"), params![id, balance_after.nanos()]).await?;
    Ok(())
}

/// Adds to the refunded amount, or subtracts from it; false if it would leave the range from zero to the amount paid.
pub async fn add_refunded(conn: &mut Conn, id: PaymentId, nanos: i64) -> Result<bool, DbError> {
    let now = conn.now();
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

/// Payments whose next poll is due.
pub async fn list_due(conn: &mut Conn, batch: i64) -> Result<Vec<PaymentRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            PaymentRow::COLS,
            " FROM payments WHERE poll_at IS NOT NULL AND poll_at <= $1 ORDER BY poll_at, id LIMIT $2"
        ),
        params![conn.now(), batch],
    )
    .await
}

pub async fn set_poll_at(conn: &mut Conn, id: PaymentId, at: Time) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE payments SET poll_at = $2 WHERE id = $1 AND poll_at IS NOT NULL"), params![id, at]).await?;
    Ok(())
}

pub async fn stop_polling(conn: &mut Conn, id: PaymentId) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE payments SET poll_at = NULL WHERE id = $1"), params![id]).await?;
    Ok(())
}

/// The account's payments of money (not card set-ups) since a time, newest first.
pub async fn list_for_account(
    conn: &mut Conn,
    account: AccountId,
    status: Option<PaymentStatus>,
    from: Time,
    (at, id): (Time, PaymentId),
    limit: i64,
) -> Result<Vec<PaymentRow>, DbError> {
    match status {
        None => {
            let sql = sql!(
                "SELECT ",
                PaymentRow::COLS,
                " FROM payments
                 WHERE account_id = $1 AND amount IS NOT NULL AND created_at >= $2 AND (created_at, id) < ($3, $4)
                 ORDER BY created_at DESC, id DESC LIMIT $5"
            );
            conn.all(sql, params![account, from, at, id, limit]).await
        }
        Some(status) => {
            let sql = sql!(
                "SELECT ",
                PaymentRow::COLS,
                " FROM payments WHERE account_id = $1 AND status = $2 AND amount IS NOT NULL AND created_at >= $3
                     AND (created_at, id) < ($4, $5)
                 ORDER BY created_at DESC, id DESC LIMIT $6"
            );
            conn.all(sql, params![account, status, from, at, id, limit]).await
        }
    }
}

/// Which payments of all accounts to list.
pub struct PaymentFilter {
    pub account: Option<AccountId>,
    /// As the team sees it.
    pub status: Option<AdminPaymentStatus>,
    pub from: Time,
}

/// Payments of money, newest first. Each text reads along its own index; what the team sees as the status is an
/// expression, which its indexes have too.
pub async fn list_all(
    conn: &mut Conn,
    filter: &PaymentFilter,
    (at, id): (Time, PaymentId),
    limit: i64,
) -> Result<Vec<PaymentRow>, DbError> {
    let from = filter.from;
    match (filter.account, filter.status) {
        (Some(account), None) => list_for_account(conn, account, None, from, (at, id), limit).await,
        (None, None) => {
            let sql = sql!(
                "SELECT ",
                PaymentRow::COLS,
                " FROM payments WHERE amount IS NOT NULL AND created_at >= $1 AND (created_at, id) < ($2, $3)
                 ORDER BY created_at DESC, id DESC LIMIT $4"
            );
            conn.all(sql, params![from, at, id, limit]).await
        }
        (None, Some(status)) => {
            let sql = sql!(
                "SELECT ",
                PaymentRow::COLS,
                " FROM payments
                 WHERE (CASE WHEN status = 'expired' THEN 'failed'
                             WHEN status = 'completed' AND refunded = amount THEN 'refunded' ELSE status END) = $1
                     AND amount IS NOT NULL AND created_at >= $2 AND (created_at, id) < ($3, $4)
                 ORDER BY created_at DESC, id DESC LIMIT $5"
            );
            conn.all(sql, params![status, from, at, id, limit]).await
        }
        (Some(account), Some(status)) => {
            let sql = sql!(
                "SELECT ",
                PaymentRow::COLS,
                " FROM payments
                 WHERE account_id = $1
                     AND (CASE WHEN status = 'expired' THEN 'failed'
                               WHEN status = 'completed' AND refunded = amount THEN 'refunded' ELSE status END) = $2
                     AND amount IS NOT NULL AND created_at >= $3 AND (created_at, id) < ($4, $5)
                 ORDER BY created_at DESC, id DESC LIMIT $6"
            );
            conn.all(sql, params![account, status, from, at, id, limit]).await
        }
    }
}
