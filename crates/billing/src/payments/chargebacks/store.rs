//! Table `chargebacks`.

use db::{Conn, DbError, params, sql, table_row};
use platform::outside::payments::Provider;
use values::{AccountId, ChargebackId, Currency, Money, PaymentId, Time, text_enum};

text_enum! {
    /// Status of a chargeback, as the operator sees it.
    pub enum ChargebackStatus {
        /// The card's bank has not decided; the amount is frozen.
        Open = "open",
        /// The payment stands, and the amount is back on the balance.
        Won = "won",
        /// The payment went back to the card.
        Lost = "lost",
    }
}

table_row! {
    #[derive(Clone, Debug)]
    pub struct ChargebackRow in chargebacks {
        pub id: ChargebackId,
        pub account_id: AccountId,
        pub payment_id: PaymentId,
        pub provider: Provider,
        pub provider_dispute_id: String,
        pub status: ChargebackStatus,
        pub amount: i64,
        pub currency: Currency,
        pub created_at: Time,
        pub decided_at: Option<Time>,
    }
}

impl ChargebackRow {
    pub fn money(&self) -> Money {
        Money::from_nanos(self.amount, self.currency)
    }
}

pub async fn find(conn: &mut Conn, id: ChargebackId) -> Result<Option<ChargebackRow>, DbError> {
    conn.opt(sql!("SELECT ", ChargebackRow::COLS, " FROM chargebacks WHERE id = $1"), params![id]).await
}

/// The chargeback of a dispute, locked until the transaction ends.
pub async fn lock_dispute(
    conn: &mut Conn,
    provider: Provider,
    dispute_id: &str,
) -> Result<Option<ChargebackRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            ChargebackRow::COLS,
            " FROM chargebacks WHERE provider = $1 AND provider_dispute_id = $2 /*pg FOR UPDATE */"
        ),
        params![provider, dispute_id],
    )
    .await
}

/// Decides an open chargeback; false if it was decided before.
pub async fn decide(conn: &mut Conn, id: ChargebackId, status: ChargebackStatus) -> Result<bool, DbError> {
    let now = conn.now();
    let decided = conn
        .exec(
            sql!("UPDATE chargebacks SET status = $2, decided_at = $3 WHERE id = $1 AND status = 'open'"),
            params![id, status, now],
        )
        .await?;
    Ok(decided == 1)
}

/// The status of a chargeback of this payment that is open or lost, if there is one.
pub async fn against(conn: &mut Conn, payment: PaymentId) -> Result<Option<ChargebackStatus>, DbError> {
    let found: Option<(ChargebackStatus,)> = conn
        .opt(
            sql!(
                "SELECT status FROM chargebacks WHERE payment_id = $1 AND status <> 'won' ORDER BY status DESC LIMIT 1"
            ),
            params![payment],
        )
        .await?;
    Ok(found.map(|(status,)| status))
}

/// Open chargebacks of a provider by id, after this one.
pub async fn list_open(
    conn: &mut Conn,
    provider: Provider,
    after: ChargebackId,
    limit: i64,
) -> Result<Vec<ChargebackRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            ChargebackRow::COLS,
            " FROM chargebacks WHERE status = 'open' AND provider = $1 AND id > $2 ORDER BY id LIMIT $3"
        ),
        params![provider, after, limit],
    )
    .await
}

/// Chargebacks, newest first; without an account those of all.
pub async fn list(
    conn: &mut Conn,
    (account, status): (Option<AccountId>, Option<ChargebackStatus>),
    (at, id): (Time, ChargebackId),
    limit: i64,
) -> Result<Vec<ChargebackRow>, DbError> {
    match account {
        Some(account) => {
            conn.all(
                sql!(
                    "SELECT ",
                    ChargebackRow::COLS,
                    " FROM chargebacks
                     WHERE account_id = $1 AND (status = $2 OR $2 IS NULL) AND (created_at, id) < ($3, $4)
                     ORDER BY created_at DESC, id DESC LIMIT $5"
                ),
                params![account, status, at, id, limit],
            )
            .await
        }
        None => {
            conn.all(
                sql!(
                    "SELECT ",
                    ChargebackRow::COLS,
                    " FROM chargebacks WHERE (status = $1 OR $1 IS NULL) AND (created_at, id) < ($2, $3)
                     ORDER BY created_at DESC, id DESC LIMIT $4"
                ),
                params![status, at, id, limit],
            )
            .await
        }
    }
}
