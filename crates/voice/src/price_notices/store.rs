//! Tables `price_notices` and `price_comparisons`.

use std::hash::{DefaultHasher, Hash, Hasher};

use rating::Notice;
use uuid::Uuid;

use super::impact::{ChangedDestination, Impact};
use super::types::{ChangeCause, PriceNoticeId};
use db::{Conn, DbError, insert, params, sql, table_row};
use platform::outside::files::ContentHash;
use values::{AccountId, Email, List, Time};

/// Whose prices are compared: one change, and customers with the same plans and notices at both times.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ComparisonKey {
    pub change_id: Uuid,
    /// The notice of increases by decks, at either time.
    pub notices: (Notice, Notice),
    /// The version of the plan at either time; the nil UUID for the list price.
    pub from_version: Uuid,
    pub to_version: Uuid,
    /// No new price counts earlier for these customers.
    pub since: Time,
}

impl ComparisonKey {
    /// The id that a comparison is stored under: that of the change, apart for other notices. Another hash would only
    /// compare again.
    pub fn stored_change(&self) -> Uuid {
        let mut hasher = DefaultHasher::new();
        self.notices.hash(&mut hasher);
        Uuid::from_u128(self.change_id.as_u128() ^ u128::from(hasher.finish()))
    }
}

table_row! {
    /// What changes for customers with the same prices.
    #[derive(Clone, Debug)]
    pub struct ComparisonRow in price_comparisons {
        pub id: Uuid,
        /// See [`ComparisonKey::stored_change`].
        pub change_id: Uuid,
        pub from_version: Uuid,
        pub to_version: Uuid,
        pub since: Time,
        pub added: i64,
        pub removed: i64,
        pub increased: i64,
        pub decreased: i64,
        /// Absent if nothing changes, or too much.
        pub csv_hash: Option<ContentHash>,
        pub csv_bytes: Option<i64>,
        pub xlsx_hash: Option<ContentHash>,
        pub xlsx_bytes: Option<i64>,
        pub destinations: List<ChangedDestination>,
        pub created_at: Time,
    }
}

table_row! {
    /// A notice, with the numbers and files of its comparison.
    #[derive(Clone, Debug)]
    pub struct NoticeRow in price_notices {
        pub id: PriceNoticeId,
        pub account_id: AccountId,
        pub change_id: Uuid,
        pub comparison_id: Uuid,
        pub cause: ChangeCause,
        pub from_at: Time,
        pub to_at: Time,
        pub added: i64,
        pub removed: i64,
        pub increased: i64,
        pub decreased: i64,
        pub csv_hash: Option<ContentHash>,
        pub xlsx_hash: Option<ContentHash>,
        pub impact: Impact,
        pub mailed_to: List<Email>,
        pub created_at: Time,
    }
}

impl ComparisonRow {
    /// Whether no price changes.
    pub fn is_empty(&self) -> bool {
        self.added + self.removed + self.increased + self.decreased == 0
    }
}

pub async fn find_comparison(conn: &mut Conn, key: &ComparisonKey) -> Result<Option<ComparisonRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            ComparisonRow::COLS,
            " FROM price_comparisons
             WHERE change_id = $1 AND from_version = $2 AND to_version = $3 AND since = $4"
        ),
        params![key.stored_change(), key.from_version, key.to_version, key.since],
    )
    .await
}

/// Inserts a comparison unless another node has been faster.
pub async fn insert_comparison(conn: &mut Conn, new: &ComparisonRow) -> Result<(), DbError> {
    insert!(
        conn,
        price_comparisons {
            id: new.id,
            change_id: new.change_id,
            from_version: new.from_version,
            to_version: new.to_version,
            since: new.since,
            added: new.added,
            removed: new.removed,
            increased: new.increased,
            decreased: new.decreased,
            csv_hash: new.csv_hash,
            csv_bytes: new.csv_bytes,
            xlsx_hash: new.xlsx_hash,
            xlsx_bytes: new.xlsx_bytes,
            destinations: new.destinations,
            created_at: new.created_at
        },
        "ON CONFLICT (change_id, from_version, to_version, since) DO NOTHING"
    )
    .await?;
    Ok(())
}

/// Inserts a notice; false if the customer has one of this change.
pub async fn insert(conn: &mut Conn, new: &NoticeRow) -> Result<bool, DbError> {
    let inserted = insert!(
        conn,
        price_notices {
            id: new.id,
            account_id: new.account_id,
            change_id: new.change_id,
            comparison_id: new.comparison_id,
            cause: new.cause,
            from_at: new.from_at,
            to_at: new.to_at,
            added: new.added,
            removed: new.removed,
            increased: new.increased,
            decreased: new.decreased,
            csv_hash: new.csv_hash,
            xlsx_hash: new.xlsx_hash,
            impact: new.impact,
            mailed_to: new.mailed_to,
            created_at: new.created_at
        },
        "ON CONFLICT (account_id, change_id) DO NOTHING"
    )
    .await?;
    Ok(inserted == 1)
}

pub async fn set_mailed_to(conn: &mut Conn, id: PriceNoticeId, to: &List<Email>) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE price_notices SET mailed_to = $2 WHERE id = $1"), params![id, *to]).await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, account: AccountId, id: PriceNoticeId) -> Result<Option<NoticeRow>, DbError> {
    conn.opt(
        sql!("SELECT ", NoticeRow::COLS, " FROM price_notices WHERE id = $1 AND account_id = $2"),
        params![id, account],
    )
    .await
}

/// The notices of an account before a cursor, newest first.
pub async fn list_of(
    conn: &mut Conn,
    account: AccountId,
    (at, id): (Time, PriceNoticeId),
    limit: i64,
) -> Result<Vec<NoticeRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            NoticeRow::COLS,
            " FROM price_notices WHERE account_id = $1 AND (created_at, id) < ($2, $3)
             ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![account, at, id, limit],
    )
    .await
}

/// The notices of all accounts before a cursor, newest first.
pub async fn list(conn: &mut Conn, (at, id): (Time, PriceNoticeId), limit: i64) -> Result<Vec<NoticeRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            NoticeRow::COLS,
            " FROM price_notices WHERE (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3"
        ),
        params![at, id, limit],
    )
    .await
}

/// Whether a comparison has a file.
pub async fn names_file(conn: &mut Conn, hash: &ContentHash) -> Result<bool, DbError> {
    let (is_named,) = conn
        .one(
            sql!(
                "SELECT EXISTS (SELECT 1 FROM price_comparisons WHERE csv_hash = $1)
                     OR EXISTS (SELECT 1 FROM price_comparisons WHERE xlsx_hash = $1)"
            ),
            params![*hash],
        )
        .await?;
    Ok(is_named)
}

/// Deletes up to `batch` notices from before `cutoff`.
pub async fn purge(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM price_notices WHERE id IN
                 (SELECT id FROM price_notices WHERE created_at < $1 ORDER BY created_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}

/// Deletes up to `batch` comparisons from before `cutoff` that no notice refers to.
pub async fn purge_comparisons(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM price_comparisons WHERE id IN (
                 SELECT id FROM price_comparisons AS c WHERE created_at < $1
                     AND NOT EXISTS (SELECT 1 FROM price_notices WHERE comparison_id = c.id)
                 ORDER BY created_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}
