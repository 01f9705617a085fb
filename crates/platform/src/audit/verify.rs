//! Verifies the audit chain: recomputes every HMAC.

use crate::crypto::keys::Keys;
use db::{Conn, DbError, params, sql};

use super::{Row, head};

/// What was verified.
#[derive(Debug, PartialEq, Eq)]
pub struct Verified {
    pub rows: u64,
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
        }
    }
}

/// Rows read by a statement.
const PAGE: u64 = 5000;

/// Verifies the whole log. Rows that are appended meanwhile are verified too.
pub async fn verify(conn: &mut Conn, keys: &Keys) -> Result<Result<Verified, Fault>, DbError> {
    let (head_seq, head_hash) = head(conn).await?;
    let mut last: (i64, Vec<u8>) = (0, Vec::new());
    let mut reached_head = head_seq == 0 && head_hash.is_empty();
    loop {
        let mut fault = None;
        let from = last.0;
        let walked = conn
            .each(
                sql!(
                    "SELECT seq, id, ts, action, account_id, user_id, actor, ip, user_agent, outcome, reason, meta, hash
                     FROM audit_log WHERE seq > $1 ORDER BY seq LIMIT $2"
                ),
                params![from, PAGE.cast_signed()],
                |row: Row| {
                    if row.seq != last.0 + 1 {
                        fault = fault.take().or(Some(Fault::Gap { after: last.0, found: row.seq }));
                    } else if row.link(keys, &last.1) != *row.hash {
                        fault = fault.take().or(Some(Fault::Altered { seq: row.seq }));
                    }
                    reached_head |= row.seq == head_seq && row.hash == head_hash;
                    last = (row.seq, row.hash);
                    Ok(())
                },
            )
            .await;
        if let Some(fault) = fault {
            return Ok(Err(fault));
        }
        match walked {
            Ok(PAGE) => {}
            Ok(_) => break,
            // A row that cannot be read was not written by the service.
            Err(DbError::Column { .. }) => return Ok(Err(Fault::Altered { seq: last.0 + 1 })),
            Err(error) => return Err(error),
        }
    }
    if !reached_head {
        return Ok(Err(Fault::Truncated { last: last.0, head: head_seq }));
    }
    Ok(Ok(Verified { rows: last.0.cast_unsigned() }))
}
