//! The sandbox's tables: orders, saved cards, refunds and disputes.

use super::super::{Brand, Card, DisputeState, OrderState, RefundState};
use super::Choice;
use db::{Conn, DbError, insert, params, row, sql};
use values::{Currency, Email, Money, Time};

row! {
    pub struct OrderRow {
        pub id: String,
        pub reference: String,
        pub return_url: String,
        pub state: OrderState,
        pub amount: Option<i64>,
        pub currency: Option<Currency>,
        pub refunded: i64,
        pub customer: String,
        pub card_token: Option<String>,
        pub brand: Option<Brand>,
        pub last4: Option<String>,
        pub exp_month: Option<i64>,
        pub exp_year: Option<i64>,
        pub decline: Option<String>,
        pub fingerprint: Option<String>,
        pub expires_at: Time,
    }
}

pub async fn order(conn: &mut Conn, id: &str) -> Result<Option<OrderRow>, DbError> {
    conn.opt(sql!("SELECT ", OrderRow::COLS, " FROM sandbox_orders WHERE id = $1"), params![id]).await
}

pub async fn order_by_reference(conn: &mut Conn, reference: &str) -> Result<Option<OrderRow>, DbError> {
    conn.opt(sql!("SELECT ", OrderRow::COLS, " FROM sandbox_orders WHERE reference = $1"), params![reference]).await
}

pub struct NewOrder {
    pub id: String,
    pub reference: String,
    pub amount: Option<Money>,
    pub customer: String,
    pub customer_name: String,
    pub customer_email: Email,
    pub save_card: bool,
    pub return_url: String,
    pub state: OrderState,
    pub decline: Option<&'static str>,
    pub fingerprint: Option<String>,
    pub expires_at: Time,
    pub now: Time,
}

/// Opens an order; false if its reference exists.
pub async fn open_order(conn: &mut Conn, order: &NewOrder) -> Result<bool, DbError> {
    let opened = insert!(
        conn,
        sandbox_orders {
            id: order.id,
            reference: order.reference,
            amount: order.amount.map(Money::nanos),
            currency: order.amount.map(Money::currency),
            refunded: 0i64,
            customer: order.customer,
            customer_name: order.customer_name,
            customer_email: order.customer_email,
            save_card: order.save_card,
            return_url: order.return_url,
            state: order.state,
            decline: order.decline,
            fingerprint: order.fingerprint,
            declines_later: false,
            expires_at: order.expires_at,
            created_at: order.now,
            updated_at: order.now
        },
        "ON CONFLICT (reference) DO NOTHING"
    )
    .await?;
    Ok(opened == 1)
}

/// Ends an order as its payer chose; false if it ended before or has expired.
pub async fn settle(conn: &mut Conn, id: &str, choice: &Choice, fingerprint: Option<&str>) -> Result<bool, DbError> {
    let now = conn.now();
    let paid = match choice {
        Choice::Paid { card, declines_later, .. } => Some((card, *declines_later)),
        Choice::Declined | Choice::Cancelled => None,
    };
    let card = paid.map(|(card, _)| card);
    let settled = conn
        .exec(
            sql!(
                "UPDATE sandbox_orders SET state = $2, brand = $3, last4 = $4, exp_month = $5, exp_year = $6,
                                           declines_later = $7, decline = $8, updated_at = $9, fingerprint = $10
                 WHERE id = $1 AND state = 'pending' AND expires_at > $9"
            ),
            params![
                id,
                choice.state(),
                card.map(|card| card.brand),
                card.map(|card| card.last4.as_str()),
                card.map(|card| card.exp_month),
                card.map(|card| card.exp_year),
                paid.is_some_and(|(_, declines_later)| declines_later),
                matches!(choice, Choice::Declined).then_some("card_declined"),
                now,
                fingerprint
            ],
        )
        .await?;
    Ok(settled == 1)
}

/// Saves the card that an order was paid with, if the merchant asked for it.
pub async fn save_card(
    conn: &mut Conn,
    order_id: &str,
    token: &str,
    card: &Card,
    declines_later: bool,
) -> Result<(), DbError> {
    let saved = conn
        .exec(sql!("UPDATE sandbox_orders SET card_token = $2 WHERE id = $1 AND save_card"), params![order_id, token])
        .await?;
    if saved == 0 {
        return Ok(());
    }
    conn.exec(
        sql!(
            "INSERT INTO sandbox_cards (token, customer, exp_month, exp_year, declines_later, created_at, fingerprint)
             SELECT $2, customer, $3, $4, $5, $6, fingerprint FROM sandbox_orders WHERE id = $1"
        ),
        params![order_id, token, card.exp_month, card.exp_year, declines_later, conn.now()],
    )
    .await?;
    Ok(())
}

row! {
    pub struct CardRow {
        pub customer: String,
        pub exp_month: i64,
        pub exp_year: i64,
        pub declines_later: bool,
        pub fingerprint: Option<String>,
    }
}

pub async fn card(conn: &mut Conn, token: &str) -> Result<Option<CardRow>, DbError> {
    conn.opt(sql!("SELECT ", CardRow::COLS, " FROM sandbox_cards WHERE token = $1"), params![token]).await
}

pub struct NewRefund {
    pub id: String,
    pub order_id: String,
    pub reference: String,
    pub amount: Money,
    pub now: Time,
}

pub async fn refund_by_reference(conn: &mut Conn, reference: &str) -> Result<Option<(String, RefundState)>, DbError> {
    conn.opt(sql!("SELECT id, state FROM sandbox_refunds WHERE reference = $1"), params![reference]).await
}

/// Deducts a refund from its order; false if less than that is left.
pub async fn deduct_refund(conn: &mut Conn, refund: &NewRefund) -> Result<bool, DbError> {
    let updated = conn
        .exec(
            sql!(
                "UPDATE sandbox_orders SET refunded = refunded + $2, updated_at = $4
                 WHERE id = $1 AND state = 'completed' AND currency = $3 AND refunded + $2 <= amount"
            ),
            params![refund.order_id, refund.amount.nanos(), refund.amount.currency(), refund.now],
        )
        .await?;
    Ok(updated == 1)
}

/// Inserts a refund; false if its reference exists.
pub async fn insert_refund(conn: &mut Conn, refund: &NewRefund, state: RefundState) -> Result<bool, DbError> {
    let inserted = insert!(
        conn,
        sandbox_refunds {
            id: refund.id,
            order_id: refund.order_id,
            reference: refund.reference,
            amount: refund.amount.nanos(),
            state,
            created_at: refund.now
        },
        "ON CONFLICT (reference) DO NOTHING"
    )
    .await?;
    Ok(inserted == 1)
}

row! {
    pub struct DisputeRow {
        pub id: String,
        pub order_id: String,
        pub amount: i64,
        pub currency: Currency,
        pub state: DisputeState,
    }
}

pub async fn dispute(conn: &mut Conn, id: &str) -> Result<Option<DisputeRow>, DbError> {
    conn.opt(sql!("SELECT ", DisputeRow::COLS, " FROM sandbox_disputes WHERE id = $1"), params![id]).await
}

pub async fn dispute_of_order(conn: &mut Conn, order_id: &str) -> Result<Option<DisputeRow>, DbError> {
    conn.opt(sql!("SELECT ", DisputeRow::COLS, " FROM sandbox_disputes WHERE order_id = $1"), params![order_id]).await
}

pub async fn disputes_since(conn: &mut Conn, since: Time, limit: i64) -> Result<Vec<DisputeRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            DisputeRow::COLS,
            " FROM sandbox_disputes WHERE created_at >= $1 ORDER BY created_at DESC LIMIT $2"
        ),
        params![since, limit],
    )
    .await
}

/// Disputes the whole payment of an order; false if it is not paid or was disputed before.
pub async fn open_dispute(conn: &mut Conn, order_id: &str, id: &str) -> Result<bool, DbError> {
    let now = conn.now();
    let opened = conn
        .exec(
            sql!(
                "INSERT INTO sandbox_disputes (id, order_id, amount, currency, state, created_at)
                 SELECT $2, id, amount, currency, 'open', $3 FROM sandbox_orders
                 WHERE id = $1 AND state = 'completed' AND amount IS NOT NULL
                 ON CONFLICT (order_id) DO NOTHING"
            ),
            params![order_id, id, now],
        )
        .await?;
    Ok(opened == 1)
}

/// Decides the open dispute of an order and returns its id, if there is one.
pub async fn decide_dispute(conn: &mut Conn, order_id: &str, state: DisputeState) -> Result<Option<String>, DbError> {
    let decided: Option<(String,)> = conn
        .opt(
            sql!("UPDATE sandbox_disputes SET state = $2 WHERE order_id = $1 AND state = 'open' RETURNING id"),
            params![order_id, state],
        )
        .await?;
    Ok(decided.map(|(id,)| id))
}
