//! The tables `deck_mail_policies`, `deck_mails`, `deck_mail_files` and `deck_mailbox`.

use std::time::Duration;

use super::types::{DeckMailId, DeckMailOutcome, DeckMailPolicy, DeckMailReason};
use crate::upstreams::decks::sheets::SheetFormat;
use crate::upstreams::decks::types::{DeckImportId, DeckImportStatus, ImportMode};
use db::{Conn, DbError, insert, params, row, sql};
use platform::outside::files::ContentHash;
use values::{Email, List, Text, Time, UpstreamId};

/// Upstreams whose policies a mail is held against.
const MAX_POLICIES: i64 = 10_000;
/// The schedule is a little late or early.
const SLACK: Duration = Duration::from_secs(30);

row! {
    struct PolicyRow {
        upstream_id: UpstreamId,
        senders: List<Email>,
        file_types: List<SheetFormat>,
        subject_contains: Option<Text<1, 100>>,
        file_name_contains: Option<Text<1, 100>>,
        mode: ImportMode,
        trust_senders: bool,
    }
}

impl From<PolicyRow> for DeckMailPolicy {
    fn from(row: PolicyRow) -> DeckMailPolicy {
        DeckMailPolicy {
            senders: row.senders.0,
            subject_contains: row.subject_contains,
            file_types: row.file_types.0,
            file_name_contains: row.file_name_contains,
            mode: row.mode,
            trust_senders: row.trust_senders,
        }
    }
}

pub async fn policy(conn: &mut Conn, upstream: UpstreamId) -> Result<Option<DeckMailPolicy>, DbError> {
    let sql = sql!("SELECT ", PolicyRow::COLS, " FROM deck_mail_policies WHERE upstream_id = $1");
    let found: Option<PolicyRow> = conn.opt(sql, params![upstream]).await?;
    Ok(found.map(DeckMailPolicy::from))
}

/// The policies of all upstreams that have one.
pub async fn policies(conn: &mut Conn) -> Result<Vec<(UpstreamId, DeckMailPolicy)>, DbError> {
    let sql = sql!("SELECT ", PolicyRow::COLS, " FROM deck_mail_policies ORDER BY upstream_id LIMIT $1");
    let rows: Vec<PolicyRow> = conn.all(sql, params![MAX_POLICIES]).await?;
    Ok(rows.into_iter().map(|row| (row.upstream_id, row.into())).collect())
}

pub async fn save_policy(conn: &mut Conn, upstream: UpstreamId, policy: &DeckMailPolicy) -> Result<(), DbError> {
    let (senders, file_types) = (List(policy.senders.clone()), List(policy.file_types.clone()));
    insert!(
        conn,
        deck_mail_policies {
            upstream_id: upstream,
            senders,
            file_types,
            subject_contains: policy.subject_contains,
            file_name_contains: policy.file_name_contains,
            mode: policy.mode,
            trust_senders: policy.trust_senders,
            updated_at: conn.now()
        },
        "ON CONFLICT (upstream_id) DO UPDATE SET senders = excluded.senders, file_types = excluded.file_types,
             subject_contains = excluded.subject_contains, file_name_contains = excluded.file_name_contains,
             mode = excluded.mode, trust_senders = excluded.trust_senders, updated_at = excluded.updated_at"
    )
    .await?;
    Ok(())
}

/// Deletes a policy; false if there is none.
pub async fn delete_policy(conn: &mut Conn, upstream: UpstreamId) -> Result<bool, DbError> {
    let sql = sql!("DELETE FROM deck_mail_policies WHERE upstream_id = $1");
    Ok(conn.exec(sql, params![upstream]).await? == 1)
}

row! {
    #[derive(Clone, Debug)]
    pub struct MailRow {
        pub id: DeckMailId,
        pub message_key: ContentHash,
        pub message_id: Option<String>,
        pub sender: Option<Email>,
        pub subject: String,
        pub size_bytes: i64,
        pub upstream_id: Option<UpstreamId>,
        pub outcome: DeckMailOutcome,
        pub reason: Option<DeckMailReason>,
        pub sender_verified: bool,
        pub created_at: Time,
    }
}

/// Inserts a mail; false if the message is known.
pub async fn insert(conn: &mut Conn, new: &MailRow) -> Result<bool, DbError> {
    let inserted = insert!(
        conn,
        deck_mails {
            id: new.id,
            message_key: new.message_key,
            message_id: new.message_id,
            sender: new.sender,
            subject: new.subject,
            size_bytes: new.size_bytes,
            upstream_id: new.upstream_id,
            outcome: new.outcome,
            reason: new.reason,
            sender_verified: new.sender_verified,
            created_at: new.created_at
        },
        "ON CONFLICT (message_key) DO NOTHING"
    )
    .await?;
    Ok(inserted == 1)
}

/// Accepts a known message after all, and returns its id.
pub async fn accept(conn: &mut Conn, mail: &MailRow) -> Result<DeckMailId, DbError> {
    let sql = sql!(
        "UPDATE deck_mails SET upstream_id = $2, outcome = 'accepted', reason = NULL, sender_verified = $3, size_bytes = $4
         WHERE message_key = $1 RETURNING id"
    );
    let (id,) =
        conn.one(sql, params![mail.message_key, mail.upstream_id, mail.sender_verified, mail.size_bytes]).await?;
    Ok(id)
}

/// A file of a message, and its import.
#[derive(Clone, Debug)]
pub struct NewFile {
    pub content_hash: ContentHash,
    pub file_name: String,
    pub size_bytes: i64,
    /// An estimate of its rows; none for a workbook.
    pub rows: Option<i64>,
}

/// Inserts a file; false if the message's file is known.
pub async fn insert_file(
    conn: &mut Conn,
    (mail, key): (DeckMailId, ContentHash),
    import: DeckImportId,
    file: &NewFile,
    created_at: Time,
) -> Result<bool, DbError> {
    let inserted = insert!(
        conn,
        deck_mail_files {
            message_key: key,
            content_hash: file.content_hash,
            deck_mail_id: mail,
            import_id: import,
            file_name: file.file_name,
            size_bytes: file.size_bytes,
            created_at
        },
        "ON CONFLICT (message_key, content_hash) DO NOTHING"
    )
    .await?;
    Ok(inserted == 1)
}

row! {
    /// A file with the state of its import.
    #[derive(Clone, Debug)]
    pub struct FileRow {
        pub file_name: String,
        pub size_bytes: i64,
        pub import_id: DeckImportId,
        pub status: Option<DeckImportStatus>,
        pub error_count: i64,
    }
}

pub async fn files(conn: &mut Conn, mail: DeckMailId) -> Result<Vec<FileRow>, DbError> {
    let sql = sql!(
        "SELECT f.file_name, f.size_bytes, f.import_id, i.status, COALESCE(i.error_count, 0)
         FROM deck_mail_files f LEFT JOIN deck_imports i ON i.id = f.import_id
         WHERE f.deck_mail_id = $1 ORDER BY f.created_at, f.content_hash"
    );
    conn.all(sql, params![mail]).await
}

/// Mails of all upstreams and of none, newest first, after the cursor.
pub async fn list(
    conn: &mut Conn,
    outcome: Option<DeckMailOutcome>,
    (at, id): (Time, DeckMailId),
    limit: i64,
) -> Result<Vec<MailRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            MailRow::COLS,
            " FROM deck_mails WHERE (created_at, id) < ($1, $2) AND (CAST($3 AS TEXT) IS NULL OR outcome = $3)
             ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![at, id, outcome, limit],
    )
    .await
}

/// Mails of one upstream.
pub async fn list_of(
    conn: &mut Conn,
    upstream: UpstreamId,
    outcome: Option<DeckMailOutcome>,
    (at, id): (Time, DeckMailId),
    limit: i64,
) -> Result<Vec<MailRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            MailRow::COLS,
            " FROM deck_mails WHERE upstream_id = $1 AND (created_at, id) < ($2, $3)
                 AND (CAST($4 AS TEXT) IS NULL OR outcome = $4)
             ORDER BY created_at DESC, id DESC LIMIT $5"
        ),
        params![upstream, at, id, outcome, limit],
    )
    .await
}

/// Deletes the oldest mails before the cutoff with their files, and returns how many.
pub async fn purge(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    let sql = sql!(
        "DELETE FROM deck_mail_files WHERE deck_mail_id IN
             (SELECT id FROM deck_mails WHERE created_at < $1 ORDER BY created_at, id LIMIT $2)"
    );
    conn.exec(sql, params![cutoff, batch]).await?;
    let sql = sql!(
        "DELETE FROM deck_mails WHERE id IN
             (SELECT id FROM deck_mails WHERE created_at < $1 ORDER BY created_at, id LIMIT $2)"
    );
    conn.exec(sql, params![cutoff, batch]).await
}

row! {
    /// The state of the mailbox.
    pub struct MailboxRow {
        pub polled_at: Time,
        pub failed_since: Option<Time>,
        pub failure: Option<String>,
    }
}

pub async fn state(conn: &mut Conn) -> Result<MailboxRow, DbError> {
    conn.one(sql!("SELECT ", MailboxRow::COLS, " FROM deck_mailbox WHERE id = 1"), params![]).await
}

/// Begins to read the mailbox, unless it was read less than an interval ago.
pub async fn begin_poll(conn: &mut Conn, interval: Duration) -> Result<bool, DbError> {
    let due = conn.now().minus(interval.saturating_sub(SLACK));
    let sql = sql!("UPDATE deck_mailbox SET polled_at = $1 WHERE id = 1 AND polled_at <= $2");
    Ok(conn.exec(sql, params![conn.now(), due]).await? == 1)
}

/// Records whether the mailbox could be read.
pub async fn end_poll(conn: &mut Conn, failure: Option<&str>) -> Result<(), DbError> {
    let sql = sql!(
        "UPDATE deck_mailbox SET failure = $1,
             failed_since = CASE WHEN CAST($1 AS TEXT) IS NULL THEN NULL ELSE COALESCE(failed_since, $2) END
         WHERE id = 1"
    );
    conn.exec(sql, params![failure, conn.now()]).await?;
    Ok(())
}
