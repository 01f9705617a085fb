//! The sandbox's orders.

use super::super::{Brand, CardCheck, OrderState};
use super::Choice;
use crate::db::{Conn, DbError, params, row, sql};
use crate::values::Time;

row! {
    pub struct OrderRow {
        pub id: String,
        pub reference: String,
        pub return_url: String,
        pub state: OrderState,
        pub brand: Option<Brand>,
        pub last4: Option<String>,
        pub exp_month: Option<i64>,
        pub exp_year: Option<i64>,
        pub expires_at: Time,
    }
}

pub async fn order(conn: &mut Conn, id: &str) -> Result<Option<OrderRow>, DbError> {
    conn.opt(sql!("SELECT ", OrderRow::COLS, " FROM sandbox_orders WHERE id = $1"), params![id]).await
}

/// Opens an order and answers its id, which is an earlier one's if the reference is known.
pub async fn open_order(
    conn: &mut Conn,
    id: &str,
    check: &CardCheck,
    now: Time,
    expires_at: Time,
) -> Result<String, DbError> {
    conn.exec(
        sql!(
            "INSERT INTO sandbox_orders (id, reference, customer_name, customer_email, return_url, state, declines_later,
                                         expires_at, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, FALSE, $7, $8, $8)
             ON CONFLICT (reference) DO NOTHING"
        ),
        params![
            id,
            check.reference,
            check.customer_name,
            check.customer_email,
            check.return_url,
            OrderState::Pending,
            expires_at,
            now
        ],
    )
    .await?;
    let (id,) = conn.one(sql!("SELECT id FROM sandbox_orders WHERE reference = $1"), params![check.reference]).await?;
    Ok(id)
}

/// Writes how the payer left; false when it was settled before or waited for too long.
pub async fn settle(conn: &mut Conn, id: &str, choice: &Choice, now: Time) -> Result<bool, DbError> {
    let paid = match choice {
        Choice::Paid { card, declines_later } => Some((card, *declines_later)),
        Choice::Declined | Choice::Cancelled => None,
    };
    let card = paid.map(|(card, _)| card);
    let settled = conn
        .exec(
            sql!(
                "UPDATE sandbox_orders SET state = $2, brand = $3, last4 = $4, exp_month = $5, exp_year = $6,
                                           declines_later = $7, updated_at = $8
                 WHERE id = $1 AND state = 'pending' AND expires_at > $8"
            ),
            params![
                id,
                choice.state(),
                card.map(|card| card.brand),
                card.map(|card| card.last4.as_str()),
                card.map(|card| card.exp_month),
                card.map(|card| card.exp_year),
                paid.is_some_and(|(_, declines_later)| declines_later),
                now
            ],
        )
        .await?;
    Ok(settled == 1)
}
