//! Moves old rows of the audit log to files: JSON lines, verified before they leave the table.
//!
//! [`next_segment`] reads and verifies the oldest rows, the caller stores [`Segment::to_lines`] as a file, and
//! [`replace`] puts a signed checkpoint in their place. [`verify_file`] holds a file against its checkpoint.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::checkpoint::{self, Checkpoint};
use super::ring::Ring;
use super::verify::{Fault, Position, Walk, read_rows};
use super::{Actor, Outcome, Row};
use crate::crypto::keys::Keys;
use crate::outside::files::ContentHash;
use db::{Conn, DbError, params, sql};
use values::{AccountId, Time, UserId};

/// The oldest rows of the log, in order and verified.
pub struct Segment {
    rows: Vec<Row>,
    start: Position,
    end: Position,
}

/// A row as a line of JSON.
#[derive(Serialize, Deserialize)]
struct Line {
    seq: i64,
    id: Uuid,
    ts: i64,
    action: String,
    account_id: Option<Uuid>,
    user_id: Option<Uuid>,
    actor: Option<Actor>,
    ip: Option<String>,
    user_agent: Option<String>,
    outcome: Outcome,
    reason: Option<String>,
    meta: Option<String>,
    hash: String,
}

impl Line {
    fn of(row: &Row) -> Line {
        let row = row.clone();
        Line {
            seq: row.seq,
            id: row.id,
            ts: row.ts.millis(),
            action: row.action,
            account_id: row.account_id.map(|id| id.uuid()),
            user_id: row.user_id.map(|id| id.uuid()),
            actor: row.actor,
            ip: row.ip,
            user_agent: row.user_agent,
            outcome: row.outcome,
            reason: row.reason,
            meta: row.meta,
            hash: HEXLOWER.encode(&row.hash),
        }
    }

    fn into_row(self) -> Option<Row> {
        Some(Row {
            seq: self.seq,
            id: self.id,
            ts: Time::from_millis(self.ts),
            action: self.action,
            account_id: self.account_id.map(AccountId::from),
            user_id: self.user_id.map(UserId::from),
            actor: self.actor,
            ip: self.ip,
            user_agent: self.user_agent,
            outcome: self.outcome,
            reason: self.reason,
            meta: self.meta,
            hash: HEXLOWER.decode(self.hash.as_bytes()).ok()?,
        })
    }
}

impl Segment {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The content of the file.
    pub fn to_lines(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut lines = Vec::with_capacity(self.rows.len() * 400);
        for row in &self.rows {
            serde_json::to_writer(&mut lines, &Line::of(row))?;
            lines.push(b'\n');
        }
        Ok(lines)
    }
}

/// The oldest rows, up to this many or the first one that is not older than the cutoff. An error if the chain is broken
/// there: what cannot be verified must stay where it is.
pub async fn next_segment(
    conn: &mut Conn,
    keys: &Keys,
    cutoff: Time,
    max_rows: i64,
) -> Result<Result<Segment, Fault>, DbError> {
    let start = checkpoint::last(conn).await?.map(|last| last.end()).unwrap_or_default();
    let ring = Ring::load(conn, keys).await?;
    let mut walk = Walk::new(&ring, start.clone());
    let mut rows: Vec<Row> = Vec::new();
    let mut is_old = true;
    read_rows(conn, start.seq, max_rows, |row| {
        is_old &= row.ts < cutoff;
        if is_old {
            walk.step(&row);
            rows.push(row);
        }
        Ok(())
    })
    .await?;
    Ok(walk.finish().map(|end| Segment { rows, start, end }))
}

/// Deletes the rows of the segment, which a file has by now, and inserts their checkpoint. False if another node did.
pub async fn replace(conn: &mut Conn, keys: &Keys, segment: &Segment, file: ContentHash) -> Result<bool, DbError> {
    let current = checkpoint::last(conn).await?.map(|last| last.end()).unwrap_or_default();
    let Some(first) = segment.rows.first().filter(|_| current == segment.start) else { return Ok(false) };
    let count = i64::try_from(segment.rows.len()).map_err(DbError::other)?;
    let checkpoint = Checkpoint {
        last_seq: segment.end.seq,
        first_seq: first.seq,
        row_count: count,
        previous_hash: segment.start.hash.clone(),
        last_hash: segment.end.hash.clone(),
        content_hash: file,
        created_at: conn.now(),
        mac: Vec::new(),
    };
    // If another node is first, the unique key fails this transaction.
    conn.insert(&checkpoint.sign(keys)).await?;
    let sql = sql!("DELETE FROM audit_log WHERE seq >= $1 AND seq <= $2");
    let deleted = conn.exec(sql, params![first.seq, segment.end.seq]).await?;
    if deleted != count.cast_unsigned() {
        return Err(DbError::other("the audit log changed while it was archived"));
    }
    Ok(true)
}

/// Recomputes the chain of an archived file, and holds its end against the checkpoint.
pub fn verify_file(ring: &Ring, checkpoint: &Checkpoint, content: &[u8]) -> Result<(), Fault> {
    let broken = || Fault::Archive { first: checkpoint.first_seq, last: checkpoint.last_seq };
    let mut walk = Walk::new(ring, checkpoint.start());
    for line in content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let row = serde_json::from_slice::<Line>(line).ok().and_then(Line::into_row).ok_or_else(broken)?;
        walk.step(&row);
    }
    let end = walk.finish()?;
    if end == checkpoint.end() { Ok(()) } else { Err(broken()) }
}
