//! Tables `cdr_archive_files` and `cdr_archive`, and the CDRs that move to files.

use super::totals::Totals;
use crate::cdrs::row::{CallResult, MarkedCdr};
use crate::cdrs::search::{CdrCursor, position};
use crate::cdrs::terms::CallTerms;
use crate::concurrency::DAY_MILLIS;
use db::{Conn, DbError, params, row, sql, table_row};
use platform::outside::files::ContentHash;
use values::{AccountId, CallId, Time};

table_row! {
    /// A file of the archive.
    #[derive(Clone, Debug)]
    pub struct FileRow in cdr_archive_files {
        /// In days since 1970.
        pub day: i64,
        pub part: i64,
        pub content_hash: ContentHash,
        pub size_bytes: i64,
        pub calls: i64,
        pub seconds: i64,
        pub charge: i64,
        pub cost: i64,
        pub has_numbers: bool,
        pub created_at: Time,
        pub verified_at: Option<Time>,
    }
}

impl FileRow {
    pub fn totals(&self) -> Totals {
        Totals { calls: self.calls, seconds: self.seconds, charge: self.charge, cost: self.cost }
    }
}

row! {
    /// How far the archive is.
    #[derive(Clone, Copy, Debug)]
    pub struct Progress {
        /// Calls before are in verified files.
        pub hot_from: Time,
        /// Calls before are no longer in the database.
        pub dropped_to: Time,
    }
}

pub async fn progress(conn: &mut Conn) -> Result<Progress, DbError> {
    conn.one(sql!("SELECT ", Progress::COLS, " FROM cdr_archive WHERE id = 1"), params![]).await
}

/// The same; waits for imports that are being written, and later ones wait for this transaction.
pub async fn lock_progress(conn: &mut Conn) -> Result<Progress, DbError> {
    conn.one(sql!("SELECT ", Progress::COLS, " FROM cdr_archive WHERE id = 1 /*pg FOR UPDATE */"), params![]).await
}

/// The same; it stays so until the transaction ends.
pub async fn hold_progress(conn: &mut Conn) -> Result<Progress, DbError> {
    conn.one(sql!("SELECT ", Progress::COLS, " FROM cdr_archive WHERE id = 1 /*pg FOR SHARE */"), params![]).await
}

pub async fn set_hot_from(conn: &mut Conn, hot_from: Time) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE cdr_archive SET hot_from = $1 WHERE id = 1"), params![hot_from]).await?;
    Ok(())
}

pub async fn set_dropped_to(conn: &mut Conn, dropped_to: Time) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE cdr_archive SET dropped_to = $1 WHERE id = 1"), params![dropped_to]).await?;
    Ok(())
}

/// When the oldest call from one time to before another began.
pub async fn oldest(conn: &mut Conn, from: Time, to: Time) -> Result<Option<Time>, DbError> {
    // By the primary key, since ids are in the order of the calls; the times select the partitions.
    let found: Option<(Time,)> = conn
        .opt(
            sql!(
                "SELECT started_at FROM cdrs WHERE started_at >= $1 AND started_at < $2 AND id > $3 AND id < $4
                 ORDER BY id LIMIT 1"
            ),
            params![from, to, CallId::first_at(from), CallId::first_at(to)],
        )
        .await?;
    Ok(found.map(|(started_at,)| started_at))
}

/// The CDRs of all accounts after a cursor and before a time, oldest first.
pub async fn list_cdrs(conn: &mut Conn, after: CdrCursor, to: Time, limit: i64) -> Result<Vec<MarkedCdr>, DbError> {
    conn.all(
        sql!(
            "SELECT id, ",
            CallTerms::COLS,
            ", ",
            CallResult::COLS,
            ", hung_up_by FROM cdrs WHERE started_at >= $1 AND started_at < $3 AND id > $2 AND id < $5
             ORDER BY id LIMIT $4"
        ),
        params![after.0, position(after), to, limit, CallId::first_at(to)],
    )
    .await
}

/// The sums of a day by the rollup of all accounts.
pub async fn rollup_totals(conn: &mut Conn, day: i64) -> Result<Totals, DbError> {
    conn.one(
        sql!(
            "SELECT CAST(COALESCE(SUM(attempts), 0) AS BIGINT), CAST(COALESCE(SUM(seconds), 0) AS BIGINT),
                    CAST(COALESCE(SUM(charge), 0) AS BIGINT), CAST(COALESCE(SUM(cost), 0) AS BIGINT)
             FROM usage_routes WHERE span = 24 AND slot = $1"
        ),
        params![day * 24],
    )
    .await
}

/// Whether a call that began before this time is still live.
pub async fn has_live_before(conn: &mut Conn, time: Time) -> Result<bool, DbError> {
    let (has,) =
        conn.one(sql!("SELECT EXISTS (SELECT 1 FROM live_calls WHERE started_at < $1)"), params![time]).await?;
    Ok(has)
}

/// The cursor `count` CDRs after this one, if there are as many before a time.
pub async fn cursor_after(
    conn: &mut Conn,
    after: CdrCursor,
    before: Time,
    count: i64,
) -> Result<Option<CdrCursor>, DbError> {
    conn.opt(
        sql!(
            "SELECT started_at, id FROM cdrs WHERE started_at >= $1 AND started_at < $3 AND id > $2 AND id < $5
             ORDER BY id LIMIT 1 OFFSET $4"
        ),
        params![after.0, position(after), before, count - 1, CallId::first_at(before)],
    )
    .await
}

/// Deletes the CDRs after one cursor, up to another.
pub async fn delete_cdrs(conn: &mut Conn, after: CdrCursor, until: CdrCursor) -> Result<u64, DbError> {
    conn.exec(
        sql!("DELETE FROM cdrs WHERE started_at >= $1 AND started_at <= $3 AND id > $2 AND id <= $4"),
        params![after.0, position(after), until.0, position(until)],
    )
    .await
}

/// The last day that has a file.
pub async fn last_day(conn: &mut Conn) -> Result<Option<i64>, DbError> {
    let found: Option<(i64,)> =
        conn.opt(sql!("SELECT day FROM cdr_archive_files ORDER BY day DESC LIMIT 1"), params![]).await?;
    Ok(found.map(|(day,)| day))
}

/// The first day whose files are not verified.
pub async fn unverified_day(conn: &mut Conn) -> Result<Option<i64>, DbError> {
    let found: Option<(i64,)> = conn
        .opt(sql!("SELECT day FROM cdr_archive_files WHERE verified_at IS NULL ORDER BY day, part LIMIT 1"), params![])
        .await?;
    Ok(found.map(|(day,)| day))
}

pub async fn files_of_day(conn: &mut Conn, day: i64, limit: i64) -> Result<Vec<FileRow>, DbError> {
    conn.all(
        sql!("SELECT ", FileRow::COLS, " FROM cdr_archive_files WHERE day = $1 ORDER BY part LIMIT $2"),
        params![day, limit],
    )
    .await
}

pub async fn mark_verified(conn: &mut Conn, day: i64) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE cdr_archive_files SET verified_at = $2 WHERE day = $1"), params![day, conn.now()]).await?;
    Ok(())
}

/// Forgets the files that are not verified, from a day on.
pub async fn delete_unverified(conn: &mut Conn, from_day: i64) -> Result<u64, DbError> {
    conn.exec(sql!("DELETE FROM cdr_archive_files WHERE verified_at IS NULL AND day >= $1"), params![from_day]).await
}

/// Verified files after a day and part, oldest first.
pub async fn list_verified(conn: &mut Conn, (day, part): (i64, i64), limit: i64) -> Result<Vec<FileRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            FileRow::COLS,
            " FROM cdr_archive_files WHERE (day, part) > ($1, $2) AND verified_at IS NOT NULL
             ORDER BY day, part LIMIT $3"
        ),
        params![day, part, limit],
    )
    .await
}

/// Files before a day and part, newest first.
pub async fn list(conn: &mut Conn, (day, part): (i64, i64), limit: i64) -> Result<Vec<FileRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            FileRow::COLS,
            " FROM cdr_archive_files WHERE (day, part) < ($1, $2) ORDER BY day DESC, part DESC LIMIT $3"
        ),
        params![day, part, limit],
    )
    .await
}

/// The next file after a day and part, up to a day, that may have calls of the account.
pub async fn next_file(
    conn: &mut Conn,
    account: Option<AccountId>,
    (day, part): (i64, i64),
    last_day: i64,
) -> Result<Option<FileRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            FileRow::COLS,
            " FROM cdr_archive_files WHERE (day, part) > ($1, $2) AND day <= $3 AND verified_at IS NOT NULL
                 AND (EXISTS (SELECT 1 FROM cdr_days
                              WHERE cdr_days.account_id = $4 AND cdr_days.day = cdr_archive_files.day)
                      OR $4 IS NULL)
             ORDER BY day, part LIMIT 1"
        ),
        params![day, part, last_day, account],
    )
    .await
}

/// The first verified file up to a day with numbers in it.
pub async fn next_with_numbers(conn: &mut Conn, last_day: i64) -> Result<Option<FileRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            FileRow::COLS,
            " FROM cdr_archive_files WHERE has_numbers AND day <= $1 AND verified_at IS NOT NULL
             ORDER BY day, part LIMIT 1"
        ),
        params![last_day],
    )
    .await
}

/// Puts a file without numbers in the place of one; false if another node did.
pub async fn replace(conn: &mut Conn, old: &FileRow, new: &FileRow) -> Result<bool, DbError> {
    let replaced = conn
        .exec(
            sql!(
                "UPDATE cdr_archive_files SET content_hash = $4, size_bytes = $5, has_numbers = FALSE
                 WHERE day = $1 AND part = $2 AND content_hash = $3"
            ),
            params![old.day, old.part, old.content_hash, new.content_hash, new.size_bytes],
        )
        .await?;
    Ok(replaced > 0)
}

/// Whether the archive has this file.
pub async fn names_file(conn: &mut Conn, hash: &ContentHash) -> Result<bool, DbError> {
    let (named,) = conn
        .one(sql!("SELECT EXISTS (SELECT 1 FROM cdr_archive_files WHERE content_hash = $1)"), params![*hash])
        .await?;
    Ok(named)
}

/// When a day since 1970 begins.
pub const fn start_of(day: i64) -> Time {
    Time::from_millis(day * DAY_MILLIS)
}
