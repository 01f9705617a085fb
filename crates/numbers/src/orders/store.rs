//! The `number_orders` and `number_order_steps` tables.

use uuid::Uuid;

use super::rules::OrderStatus;
use super::types::OrderId;
use crate::inventory::{InventoryId, StockId};
use api::idempotency::{RETENTION, RequestFingerprint};
use db::{Conn, DbError, insert, params, row, sql};
use values::{AccountId, E164, IntakeId, Time, TrunkId, text_enum};

text_enum! {
    /// Endpoint that placed the order; idempotency keys are separate for each.
    pub enum OrderSource {
        Group = "group",
        Area = "area",
    }
}

row! {
    #[derive(Clone, Debug)]
    pub struct OrderRow {
        pub id: OrderId,
        pub account_id: AccountId,
        pub group_id: InventoryId,
        pub stock_id: StockId,
        pub trunk_id: TrunkId,
        pub e164: E164,
        pub status: OrderStatus,
        pub setup: i64,
        pub monthly: i64,
        pub intake_id: Option<IntakeId>,
        pub failure_reason: Option<String>,
        pub asked_by: OrderSource,
        pub request_key: Option<Uuid>,
        pub request_digest: Vec<u8>,
        pub try_at: Option<Time>,
        pub tries: i64,
        pub provisioning_at: Option<Time>,
        pub created_at: Time,
        pub updated_at: Time,
    }
}

/// The order that the same idempotency key placed before.
pub async fn find_by_key(
    conn: &mut Conn,
    account: AccountId,
    asked_by: OrderSource,
    mark: &RequestFingerprint,
) -> Result<Option<OrderRow>, DbError> {
    // A key expires together with its stored response. While the DID supplier does not answer, there is none, and
    // whoever ordered is told to repeat the request with its key.
    conn.exec(
        sql!(
            "UPDATE number_orders SET request_key = NULL
             WHERE account_id = $1 AND asked_by = $2 AND request_key = $3
                 AND status <> 'provisioning' AND updated_at <= $4"
        ),
        params![account, asked_by, mark.key, conn.now().minus(RETENTION)],
    )
    .await?;
    conn.opt(
        sql!(
            "SELECT ",
            OrderRow::COLS,
            " FROM number_orders WHERE account_id = $1 AND asked_by = $2 AND request_key = $3"
        ),
        params![account, asked_by, mark.key],
    )
    .await
}

/// Inserts an order and its first step; false when a concurrent request with the same key has inserted one.
pub async fn insert(conn: &mut Conn, new: &OrderRow) -> Result<bool, DbError> {
    let inserted = insert!(
        conn,
        number_orders {
            id: new.id,
            account_id: new.account_id,
            group_id: new.group_id,
            stock_id: new.stock_id,
            trunk_id: new.trunk_id,
            e164: new.e164,
            status: new.status,
            setup: new.setup,
            monthly: new.monthly,
            intake_id: new.intake_id,
            asked_by: new.asked_by,
            request_key: new.request_key,
            request_digest: new.request_digest,
            try_at: new.try_at,
            tries: 0i64,
            provisioning_at: new.provisioning_at,
            created_at: new.created_at,
            updated_at: new.created_at
        },
        "ON CONFLICT (account_id, asked_by, request_key) DO NOTHING"
    )
    .await?;
    if inserted == 1 {
        add_step(conn, new.id, new.status).await?;
    }
    Ok(inserted == 1)
}

async fn add_step(conn: &mut Conn, order: OrderId, status: OrderStatus) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO number_order_steps (order_id, step, status, at)
             VALUES ($1, (SELECT COUNT(*) + 1 FROM number_order_steps WHERE order_id = $1), $2, $3)"
        ),
        params![order, status, conn.now()],
    )
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, id: OrderId) -> Result<Option<OrderRow>, DbError> {
    conn.opt(sql!("SELECT ", OrderRow::COLS, " FROM number_orders WHERE id = $1"), params![id]).await
}

/// The order, locked until the commit.
pub async fn lock(conn: &mut Conn, id: OrderId) -> Result<Option<OrderRow>, DbError> {
    conn.opt(sql!("SELECT ", OrderRow::COLS, " FROM number_orders WHERE id = $1 /*pg FOR UPDATE */"), params![id]).await
}

/// The order that belongs to an intake, locked until the commit.
pub async fn lock_by_intake(conn: &mut Conn, intake: IntakeId) -> Result<Option<OrderRow>, DbError> {
    conn.opt(
        sql!("SELECT ", OrderRow::COLS, " FROM number_orders WHERE intake_id = $1 /*pg FOR UPDATE */"),
        params![intake],
    )
    .await
}

/// Lists the orders of an account since a time, newest first, after the cursor. Each text reads along its own index.
pub async fn list(
    conn: &mut Conn,
    account: AccountId,
    status: Option<OrderStatus>,
    from: Time,
    (at, id): (Time, OrderId),
    limit: i64,
) -> Result<Vec<OrderRow>, DbError> {
    match status {
        None => {
            let sql = sql!(
                "SELECT ",
                OrderRow::COLS,
                " FROM number_orders WHERE account_id = $1 AND created_at >= $2 AND (created_at, id) < ($3, $4)
                 ORDER BY created_at DESC, id DESC LIMIT $5"
            );
            conn.all(sql, params![account, from, at, id, limit]).await
        }
        Some(status) => {
            let sql = sql!(
                "SELECT ",
                OrderRow::COLS,
                " FROM number_orders
                 WHERE account_id = $1 AND status = $2 AND created_at >= $3 AND (created_at, id) < ($4, $5)
                 ORDER BY created_at DESC, id DESC LIMIT $6"
            );
            conn.all(sql, params![account, status, from, at, id, limit]).await
        }
    }
}

row! {
    pub struct Step {
        pub status: OrderStatus,
        pub at: Time,
    }
}

/// An order has fewer steps than there are states.
const MAX_STEPS: i64 = 10;

pub async fn steps(conn: &mut Conn, order: OrderId) -> Result<Vec<Step>, DbError> {
    conn.all(
        sql!("SELECT ", Step::COLS, " FROM number_order_steps WHERE order_id = $1 ORDER BY step LIMIT $2"),
        params![order, MAX_STEPS],
    )
    .await
}

/// Stores the new status of a locked order and adds a step.
pub async fn update_status(conn: &mut Conn, order: &OrderRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE number_orders SET status = $2, failure_reason = $3, try_at = $4, provisioning_at = $5, updated_at = $6
             WHERE id = $1"
        ),
        params![order.id, order.status, order.failure_reason, order.try_at, order.provisioning_at, conn.now()],
    )
    .await?;
    add_step(conn, order.id, order.status).await
}

/// Schedules the next request to the DID supplier, if the order still waits for it.
pub async fn schedule_retry(conn: &mut Conn, id: OrderId, at: Time) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE number_orders SET try_at = $2, tries = tries + 1 WHERE id = $1 AND try_at IS NOT NULL"),
        params![id, at],
    )
    .await?;
    Ok(())
}

/// Orders whose next request to the DID supplier is due.
pub async fn list_due(conn: &mut Conn, limit: i64) -> Result<Vec<OrderRow>, DbError> {
    conn.all(
        sql!("SELECT ", OrderRow::COLS, " FROM number_orders WHERE try_at <= $1 ORDER BY try_at LIMIT $2"),
        params![conn.now(), limit],
    )
    .await
}

/// Orders whose documents the customer has not submitted since `cutoff`.
pub async fn list_undocumented(conn: &mut Conn, cutoff: Time, limit: i64) -> Result<Vec<OrderRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            OrderRow::COLS,
            " FROM number_orders
             WHERE status = 'pending_documents' AND created_at <= $1
               AND EXISTS (SELECT 1 FROM intakes i WHERE i.id = number_orders.intake_id
                           AND (i.status = 'draft' OR i.status = 'more_info_requested' AND i.updated_at <= $1))
             ORDER BY created_at LIMIT $2"
        ),
        params![cutoff, limit],
    )
    .await
}
