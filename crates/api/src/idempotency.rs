//! Idempotency keys: the first response to a key is stored with its effect and replayed when the request is repeated.
//!
//! The row is written in the transaction of the effect, so neither exists without the other. A second request with the
//! same key waits for the first one's transaction and then finds its row. Bodies are encrypted: they may contain tokens.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, LOCATION};
use uuid::{Uuid, Version};

use super::answer::{Payload, Rendered};
use super::auth::Principal;
use super::problem::Problem;
use db::{Conn, Db, DbError, params, row, sql};
use platform::crypto::keys::{Keys, Purpose, Reseal};
use platform::crypto::resealed::{BATCH, Resealed};
use values::Time;

/// How long responses are stored.
pub const RETENTION: Duration = Duration::from_secs(24 * 3600);

/// An idempotency key of one caller for one method and path.
#[derive(Clone)]
pub struct Claim {
    owner: Uuid,
    method: String,
    path: String,
    key: Uuid,
    body_digest: [u8; 32],
}

pub enum Claimed {
    Fresh,
    Replay(Rendered),
}

row! {
    struct KeyRow {
        body_digest: Vec<u8>,
        status: Option<i64>,
        headers: Option<String>,
        body: Option<Vec<u8>>,
    }
}

/// The key in the header, with or without quotes; `None` without the header. Anything but a UUID v4 is an error.
pub fn key(headers: &HeaderMap) -> Result<Option<Uuid>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    let bare = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    let key = Uuid::try_parse(bare).ok().filter(|key| key.get_version() == Some(Version::Random));
    key.map(Some).ok_or_else(Problem::idempotency_key_required)
}

impl Claim {
    pub fn new(principal: &Principal, method: &str, path: &str, key: Uuid, body_digest: Option<[u8; 32]>) -> Claim {
        // The users of a customer share keys; team members do not.
        let owner = if principal.roles.is_team() { principal.user_id.uuid() } else { principal.account_id.uuid() };
        Claim {
            owner,
            method: method.to_owned(),
            path: path.to_owned(),
            key,
            body_digest: body_digest.unwrap_or([0; 32]),
        }
    }

    pub fn key(&self) -> Uuid {
        self.key
    }

    pub fn fingerprint(&self) -> RequestFingerprint {
        RequestFingerprint { key: self.key, body_digest: self.body_digest }
    }
}

/// A key and the digest of its body: identifies a request whose work spans several transactions, so that a retry after a
/// crash continues it.
#[derive(Clone, Debug)]
pub struct RequestFingerprint {
    pub key: Uuid,
    pub body_digest: [u8; 32],
}

impl RequestFingerprint {
    /// An error if the same key came with another body.
    pub fn check_same_body(&self, digest: &[u8]) -> Result<(), Problem> {
        if digest == self.body_digest { Ok(()) } else { Err(Problem::idempotency_conflict()) }
    }
}

/// Claims the key for this transaction, or finds its stored response.
pub async fn claim(conn: &mut Conn, keys: &Keys, claim: &Claim) -> Result<Claimed, Problem> {
    let now = conn.now();
    let inserted = conn
        .exec(
            sql!(
                "INSERT INTO idempotency_keys (owner, method, path, key, body_digest, created_at)
                 VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (owner, method, path, key) DO UPDATE SET
                     body_digest = excluded.body_digest, created_at = excluded.created_at,
                     status = NULL, headers = NULL, body = NULL
                 WHERE idempotency_keys.created_at <= $7"
            ),
            params![
                claim.owner,
                claim.method,
                claim.path,
                claim.key,
                claim.body_digest.as_slice(),
                now,
                now.minus(RETENTION)
            ],
        )
        .await
        .map_err(|error| match error {
            DbError::LockTimeout => Problem::idempotency_in_progress(),
            error => error.into(),
        })?;
    if inserted == 1 {
        return Ok(Claimed::Fresh);
    }
    match find(conn, keys, claim).await? {
        Some(rendered) => Ok(Claimed::Replay(rendered)),
        None => Err(Problem::idempotency_in_progress()),
    }
}

/// The stored response of a key, if there is one. Another body under the same key is a conflict.
pub async fn find(conn: &mut Conn, keys: &Keys, claim: &Claim) -> Result<Option<Rendered>, Problem> {
    let now = conn.now();
    let row: Option<KeyRow> = conn
        .opt(
            sql!(
                "SELECT body_digest, status, headers, body FROM idempotency_keys
                 WHERE owner = $1 AND method = $2 AND path = $3 AND key = $4 AND created_at > $5"
            ),
            params![claim.owner, claim.method, claim.path, claim.key, now.minus(RETENTION)],
        )
        .await?;
    let Some(row) = row else { return Ok(None) };
    if row.body_digest != claim.body_digest {
        return Err(Problem::idempotency_conflict());
    }
    let Some(status) = row.status else { return Err(Problem::idempotency_in_progress()) };
    let body = keys.open(Purpose::StoredResponse, &row.body.unwrap_or_default());
    let status = u16::try_from(status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let (Some(body), Some(status)) = (body, status) else {
        return Err(Problem::internal("a stored response cannot be read"));
    };
    Ok(Some(Rendered { status, headers: parse_headers(row.headers.as_deref()), payload: Payload::Whole(body.into()) }))
}

/// A response as it is stored.
pub struct StoredResponse {
    status: i64,
    headers: String,
    sealed_body: Vec<u8>,
}

impl StoredResponse {
    pub fn new(rendered: &Rendered, keys: &Keys) -> Result<StoredResponse, Problem> {
        let Payload::Whole(body) = &rendered.payload else {
            return Err(Problem::internal("a streamed response cannot be stored"));
        };
        Ok(StoredResponse {
            status: i64::from(rendered.status.as_u16()),
            headers: format_headers(&rendered.headers),
            sealed_body: keys.seal(Purpose::StoredResponse, body),
        })
    }
}

/// Stores the response of a claimed key, or inserts the row for a problem that is replayed to retries. False if the key has a
/// response.
pub async fn store(conn: &mut Conn, claim: &Claim, response: &StoredResponse) -> Result<bool, Problem> {
    let now = conn.now();
    let stored = conn
        .exec(
            sql!(
            "INSERT INTO idempotency_keys (owner, method, path, key, body_digest, created_at, status, headers, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT (owner, method, path, key) DO UPDATE SET
                 body_digest = excluded.body_digest, created_at = excluded.created_at,
                 status = excluded.status, headers = excluded.headers, body = excluded.body
             WHERE idempotency_keys.status IS NULL OR idempotency_keys.created_at <= $10"
        ),
            params![
                claim.owner,
                claim.method,
                claim.path,
                claim.key,
                claim.body_digest.as_slice(),
                now,
                response.status,
                response.headers,
                response.sealed_body,
                now.minus(RETENTION)
            ],
        )
        .await?;
    Ok(stored == 1)
}

/// Purges keys created before `cutoff`, oldest first.
pub async fn purge(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM idempotency_keys WHERE (owner, method, path, key) IN
                 (SELECT owner, method, path, key FROM idempotency_keys WHERE created_at <= $1 ORDER BY created_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}

row! {
    struct SealedBody {
        owner: Uuid,
        method: String,
        path: String,
        key: Uuid,
        body: Vec<u8>,
    }
}

/// Seals the stored responses with the current master secret.
pub async fn reseal(db: &Db, keys: &Keys) -> Result<Resealed, DbError> {
    let mut total = Resealed::default();
    let mut after = (Uuid::nil(), String::new(), String::new(), Uuid::nil());
    loop {
        let page: Vec<SealedBody> = db
            .read()
            .await?
            .all(
                sql!(
                    "SELECT ",
                    SealedBody::COLS,
                    " FROM idempotency_keys WHERE (owner, method, path, key) > ($1, $2, $3, $4) AND body IS NOT NULL
                     ORDER BY owner, method, path, key LIMIT $5"
                ),
                params![after.0, after.1, after.2, after.3, BATCH],
            )
            .await?;
        let Some(last) = page.last() else { return Ok(total) };
        after = (last.owner, last.method.clone(), last.path.clone(), last.key);
        for row in page {
            total.checked += 1;
            match keys.reseal(Purpose::StoredResponse, &row.body) {
                Reseal::Current => {}
                Reseal::Unreadable => total.unreadable += 1,
                Reseal::Resealed(new) => {
                    let replaced = db.tx((row, new), |conn, (row, new)| Box::pin(replace_body(conn, row, new))).await?;
                    total.resealed += replaced;
                }
            }
        }
    }
}

/// Unless the key has another response by now.
async fn replace_body(conn: &mut Conn, row: &SealedBody, new: &[u8]) -> Result<u64, DbError> {
    let sql = sql!(
        "UPDATE idempotency_keys SET body = $6
         WHERE owner = $1 AND method = $2 AND path = $3 AND key = $4 AND body = $5"
    );
    conn.exec(sql, params![row.owner, row.method, row.path, row.key, row.body, new]).await
}

/// Headers that are stored with the response.
const STORED_HEADERS: [hyper::header::HeaderName; 3] = [CONTENT_TYPE, LOCATION, ETAG];

fn format_headers(headers: &HeaderMap) -> String {
    let stored =
        STORED_HEADERS.iter().filter_map(|name| Some(format!("{name}: {}", headers.get(name)?.to_str().ok()?)));
    stored.collect::<Vec<_>>().join("\n")
}

fn parse_headers(text: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in text.unwrap_or_default().lines().filter_map(|line| line.split_once(": ")) {
        let known = STORED_HEADERS.iter().find(|known| known.as_str() == name);
        if let (Some(name), Ok(value)) = (known, HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
    headers
}
