//! Checkpoints: each stands for the rows of the audit log that a file has.
//!
//! It is signed with the audit key. Checkpoints follow each other without a gap, and the first row of the log follows
//! the last of them.

use super::ring::Ring;
use super::verify::Position;
use crate::crypto::keys::{Keys, Purpose};
use crate::outside::files::ContentHash;
use db::{Conn, DbError, params, sql, table_row};
use values::Time;

table_row! {
    #[derive(Clone, Debug)]
    pub struct Checkpoint in audit_checkpoints {
        pub last_seq: i64,
        pub first_seq: i64,
        pub row_count: i64,
        /// The hash of the row before the first one.
        pub previous_hash: Vec<u8>,
        pub last_hash: Vec<u8>,
        /// The file.
        pub content_hash: ContentHash,
        pub created_at: Time,
        pub mac: Vec<u8>,
    }
}

impl Checkpoint {
    /// What is signed. It cannot be taken for a row of the log, whose message begins with another byte.
    fn message(&self) -> Vec<u8> {
        let mut message = b"checkpoint".to_vec();
        for number in [self.first_seq, self.last_seq, self.row_count, self.created_at.millis()] {
            message.extend_from_slice(&number.to_be_bytes());
        }
        for bytes in [&self.previous_hash[..], &self.last_hash, self.content_hash.bytes()] {
            message.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
            message.extend_from_slice(bytes);
        }
        message
    }

    pub(super) fn sign(mut self, keys: &Keys) -> Checkpoint {
        self.mac = keys.mac(Purpose::Audit, &self.message()).to_vec();
        self
    }

    pub(super) fn is_signed(&self, ring: &Ring) -> bool {
        ring.signed(self.last_seq, &self.message(), &self.mac)
    }

    /// Where the chain stands before its first row.
    pub(super) fn start(&self) -> Position {
        Position { seq: self.first_seq - 1, hash: self.previous_hash.clone() }
    }

    /// Where the chain stands after its last row.
    pub(super) fn end(&self) -> Position {
        Position { seq: self.last_seq, hash: self.last_hash.clone() }
    }
}

/// The last checkpoint, if there is one.
pub(super) async fn last(conn: &mut Conn) -> Result<Option<Checkpoint>, DbError> {
    conn.opt(sql!("SELECT ", Checkpoint::COLS, " FROM audit_checkpoints ORDER BY last_seq DESC LIMIT 1"), params![])
        .await
}

/// Up to `limit` checkpoints after this row, oldest first.
pub async fn list(conn: &mut Conn, after_seq: i64, limit: i64) -> Result<Vec<Checkpoint>, DbError> {
    let sql =
        sql!("SELECT ", Checkpoint::COLS, " FROM audit_checkpoints WHERE last_seq > $1 ORDER BY last_seq LIMIT $2");
    conn.all(sql, params![after_seq, limit]).await
}

/// Whether a checkpoint stands for the rows in this file.
pub async fn names_file(conn: &mut Conn, hash: &ContentHash) -> Result<bool, DbError> {
    let sql = sql!("SELECT EXISTS (SELECT 1 FROM audit_checkpoints WHERE content_hash = $1)");
    let (named,) = conn.one(sql, params![*hash]).await?;
    Ok(named)
}
