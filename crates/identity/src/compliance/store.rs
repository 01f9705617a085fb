//! Tables `intakes` and `intake_documents`.

use uuid::Uuid;

use super::rules::{self, MAX_DOCUMENTS};
use super::types::{DocumentStatus, IntakeStatus, Purpose};
use db::{Conn, DbError, FromRow, Row, insert, params, row, sql, table_row};
use platform::outside::files::ContentHash;
use values::{AccountId, DocKind, IntakeDocumentId, IntakeId, Time, Words};

row! {
    #[derive(Clone)]
    pub struct IntakeRow {
        pub id: IntakeId,
        pub account_id: AccountId,
        pub purpose: Purpose,
        pub status: IntakeStatus,
        pub related_resource_id: Option<Uuid>,
        pub required_docs: Words<DocKind>,
        pub reviewer_note: Option<String>,
        pub submitted_at: Option<Time>,
        pub reviewed_at: Option<Time>,
        pub created_at: Time,
        pub updated_at: Time,
    }
}

impl IntakeRow {
    /// Required kinds that have a document which was not rejected.
    pub fn uploaded(&self, documents: &[DocumentRow]) -> Vec<DocKind> {
        let documents: Vec<_> = documents.iter().map(|document| (&document.kind, document.status)).collect();
        rules::uploaded_kinds(&self.required_docs.0, &documents)
    }
}

table_row! {
    #[derive(Clone)]
    pub struct DocumentRow in intake_documents {
        pub id: IntakeDocumentId,
        pub intake_id: IntakeId,
        pub kind: DocKind,
        pub file_name: String,
        pub content_type: String,
        pub size_bytes: i64,
        pub content_hash: ContentHash,
        pub status: DocumentStatus,
        pub reject_reason: Option<String>,
        pub uploaded_at: Time,
    }
}

/// Filter of a list of intakes.
pub struct IntakeFilter {
    /// None lists the intakes of all accounts.
    pub account: Option<AccountId>,
    pub status: Option<IntakeStatus>,
    pub purpose: Option<Purpose>,
}

pub async fn find(conn: &mut Conn, id: IntakeId) -> Result<Option<IntakeRow>, DbError> {
    conn.opt(sql!("SELECT ", IntakeRow::COLS, " FROM intakes WHERE id = $1"), params![id]).await
}

/// The intake, locked until the transaction ends.
pub async fn find_for_update(conn: &mut Conn, id: IntakeId) -> Result<Option<IntakeRow>, DbError> {
    conn.opt(sql!("SELECT ", IntakeRow::COLS, " FROM intakes WHERE id = $1 /*pg FOR UPDATE */"), params![id]).await
}

/// The intake that a document belongs to, locked until the transaction ends.
pub async fn find_by_document_for_update(
    conn: &mut Conn,
    document: IntakeDocumentId,
) -> Result<Option<IntakeRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            IntakeRow::COLS,
            " FROM intakes
             WHERE id = (SELECT d.intake_id FROM intake_documents d WHERE d.id = $1) /*pg FOR UPDATE */"
        ),
        params![document],
    )
    .await
}

/// The account's latest KYB intake.
pub async fn latest_kyb(conn: &mut Conn, account: AccountId) -> Result<Option<IntakeRow>, DbError> {
    // A partial unique index allows one intake that is not rejected, so that one is the latest.
    conn.opt(
        sql!(
            "SELECT ",
            IntakeRow::COLS,
            " FROM intakes WHERE account_id = $1 AND purpose = 'kyb'
             ORDER BY CASE WHEN status = 'rejected' THEN 1 ELSE 0 END, created_at DESC, id DESC LIMIT 1"
        ),
        params![account],
    )
    .await
}

/// Inserts an intake; false when the account has a KYB intake that is not rejected.
pub async fn insert(conn: &mut Conn, intake: &IntakeRow) -> Result<bool, DbError> {
    let inserted = insert!(
        conn,
        intakes {
            id: intake.id,
            account_id: intake.account_id,
            purpose: intake.purpose,
            status: intake.status,
            related_resource_id: intake.related_resource_id,
            required_docs: intake.required_docs,
            created_at: intake.created_at,
            updated_at: intake.created_at
        },
        "ON CONFLICT (account_id) WHERE purpose = 'kyb' AND status <> 'rejected' DO NOTHING"
    )
    .await?;
    Ok(inserted == 1)
}

/// Writes what an action changes.
pub async fn update(conn: &mut Conn, intake: &IntakeRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE intakes SET status = $2, reviewer_note = $3, submitted_at = $4, reviewed_at = $5, updated_at = $6
             WHERE id = $1"
        ),
        params![
            intake.id,
            intake.status,
            intake.reviewer_note,
            intake.submitted_at,
            intake.reviewed_at,
            intake.updated_at
        ],
    )
    .await?;
    Ok(())
}

pub async fn touch(conn: &mut Conn, id: IntakeId) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE intakes SET updated_at = $2 WHERE id = $1"), params![id, conn.now()]).await?;
    Ok(())
}

/// One row of the join: an intake with one of its documents, if it has any.
struct Joined {
    intake: IntakeRow,
    document: Option<DocumentRow>,
}

impl FromRow for Joined {
    fn from_row(row: &Row<'_>) -> Result<Self, DbError> {
        let document: Option<IntakeDocumentId> = row.get(IntakeRow::WIDTH)?;
        let document = document.map(|_| DocumentRow::from_column(row, IntakeRow::WIDTH)).transpose()?;
        Ok(Joined { intake: IntakeRow::from_row(row)?, document })
    }
}

/// Intakes with their documents, newest first, in one statement.
pub async fn list(
    conn: &mut Conn,
    filter: &IntakeFilter,
    after: (Time, IntakeId),
    limit: i64,
) -> Result<Vec<(IntakeRow, Vec<DocumentRow>)>, DbError> {
    let (at, id) = after;
    let joined = match filter.account {
        Some(account) => {
            conn.all(
                sql!(
                    "SELECT i.*, d.* FROM
                         (SELECT ",
                    IntakeRow::COLS,
                    " FROM intakes
                          WHERE account_id = $1 AND (status = $2 OR $2 IS NULL) AND (purpose = $3 OR $3 IS NULL)
                                AND (created_at, id) < ($4, $5)
                          ORDER BY created_at DESC, id DESC LIMIT $6) i
                     LEFT JOIN (SELECT ",
                    DocumentRow::COLS,
                    " FROM intake_documents) d ON d.intake_id = i.id
                     ORDER BY i.created_at DESC, i.id DESC, d.uploaded_at, d.id"
                ),
                params![account, filter.status, filter.purpose, at, id, limit],
            )
            .await?
        }
        None => {
            conn.all(
                sql!(
                    "SELECT i.*, d.* FROM
                         (SELECT ",
                    IntakeRow::COLS,
                    " FROM intakes
                          WHERE (status = $1 OR $1 IS NULL) AND (purpose = $2 OR $2 IS NULL)
                                AND (created_at, id) < ($3, $4)
                          ORDER BY created_at DESC, id DESC LIMIT $5) i
                     LEFT JOIN (SELECT ",
                    DocumentRow::COLS,
                    " FROM intake_documents) d ON d.intake_id = i.id
                     ORDER BY i.created_at DESC, i.id DESC, d.uploaded_at, d.id"
                ),
                params![filter.status, filter.purpose, at, id, limit],
            )
            .await?
        }
    };
    Ok(group_by_intake(joined))
}

/// Each intake once, with all its documents. Rows of one intake are adjacent.
fn group_by_intake(rows: Vec<Joined>) -> Vec<(IntakeRow, Vec<DocumentRow>)> {
    let mut intakes: Vec<(IntakeRow, Vec<DocumentRow>)> = Vec::new();
    for Joined { intake, document } in rows {
        match intakes.last_mut().filter(|(last, _)| last.id == intake.id) {
            Some((_, documents)) => documents.extend(document),
            None => intakes.push((intake, document.into_iter().collect())),
        }
    }
    intakes
}

/// Documents of an intake, oldest first.
pub async fn documents(conn: &mut Conn, intake: IntakeId) -> Result<Vec<DocumentRow>, DbError> {
    let limit = i64::try_from(MAX_DOCUMENTS).unwrap_or(i64::MAX);
    conn.all(
        sql!(
            "SELECT ",
            DocumentRow::COLS,
            " FROM intake_documents WHERE intake_id = $1 ORDER BY uploaded_at, id LIMIT $2"
        ),
        params![intake, limit],
    )
    .await
}

pub async fn insert_document(conn: &mut Conn, document: &DocumentRow) -> Result<(), DbError> {
    conn.insert(document).await?;
    Ok(())
}

/// False when there is no such document.
pub async fn delete_document(conn: &mut Conn, intake: IntakeId, id: IntakeDocumentId) -> Result<bool, DbError> {
    let sql = sql!("DELETE FROM intake_documents WHERE intake_id = $1 AND id = $2");
    Ok(conn.exec(sql, params![intake, id]).await? == 1)
}

/// Rejects the intakes of an account that are not decided.
pub async fn close_all(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE intakes SET status = 'rejected', reviewed_at = $2, updated_at = $2
             WHERE account_id = $1 AND status NOT IN ('approved', 'rejected')"
        ),
        params![account, conn.now()],
    )
    .await?;
    Ok(())
}

/// Deletes the documents of an account; their files go with the next sweep. The intakes stay, without the reviewer's
/// words.
pub async fn erase_documents(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(
        sql!("DELETE FROM intake_documents WHERE intake_id IN (SELECT id FROM intakes WHERE account_id = $1)"),
        params![account],
    )
    .await?;
    conn.exec(sql!("UPDATE intakes SET reviewer_note = NULL WHERE account_id = $1"), params![account]).await?;
    Ok(())
}

/// False when there is no such document.
pub async fn set_document_status(
    conn: &mut Conn,
    intake: IntakeId,
    id: IntakeDocumentId,
    status: DocumentStatus,
    reject_reason: Option<&str>,
) -> Result<bool, DbError> {
    let sql = sql!("UPDATE intake_documents SET status = $3, reject_reason = $4 WHERE intake_id = $1 AND id = $2");
    Ok(conn.exec(sql, params![intake, id, status, reject_reason]).await? == 1)
}

/// Whether any document references this file.
pub async fn names_file(conn: &mut Conn, hash: &ContentHash) -> Result<bool, DbError> {
    let (named,) = conn
        .one(sql!("SELECT EXISTS (SELECT 1 FROM intake_documents WHERE content_hash = $1)"), params![*hash])
        .await?;
    Ok(named)
}
