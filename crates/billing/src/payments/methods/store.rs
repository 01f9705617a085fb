//! SQL of saved cards.

use db::{Conn, DbError, insert, params, row, sql};
use platform::outside::payments::{Brand, Provider};
use values::{AccountId, PaymentMethodId, Time};

row! {
    #[derive(Clone)]
    pub struct MethodRow {
        pub id: PaymentMethodId,
        pub account_id: AccountId,
        pub provider: Provider,
        pub provider_customer: Option<String>,
        pub token: String,
        pub brand: Brand,
        pub last4: String,
        pub exp_month: i64,
        pub exp_year: i64,
        pub is_default: bool,
        /// What tells the card from others, in the words of its provider.
        pub card: Option<String>,
        pub created_at: Time,
    }
}

pub async fn find(conn: &mut Conn, id: PaymentMethodId) -> Result<Option<MethodRow>, DbError> {
    conn.opt(sql!("SELECT ", MethodRow::COLS, " FROM payment_methods WHERE id = $1"), params![id]).await
}

/// The card, locked until the transaction ends.
pub async fn lock(conn: &mut Conn, id: PaymentMethodId) -> Result<Option<MethodRow>, DbError> {
    conn.opt(sql!("SELECT ", MethodRow::COLS, " FROM payment_methods WHERE id = $1 /*pg FOR UPDATE */"), params![id])
        .await
}

pub async fn list(
    conn: &mut Conn,
    account: AccountId,
    (at, id): (Time, PaymentMethodId),
    limit: i64,
) -> Result<Vec<MethodRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            MethodRow::COLS,
            " FROM payment_methods WHERE account_id = $1 AND (created_at, id) < ($2, $3)
             ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![account, at, id, limit],
    )
    .await
}

pub async fn count(conn: &mut Conn, account: AccountId) -> Result<i64, DbError> {
    let sql = sql!("SELECT COUNT(*) FROM payment_methods WHERE account_id = $1");
    let (count,) = conn.one(sql, params![account]).await?;
    Ok(count)
}

pub async fn has_default(conn: &mut Conn, account: AccountId) -> Result<bool, DbError> {
    let sql = sql!("SELECT COUNT(*) FROM payment_methods WHERE account_id = $1 AND is_default");
    let (defaults,): (i64,) = conn.one(sql, params![account]).await?;
    Ok(defaults > 0)
}

/// The provider's customer id of this account, from its newest saved card.
pub async fn provider_customer_of(
    conn: &mut Conn,
    account: AccountId,
    provider: Provider,
) -> Result<Option<String>, DbError> {
    let found: Option<(Option<String>,)> = conn
        .opt(
            sql!(
                "SELECT provider_customer FROM payment_methods
                 WHERE account_id = $1 AND provider = $2 AND provider_customer IS NOT NULL
                 ORDER BY created_at DESC, id DESC LIMIT 1"
            ),
            params![account, provider],
        )
        .await?;
    Ok(found.and_then(|(customer,)| customer))
}

/// Saves a card, unless it is saved already.
pub async fn insert(conn: &mut Conn, method: &MethodRow) -> Result<(), DbError> {
    insert!(
        conn,
        payment_methods {
            id: method.id,
            account_id: method.account_id,
            provider: method.provider,
            provider_customer: method.provider_customer,
            token: method.token,
            brand: method.brand,
            last4: method.last4,
            exp_month: method.exp_month,
            exp_year: method.exp_year,
            is_default: method.is_default,
            card: method.card,
            created_at: method.created_at
        },
        "ON CONFLICT (account_id, provider, token) DO NOTHING"
    )
    .await?;
    Ok(())
}

/// Two statements, since the unique index on the default card is checked row by row.
pub async fn make_default(conn: &mut Conn, account: AccountId, id: PaymentMethodId) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE payment_methods SET is_default = FALSE WHERE account_id = $1 AND is_default"),
        params![account],
    )
    .await?;
    conn.exec(
        sql!("UPDATE payment_methods SET is_default = TRUE WHERE account_id = $1 AND id = $2"),
        params![account, id],
    )
    .await?;
    Ok(())
}

/// Whether a charge of this card is pending.
pub async fn is_being_charged(conn: &mut Conn, id: PaymentMethodId) -> Result<bool, DbError> {
    let sql = sql!("SELECT COUNT(*) FROM payments WHERE method_id = $1 AND status = 'pending'");
    let (pending,): (i64,) = conn.one(sql, params![id]).await?;
    Ok(pending > 0)
}

/// Whether enabled auto-recharge charges this card.
pub async fn is_auto_recharge_card(conn: &mut Conn, method: &MethodRow) -> Result<bool, DbError> {
    let sql = sql!(
        "SELECT EXISTS (SELECT 1 FROM auto_recharges WHERE account_id = $1 AND payment_method_id = $2 AND enabled)"
    );
    let (found,) = conn.one(sql, params![method.account_id, method.id]).await?;
    Ok(found)
}

/// Removes the card from auto-recharge settings that are switched off.
pub async fn clear_from_auto_recharge(conn: &mut Conn, method: &MethodRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE auto_recharges SET payment_method_id = NULL, updated_at = $3
             WHERE account_id = $1 AND payment_method_id = $2"
        ),
        params![method.account_id, method.id, conn.now()],
    )
    .await?;
    Ok(())
}

/// Deletes the cards of an account and switches auto-recharge off.
pub async fn erase(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE auto_recharges SET enabled = FALSE, payment_method_id = NULL, updated_at = $2
             WHERE account_id = $1"
        ),
        params![account, conn.now()],
    )
    .await?;
    conn.exec(sql!("DELETE FROM payment_methods WHERE account_id = $1"), params![account]).await?;
    Ok(())
}

pub async fn delete(conn: &mut Conn, id: PaymentMethodId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM payment_methods WHERE id = $1"), params![id]).await?;
    Ok(())
}
