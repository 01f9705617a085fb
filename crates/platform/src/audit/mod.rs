//! The audit log: who did what, when, from where, and with what outcome. Rows are appended, never changed.
//!
//! Every row has an HMAC over the HMAC of the row before it and its own content, so an altered, inserted or removed row
//! breaks the chain. The head of the chain is a separate row, so truncation is found too. A row commits with its
//! action. Append it last: the head is locked until the commit.
//!
//! Old rows move to files ([`archive`]). A signed checkpoint takes their place, and the chain goes on from there.

pub mod archive;
mod checkpoint;
mod ring;
mod verify;

pub use checkpoint::{Checkpoint, list as list_checkpoints, names_file};
pub use ring::{Ring, retire_key};
pub use verify::{Fault, Verified, verify};

use std::net::IpAddr;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::crypto::keys::{Keys, Purpose};
use db::{Conn, DbError, params, row, row_values, sql};
use values::{AccountId, Time, UserId, text_enum};

text_enum! {
    /// Who acted: a customer, a team member, the service itself or a provider webhook.
    pub enum Actor {
        Customer = "customer",
        Admin = "admin",
        /// Jobs and schedules.
        System = "system",
        /// Provider webhooks.
        Webhook = "webhook",
    }
}

text_enum! {
    /// Whether the action succeeded.
    pub enum Outcome {
        Success = "success",
        Failure = "failure",
    }
}

/// Maximum length of a text from a request.
const MAX_TEXT_CHARS: usize = 300;

/// A row to be appended.
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
    /// Further details: short values, never secrets.
    pub meta: Map<String, Value>,
}

impl Entry {
    /// A success of the service itself, which nobody asked for by a request.
    pub fn by_system<V: Into<Value>>(
        action: &'static str,
        account_id: Option<AccountId>,
        meta: impl IntoIterator<Item = (&'static str, V)>,
    ) -> Entry {
        Entry {
            action,
            account_id,
            user_id: None,
            actor: Some(Actor::System),
            ip: None,
            user_agent: None,
            outcome: Outcome::Success,
            reason: None,
            meta: meta.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
        }
    }
}

row! {
    /// A stored row.
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
    /// What the HMAC of the row is over: the previous HMAC and its content, each part with its length.
    fn message(&self, previous: &[u8]) -> Vec<u8> {
        let mut message = Vec::with_capacity(512);
        let mut part = |bytes: Option<&[u8]>| match bytes {
            // An absent part must differ from an empty one.
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
        message
    }
}

/// Appends one row. Must be the last step of a transaction.
pub async fn append(conn: &mut Conn, keys: &Keys, entry: &Entry) -> Result<(), DbError> {
    let now = conn.now();
    // The update locks the head until the commit, so the next row builds on this one.
    let (seq, previous): (i64, Vec<u8>) =
        conn.one(sql!("UPDATE audit_head SET seq = seq + 1 WHERE id = 1 RETURNING seq, hash"), params![]).await?;
    let mut row = Row {
        seq,
        id: conn.new_id(),
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
    row.hash = keys.mac(Purpose::Audit, &row.message(&previous)).to_vec();
    // In one round trip: other transactions wait for the head.
    let insert =
        sql!("INSERT INTO audit_log (", Row::COLS, ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)");
    let inserted = params![
        row.seq,
        row.id,
        row.ts,
        row.action,
        row.account_id,
        row.user_id,
        row.actor,
        row.ip,
        row.user_agent,
        row.outcome,
        row.reason,
        row.meta,
        row.hash
    ];
    let move_head = sql!("UPDATE audit_head SET hash = $1 WHERE id = 1");
    conn.exec_all(&[(insert, inserted), (move_head, params![row.hash])]).await?;
    Ok(())
}

/// Appends rows of another chain, each with its own id and time. Must be the last step of a transaction.
pub async fn append_copies(conn: &mut Conn, keys: &Keys, rows: &[Row]) -> Result<(), DbError> {
    let count = i64::try_from(rows.len()).map_err(DbError::other)?;
    let sql = sql!("UPDATE audit_head SET seq = seq + $1 WHERE id = 1 RETURNING seq, hash");
    let (last, mut previous): (i64, Vec<u8>) = conn.one(sql, params![count]).await?;
    let mut chained = Vec::with_capacity(rows.len());
    for (seq, row) in (last - count + 1..).zip(rows) {
        let mut row = Row { seq, hash: Vec::new(), ..row.clone() };
        row.hash = keys.mac(Purpose::Audit, &row.message(&previous)).to_vec();
        previous.clone_from(&row.hash);
        chained.push(row);
    }
    conn.insert_many("audit_log", COLUMNS, &chained, |row| {
        row_values![
            row.seq,
            row.id,
            row.ts,
            row.action,
            row.account_id,
            row.user_id,
            row.actor,
            row.ip,
            row.user_agent,
            row.outcome,
            row.reason,
            row.meta,
            row.hash
        ]
    })
    .await?;
    conn.exec(sql!("UPDATE audit_head SET hash = $1 WHERE id = 1"), params![previous]).await?;
    Ok(())
}

/// The columns of a [`Row`].
const COLUMNS: [&str; Row::WIDTH] = [
    "seq",
    "id",
    "ts",
    "action",
    "account_id",
    "user_id",
    "actor",
    "ip",
    "user_agent",
    "outcome",
    "reason",
    "meta",
    "hash",
];

/// At most `limit` rows, oldest first.
pub async fn list(conn: &mut Conn, limit: i64) -> Result<Vec<Row>, DbError> {
    conn.all(sql!("SELECT ", Row::COLS, " FROM audit_log ORDER BY seq LIMIT $1"), params![limit]).await
}

/// The head of the chain. It is also logged once an hour, so that logs stored elsewhere can prove a truncation.
pub async fn head(conn: &mut Conn) -> Result<(i64, Vec<u8>), DbError> {
    conn.one(sql!("SELECT seq, hash FROM audit_head WHERE id = 1"), params![]).await
}

fn truncate(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_TEXT_CHARS).collect()
}
