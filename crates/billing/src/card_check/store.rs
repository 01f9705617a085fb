//! SQL of card verifications.

use uuid::Uuid;

use super::rules::CardStatus;
use crate::payments::CHECKOUT_TTL;
use db::{Conn, DbError, insert, params, row, sql};
use platform::outside::payments::{Brand, Card, Checkout, Provider};
use values::{AccountId, CardVerificationId, Time};

/// A verification to insert.
pub struct NewVerification {
    pub id: CardVerificationId,
    pub account_id: AccountId,
    pub provider: Provider,
    pub request_key: Uuid,
    pub poll_at: Time,
    pub now: Time,
}

/// Inserts a verification and returns its id, or the id of the one that the same request inserted before.
pub async fn insert_or_find(conn: &mut Conn, new: &NewVerification) -> Result<CardVerificationId, DbError> {
    let NewVerification { id, account_id, provider, request_key, poll_at, now } = new;
    // A key expires with its verification and may then start another.
    conn.exec(
        sql!(
            "UPDATE card_verifications SET request_key = NULL
             WHERE account_id = $1 AND request_key = $2 AND created_at <= $3"
        ),
        params![*account_id, *request_key, now.minus(CHECKOUT_TTL)],
    )
    .await?;
    insert!(
        conn,
        card_verifications {
            id: *id,
            account_id: *account_id,
            status: CardStatus::PendingVerification,
            provider: *provider,
            request_key: *request_key,
            poll_at: *poll_at,
            created_at: *now,
            updated_at: *now
        },
        "ON CONFLICT (account_id, request_key) DO NOTHING"
    )
    .await?;
    let (id,) = conn
        .one(
            sql!("SELECT id FROM card_verifications WHERE account_id = $1 AND request_key = $2"),
            params![*account_id, *request_key],
        )
        .await?;
    Ok(id)
}

/// Open verifications of the account, not counting the one of this request.
pub async fn count_open(conn: &mut Conn, account: AccountId, request_key: Uuid) -> Result<i64, DbError> {
    let (waiting,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM card_verifications
                 WHERE account_id = $1 AND poll_at IS NOT NULL AND (request_key IS NULL OR request_key <> $2)"
            ),
            params![account, request_key],
        )
        .await?;
    Ok(waiting)
}

/// Stores the order id and the checkout URL, once.
pub async fn set_checkout(conn: &mut Conn, id: CardVerificationId, checkout: &Checkout) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE card_verifications SET provider_order_id = $2, checkout_url = $3, updated_at = $4
             WHERE id = $1 AND provider_order_id IS NULL"
        ),
        params![id, checkout.order_id, checkout.checkout_url, conn.now()],
    )
    .await?;
    Ok(())
}

/// A webhook about the order of a pending verification means that the card was entered.
pub async fn mark_completing(conn: &mut Conn, provider: Provider, order_id: &str) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE card_verifications SET status = $3, updated_at = $4
             WHERE provider = $1 AND provider_order_id = $2 AND status = $5"
        ),
        params![provider, order_id, CardStatus::Completing, conn.now(), CardStatus::PendingVerification],
    )
    .await?;
    Ok(())
}

row! {
    pub struct Verification {
        pub account_id: AccountId,
        pub provider: Provider,
        pub status: CardStatus,
        pub created_at: Time,
    }
}

/// The verification, locked until the transaction ends.
pub async fn lock(conn: &mut Conn, id: CardVerificationId) -> Result<Option<Verification>, DbError> {
    conn.opt(
        sql!("SELECT ", Verification::COLS, " FROM card_verifications WHERE id = $1 /*pg FOR UPDATE */"),
        params![id],
    )
    .await
}

/// Sets the status. A settled verification is no longer polled, and its key can be used again.
pub async fn set_status(
    conn: &mut Conn,
    id: CardVerificationId,
    status: CardStatus,
    card: Option<&Card>,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE card_verifications SET
                 status = $2, brand = $3, last4 = $4, exp_month = $5, exp_year = $6, updated_at = $7,
                 poll_at = CASE WHEN $8 THEN NULL ELSE poll_at END,
                 request_key = CASE WHEN $8 THEN NULL ELSE request_key END
             WHERE id = $1"
        ),
        params![
            id,
            status,
            card.map(|card| card.brand),
            card.map(|card| card.last4.as_str()),
            card.map(|card| card.exp_month),
            card.map(|card| card.exp_year),
            conn.now(),
            status.is_settled()
        ],
    )
    .await?;
    Ok(())
}

row! {
    /// A verification whose next poll is due.
    pub struct DueVerification {
        pub id: CardVerificationId,
        pub provider: Provider,
        pub provider_order_id: Option<String>,
        pub created_at: Time,
    }
}

pub async fn list_due(conn: &mut Conn, batch: i64) -> Result<Vec<DueVerification>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            DueVerification::COLS,
            " FROM card_verifications WHERE poll_at IS NOT NULL AND poll_at <= $1 ORDER BY poll_at, id LIMIT $2"
        ),
        params![conn.now(), batch],
    )
    .await
}

pub async fn set_poll_at(conn: &mut Conn, id: CardVerificationId, at: Time) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE card_verifications SET poll_at = $2 WHERE id = $1 AND poll_at IS NOT NULL"),
        params![id, at],
    )
    .await?;
    Ok(())
}

row! {
    /// A verification as the API shows it.
    pub struct CardVerification {
        pub id: CardVerificationId,
        pub status: CardStatus,
        pub brand: Option<Brand>,
        pub last4: Option<String>,
        pub exp_month: Option<i64>,
        pub exp_year: Option<i64>,
    }
}

/// The account's newest verified card, which later failed tries do not replace, or else its newest verification.
pub async fn find_current(conn: &mut Conn, account: AccountId) -> Result<Option<CardVerification>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            CardVerification::COLS,
            " FROM card_verifications WHERE account_id = $1
             ORDER BY CASE WHEN status = 'verified' THEN 0 ELSE 1 END, created_at DESC, id DESC LIMIT 1"
        ),
        params![account],
    )
    .await
}
