//! Verifies the audit chain: recomputes every HMAC, from the last checkpoint on.

use crate::crypto::keys::Keys;
use db::{Conn, DbError, params, sql};

use super::ring::Ring;
use super::{Row, checkpoint, head};

/// What was verified.
#[derive(Debug, PartialEq, Eq)]
pub struct Verified {
    pub rows: u64,
    /// Rows before the last checkpoint, which are in files.
    pub archived: u64,
}

/// The first place where the chain breaks.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    /// Rows are missing before this one.
    Gap { after: i64, found: i64 },
    /// The row or the one before it was altered.
    Altered { seq: i64 },
    /// Rows are missing at the end.
    Truncated { last: i64, head: i64 },
    /// A checkpoint was altered, or one before it was removed.
    Checkpoint { last: i64 },
    /// A row that a checkpoint stands for is in the log.
    Archived { seq: i64 },
    /// A file is not what its checkpoint stands for.
    Archive { first: i64, last: i64 },
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Gap { after, found } => write!(f, "after row {after} comes row {found}: rows between were removed"),
            Fault::Altered { seq } => write!(f, "row {seq} does not follow from the row before it: it was altered"),
            Fault::Truncated { last, head } => {
                write!(
                    f,
                    "the log ends with row {last}, its head says {head}: rows were cut off or the head was changed"
                )
            }
            Fault::Checkpoint { last } => {
                write!(f, "the checkpoint at row {last} was altered, or one before it removed")
            }
            Fault::Archived { seq } => write!(f, "row {seq} is in the log, though a checkpoint stands for it"),
            Fault::Archive { first, last } => {
                write!(f, "the file of the rows {first} to {last} is missing or was altered")
            }
        }
    }
}

/// A place in the chain: a row and its hash. The default is the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) seq: i64,
    pub(super) hash: Vec<u8>,
}

/// Follows the chain row by row and keeps the first fault.
pub(super) struct Walk<'k> {
    ring: &'k Ring,
    last: Position,
    fault: Option<Fault>,
}

impl Walk<'_> {
    pub(super) fn new(ring: &Ring, from: Position) -> Walk<'_> {
        Walk { ring, last: from, fault: None }
    }

    pub(super) fn step(&mut self, row: &Row) {
        if self.fault.is_none() {
            if row.seq != self.last.seq + 1 {
                self.fault = Some(Fault::Gap { after: self.last.seq, found: row.seq });
            } else if !self.ring.signed(row.seq, &row.message(&self.last.hash), &row.hash) {
                self.fault = Some(Fault::Altered { seq: row.seq });
            }
        }
        self.last = Position { seq: row.seq, hash: row.hash.clone() };
    }

    /// Where the chain stands now, or its first fault.
    pub(super) fn finish(self) -> Result<Position, Fault> {
        self.fault.map_or(Ok(self.last), Err)
    }
}

/// Rows and checkpoints read by a statement.
const PAGE: i64 = 5000;

/// Reads up to `limit` rows after this one, in order.
pub(super) async fn read_rows(
    conn: &mut Conn,
    after: i64,
    limit: i64,
    visit: impl FnMut(Row) -> Result<(), DbError> + Send,
) -> Result<u64, DbError> {
    let sql = sql!("SELECT ", Row::COLS, " FROM audit_log WHERE seq > $1 ORDER BY seq LIMIT $2");
    conn.each(sql, params![after, limit], visit).await
}

/// Verifies the checkpoints and the log. Rows that are appended meanwhile are verified too.
pub async fn verify(conn: &mut Conn, keys: &Keys) -> Result<Result<Verified, Fault>, DbError> {
    let ring = Ring::load(conn, keys).await?;
    loop {
        let archived = match verify_checkpoints(conn, &ring).await? {
            Ok(end) => end,
            Err(fault) => return Ok(Err(fault)),
        };
        let verified = verify_rows(conn, &ring, archived.clone()).await?;
        // Meanwhile rows may have moved to a file.
        let now_archived = checkpoint::last(conn).await?.map(|last| last.end()).unwrap_or_default();
        if verified.is_ok() || now_archived == archived {
            return Ok(verified);
        }
    }
}

/// Follows the checkpoints to the last one.
async fn verify_checkpoints(conn: &mut Conn, ring: &Ring) -> Result<Result<Position, Fault>, DbError> {
    let mut end = Position::default();
    loop {
        let page = checkpoint::list(conn, end.seq, PAGE).await?;
        for checkpoint in &page {
            if checkpoint.start() != end || !checkpoint.is_signed(ring) {
                return Ok(Err(Fault::Checkpoint { last: checkpoint.last_seq }));
            }
            end = checkpoint.end();
        }
        if (page.len() as i64) < PAGE {
            return Ok(Ok(end));
        }
    }
}

async fn verify_rows(conn: &mut Conn, ring: &Ring, from: Position) -> Result<Result<Verified, Fault>, DbError> {
    let (head_seq, head_hash) = head(conn).await?;
    let head = Position { seq: head_seq, hash: head_hash };
    let stale: Option<(i64,)> =
        conn.opt(sql!("SELECT seq FROM audit_log WHERE seq <= $1 ORDER BY seq LIMIT 1"), params![from.seq]).await?;
    if let Some((seq,)) = stale {
        return Ok(Err(Fault::Archived { seq }));
    }
    let archived = from.seq;
    let mut reached_head = from == head;
    let mut walk = Walk::new(ring, from);
    loop {
        let walked = read_rows(conn, walk.last.seq, PAGE, |row| {
            walk.step(&row);
            reached_head |= walk.last == head;
            Ok(())
        })
        .await;
        if let Some(fault) = walk.fault {
            return Ok(Err(fault));
        }
        match walked {
            Ok(count) if count == PAGE.cast_unsigned() => {}
            Ok(_) => break,
            // A row that cannot be read was not written by the service.
            Err(DbError::Column { .. }) => return Ok(Err(Fault::Altered { seq: walk.last.seq + 1 })),
            Err(error) => return Err(error),
        }
    }
    let last = walk.last.seq;
    if !reached_head {
        return Ok(Err(Fault::Truncated { last, head: head.seq }));
    }
    Ok(Ok(Verified { rows: (last - archived).cast_unsigned(), archived: archived.cast_unsigned() }))
}
