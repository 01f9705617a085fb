//! The verifications.

use uuid::Uuid;

use super::rules::CardStatus;
use crate::payments::PATIENCE;
use db::{Conn, DbError, params, row, sql};
use platform::outside::payments::{Brand, Card, Checkout, Provider};
use values::{AccountId, CardVerificationId, Time};

/// A verification to be.
pub struct Beginning {
    pub id: CardVerificationId,
    pub account_id: AccountId,
    pub provider: Provider,
    pub request_key: Uuid,
    pub poll_at: Time,
    pub now: Time,
}

/// Begins a verification and answers its id, which is an earlier one's if the same request began it before.
pub async fn begin(conn: &mut Conn, beginning: &Beginning) -> Result<CardVerificationId, DbError> {
    let Beginning { id, account_id, provider, request_key, poll_at, now } = beginning;
    // A key is good for as long as a verification: after that it begins another.
    conn.exec(
        sql!(
            "UPDATE card_verifications SET request_key = NULL
             WHERE account_id = $1 AND request_key = $2 AND created_at <= $3"
        ),
        params![*account_id, *request_key, now.minus(PATIENCE)],
    )
    .await?;
    conn.exec(
        sql!(
            "INSERT INTO card_verifications (id, account_id, status, provider, request_key, poll_at, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
             ON CONFLICT (account_id, request_key) DO NOTHING"
        ),
        params![*id, *account_id, CardStatus::PendingVerification, *provider, *request_key, *poll_at, *now],
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

/// How many of the account's verifications wait for their card, but for the one this request began.
pub async fn waiting(conn: &mut Conn, account: AccountId, request_key: Uuid) -> Result<i64, DbError> {
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

/// Writes down where the card is to be shown.
pub async fn keep_checkout(
    conn: &mut Conn,
    id: CardVerificationId,
    checkout: &Checkout,
    now: Time,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE card_verifications SET provider_order_id = $2, checkout_url = $3, updated_at = $4
             WHERE id = $1 AND provider_order_id IS NULL"
        ),
        params![id, checkout.order_id, checkout.checkout_url, now],
    )
    .await?;
    Ok(())
}

/// The provider has something to tell of an order: if a verification waits for it, the card was shown.
pub async fn provider_called(conn: &mut Conn, provider: Provider, order_id: &str, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE card_verifications SET status = $3, updated_at = $4
             WHERE provider = $1 AND provider_order_id = $2 AND status = $5"
        ),
        params![provider, order_id, CardStatus::Completing, now, CardStatus::PendingVerification],
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

/// Makes those who settle a verification wait for each other.
pub async fn lock(conn: &mut Conn, id: CardVerificationId) -> Result<Option<Verification>, DbError> {
    conn.opt(
        sql!("SELECT ", Verification::COLS, " FROM card_verifications WHERE id = $1 /*pg FOR UPDATE */"),
        params![id],
    )
    .await
}

/// Writes where a verification stands. A settled one is asked for no more and its key is free again.
pub async fn move_to(
    conn: &mut Conn,
    id: CardVerificationId,
    status: CardStatus,
    card: Option<&Card>,
    now: Time,
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
            now,
            status.is_settled()
        ],
    )
    .await?;
    Ok(())
}

row! {
    /// A verification that the provider is to be asked for.
    pub struct Open {
        pub id: CardVerificationId,
        pub provider: Provider,
        pub provider_order_id: Option<String>,
        pub created_at: Time,
    }
}

pub async fn due(conn: &mut Conn, now: Time, batch: i64) -> Result<Vec<Open>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            Open::COLS,
            " FROM card_verifications WHERE poll_at IS NOT NULL AND poll_at <= $1 ORDER BY poll_at, id LIMIT $2"
        ),
        params![now, batch],
    )
    .await
}

pub async fn poll_later(conn: &mut Conn, id: CardVerificationId, at: Time) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE card_verifications SET poll_at = $2 WHERE id = $1 AND poll_at IS NOT NULL"),
        params![id, at],
    )
    .await?;
    Ok(())
}

row! {
    /// What its owner sees of a verification.
    pub struct Shown {
        pub id: CardVerificationId,
        pub status: CardStatus,
        pub brand: Option<Brand>,
        pub last4: Option<String>,
        pub exp_month: Option<i64>,
        pub exp_year: Option<i64>,
    }
}

/// The account's card: its newest that is verified, since no later try takes that away, or else its newest try.
pub async fn shown(conn: &mut Conn, account: AccountId) -> Result<Option<Shown>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            Shown::COLS,
            " FROM card_verifications WHERE account_id = $1
             ORDER BY CASE WHEN status = 'verified' THEN 0 ELSE 1 END, created_at DESC, id DESC LIMIT 1"
        ),
        params![account],
    )
    .await
}
