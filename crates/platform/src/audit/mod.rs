//! The audit log: who did what, when, from where, and how it ended. Rows are added, never changed.
//!
//! Every row carries an HMAC over the row before it and its own content, so a row that is altered, inserted or removed
//! breaks the chain; the head of the chain is kept apart, so cutting rows off the end shows too. A row commits with the
//! action it tells of. The head is the last thing a transaction touches: transactions queue for it only while they commit.

mod verify;

pub use verify::{Fault, Verified, verify};

use std::net::IpAddr;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::crypto::keys::{Keys, Purpose};
use crate::entropy::Entropy;
use db::{Conn, DbError, params, row, sql};
use values::{AccountId, Time, UserId, text_enum};

text_enum! {
    /// Who acted.
    pub enum Actor {
        Customer = "customer",
        Admin = "admin",
        /// Schedules and automation.
        System = "system",
        /// Callbacks of outside providers.
        Webhook = "webhook",
    }
}

text_enum! {
    pub enum Outcome {
        Success = "success",
        Failure = "failure",
    }
}

/// The longest text taken over from outside into a row.
const MAX_TEXT_CHARS: usize = 300;

/// A row to be.
#[derive(Clone, Debug)]
pub struct Entry {
    pub action: &'static str,
    pub account_id: Option<AccountId>,
    pub user_id: Option<UserId>,
    pub actor: Option<Actor>,
    pub ip: Option<IpAddr>,
    pub user_agent: Option<String>,
    pub outcome: Outcome,
    pub reason: Option<String>,
    /// Short values, never secrets.
    pub meta: Map<String, Value>,
}

row! {
    /// A row as it is stored, in the order of the chain.
    #[derive(Clone, Debug)]
    pub struct Row {
        pub seq: i64,
        pub id: Uuid,
        pub ts: Time,
        pub action: String,
        pub account_id: Option<AccountId>,
        pub user_id: Option<UserId>,
        pub actor: Option<Actor>,
        pub ip: Option<String>,
        pub user_agent: Option<String>,
        pub outcome: Outcome,
        pub reason: Option<String>,
        pub meta: Option<String>,
        pub hash: Vec<u8>,
    }
}

impl Row {
    /// The row's link in the chain: its content, each part with its length, after the link before.
    fn link(&self, keys: &Keys, previous: &[u8]) -> [u8; 32] {
        let mut message = Vec::with_capacity(512);
        let mut part = |bytes: Option<&[u8]>| match bytes {
            // An absent part must not look like an empty one.
            None => message.push(0),
            Some(bytes) => {
                message.push(1);
                message.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
                message.extend_from_slice(bytes);
            }
        };
        part(Some(previous));
        part(Some(&self.seq.to_be_bytes()));
        part(Some(self.id.as_bytes()));
        part(Some(&self.ts.millis().to_be_bytes()));
        part(Some(self.action.as_bytes()));
        part(self.account_id.as_ref().map(|id| id.uuid().into_bytes()).as_ref().map(|bytes| bytes.as_slice()));
        part(self.user_id.as_ref().map(|id| id.uuid().into_bytes()).as_ref().map(|bytes| bytes.as_slice()));
        part(self.actor.map(|actor| actor.as_str().as_bytes()));
        part(self.ip.as_deref().map(str::as_bytes));
        part(self.user_agent.as_deref().map(str::as_bytes));
        part(Some(self.outcome.as_str().as_bytes()));
        part(self.reason.as_deref().map(str::as_bytes));
        part(self.meta.as_deref().map(str::as_bytes));
        keys.mac(Purpose::Audit, &message)
    }
}

/// Appends one row. The last step of a transaction.
pub async fn append(conn: &mut Conn, keys: &Keys, entropy: Entropy, now: Time, entry: &Entry) -> Result<(), DbError> {
    // The update locks the head until the commit: whoever comes next builds on this row.
    let (seq, previous): (i64, Vec<u8>) =
        conn.one(sql!("UPDATE audit_head SET seq = seq + 1 WHERE id = 1 RETURNING seq, hash"), params![]).await?;
    let mut row = Row {
        seq,
        id: entropy.uuid(now),
        ts: now,
        action: entry.action.to_owned(),
        account_id: entry.account_id,
        user_id: entry.user_id,
        actor: entry.actor,
        ip: entry.ip.map(|ip| ip.to_string()),
        user_agent: entry.user_agent.as_deref().map(truncate),
        outcome: entry.outcome,
        reason: entry.reason.as_deref().map(truncate),
        meta: (!entry.meta.is_empty()).then(|| Value::Object(entry.meta.clone()).to_string()),
        hash: Vec::new(),
    };
    row.hash = row.link(keys, &previous).to_vec();
    conn.exec(
        sql!(
            "INSERT INTO audit_log (seq, id, ts, action, account_id, user_id, actor, ip, user_agent, outcome, reason, meta, hash)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
        ),
        params![
            row.seq, row.id, row.ts, row.action, row.account_id, row.user_id, row.actor, row.ip, row.user_agent,
            row.outcome, row.reason, row.meta, row.hash
        ],
    )
    .await?;
    conn.exec(sql!("UPDATE audit_head SET hash = $1 WHERE id = 1"), params![row.hash]).await?;
    Ok(())
}

/// Where the chain stands; logged now and then, so that a log kept elsewhere can prove a truncation.
pub async fn head(conn: &mut Conn) -> Result<(i64, Vec<u8>), DbError> {
    conn.one(sql!("SELECT seq, hash FROM audit_head WHERE id = 1"), params![]).await
}

fn truncate(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_TEXT_CHARS).collect()
}
