//! SQL of refunds.

use uuid::Uuid;

use db::{Conn, DbError, insert, params, row, sql};
use values::{PaymentId, RefundId, Time, UserId, text_enum};

text_enum! {
    /// Status of a refund.
    pub enum RefundStatus {
        /// Claimed, but not decided by the provider.
        Pending = "pending",
        Completed = "completed",
        Failed = "failed",
    }
}

row! {
    #[derive(Clone, Debug)]
    pub struct RefundRow {
        pub id: RefundId,
        pub payment_id: PaymentId,
        pub status: RefundStatus,
        pub amount: i64,
        pub reason: String,
        pub requested_by: UserId,
        pub request_key: Uuid,
        pub request_digest: Vec<u8>,
        pub poll_at: Option<Time>,
        pub created_at: Time,
    }
}

pub async fn insert(conn: &mut Conn, refund: &RefundRow) -> Result<(), DbError> {
    insert!(
        conn,
        refunds {
            id: refund.id,
            payment_id: refund.payment_id,
            status: refund.status,
            amount: refund.amount,
            reason: refund.reason,
            requested_by: refund.requested_by,
            request_key: refund.request_key,
            request_digest: refund.request_digest,
            poll_at: refund.poll_at,
            created_at: refund.created_at,
            updated_at: refund.created_at
        }
    )
    .await?;
    Ok(())
}

/// The refund that a request of this user with this key claimed.
pub async fn find_by_key(
    conn: &mut Conn,
    payment: PaymentId,
    user: UserId,
    request_key: Uuid,
) -> Result<Option<RefundRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            RefundRow::COLS,
            " FROM refunds WHERE payment_id = $1 AND requested_by = $2 AND request_key = $3"
        ),
        params![payment, user, request_key],
    )
    .await
}

/// The refund, locked until the transaction ends.
pub async fn lock(conn: &mut Conn, id: RefundId) -> Result<Option<RefundRow>, DbError> {
    conn.opt(sql!("SELECT ", RefundRow::COLS, " FROM refunds WHERE id = $1 /*pg FOR UPDATE */"), params![id]).await
}

pub async fn find(conn: &mut Conn, id: RefundId) -> Result<Option<RefundRow>, DbError> {
    conn.opt(sql!("SELECT ", RefundRow::COLS, " FROM refunds WHERE id = $1"), params![id]).await
}

/// Sets the final status and stops polling.
pub async fn finish(conn: &mut Conn, id: RefundId, status: RefundStatus) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE refunds SET status = $2, poll_at = NULL, updated_at = $3 WHERE id = $1"),
        params![id, status, conn.now()],
    )
    .await?;
    Ok(())
}

/// Refunds whose next poll is due.
pub async fn list_due(conn: &mut Conn, batch: i64) -> Result<Vec<RefundRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            RefundRow::COLS,
            " FROM refunds WHERE poll_at IS NOT NULL AND poll_at <= $1 ORDER BY poll_at, id LIMIT $2"
        ),
        params![conn.now(), batch],
    )
    .await
}

pub async fn set_poll_at(conn: &mut Conn, id: RefundId, at: Time) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE refunds SET poll_at = $2 WHERE id = $1 AND poll_at IS NOT NULL"), params![id, at]).await?;
    Ok(())
}
