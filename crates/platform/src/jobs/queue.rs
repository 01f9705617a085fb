//! The table of jobs: enqueue, claim, finish, and dead jobs.

use std::time::Duration;

use serde_json::Value as Json;
use uuid::Uuid;

use super::class::Class;
use db::{Conn, Result, insert, params, row, sql};
use values::Time;

/// How long a node may fail to renew a lease before another node may claim the job.
pub(super) const LEASE: Duration = Duration::from_secs(60);

/// Maximum length of a stored error.
const MAX_ERROR_CHARS: usize = 500;

/// The name of a kind of job, its maximum number of attempts and its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    pub max_attempts: u16,
    pub class: Class,
}

impl Kind {
    /// A kind of the class `bulk` with ten attempts.
    pub const fn new(name: &'static str) -> Kind {
        Kind { name, max_attempts: 10, class: Class::Bulk }
    }

    pub const fn attempts(self, max_attempts: u16) -> Kind {
        Kind { max_attempts, ..self }
    }

    pub const fn class(self, class: Class) -> Kind {
        Kind { class, ..self }
    }
}

/// Enqueues a job in this transaction, due at once, and returns its id. The commit wakes the job runner.
pub async fn enqueue(conn: &mut Conn, kind: Kind, payload: Json) -> Result<Uuid> {
    let now = conn.now();
    enqueue_at(conn, kind, payload, now).await
}

/// The same for a job that is due later.
pub async fn enqueue_at(conn: &mut Conn, kind: Kind, payload: Json, run_at: Time) -> Result<Uuid> {
    let (id, attempts, now) = (conn.new_id(), i64::from(kind.max_attempts), conn.now());
    insert!(
        conn,
        jobs {
            id,
            kind: kind.name,
            class: kind.class,
            payload: payload.to_string(),
            run_at,
            attempts: 0i64,
            max_attempts: attempts,
            lease_until: 0i64,
            created_at: now
        }
    )
    .await?;
    conn.wake_job_runner();
    Ok(id)
}

/// Enqueues a job that is due at once, unless a live one of this kind has the same key. A job that is found is locked
/// until the end of the transaction: it cannot end before it could see what this transaction changes, provided that it
/// looks for more work after [`JobContext::finish_in`](super::JobContext::finish_in).
pub async fn enqueue_once(conn: &mut Conn, kind: Kind, key: &str, payload: Json) -> Result<()> {
    let (id, attempts, now) = (conn.new_id::<Uuid>(), i64::from(kind.max_attempts), conn.now());
    insert!(
        conn,
        jobs {
            id,
            kind: kind.name,
            class: kind.class,
            unique_key: key,
            payload: payload.to_string(),
            run_at: now,
            attempts: 0i64,
            max_attempts: attempts,
            lease_until: 0i64,
            created_at: now
        },
        "ON CONFLICT (kind, unique_key) DO UPDATE SET run_at = jobs.run_at"
    )
    .await?;
    conn.wake_job_runner();
    Ok(())
}

/// The same for a job that is due at this time; a live one that is due later runs at this time instead.
pub async fn enqueue_once_by(conn: &mut Conn, kind: Kind, key: &str, payload: Json, run_at: Time) -> Result<()> {
    let (id, attempts, now) = (conn.new_id::<Uuid>(), i64::from(kind.max_attempts), conn.now());
    insert!(
        conn,
        jobs {
            id,
            kind: kind.name,
            class: kind.class,
            unique_key: key,
            payload: payload.to_string(),
            run_at,
            attempts: 0i64,
            max_attempts: attempts,
            lease_until: 0i64,
            created_at: now
        },
        "ON CONFLICT (kind, unique_key) DO UPDATE
             SET run_at = CASE WHEN excluded.run_at < jobs.run_at THEN excluded.run_at ELSE jobs.run_at END"
    )
    .await?;
    conn.wake_job_runner();
    Ok(())
}

row! {
    /// A job that this node has leased.
    #[derive(Clone, Debug)]
    pub struct Claimed {
        pub id: Uuid,
        pub kind: String,
        pub class: Class,
        pub payload: String,
        pub run_at: Time,
        /// Including this attempt.
        pub attempts: i64,
        pub max_attempts: i64,
        pub lease_token: Uuid,
    }
}

pub(super) struct Claim {
    pub(super) token: Uuid,
    pub(super) now: Time,
    /// How many jobs of each class.
    pub(super) limits: Vec<(Class, i64)>,
}

/// Leases the jobs of each class that have been due for longest. This counts as the attempt, even if the job crashes
/// its node.
pub(super) async fn claim(conn: &mut Conn, claim: &Claim) -> Result<Vec<Claimed>> {
    let mut jobs = Vec::new();
    for (class, limit) in &claim.limits {
        jobs.extend(claim_class(conn, claim, *class, *limit).await?);
    }
    Ok(jobs)
}

async fn claim_class(conn: &mut Conn, claim: &Claim, class: Class, limit: i64) -> Result<Vec<Claimed>> {
    let mut jobs: Vec<Claimed> = conn
        .all(
            sql!(
                // Materialized: if the subquery ran twice, it could lease more than the limit.
                "WITH due AS MATERIALIZED (
                     SELECT id FROM jobs WHERE class = $5 AND dead_at IS NULL AND run_at <= $1 AND lease_until <= $1
                     ORDER BY run_at, id LIMIT $4 /*pg FOR UPDATE SKIP LOCKED */)
                 UPDATE jobs SET lease_until = $2, lease_token = $3, attempts = attempts + 1
                 WHERE id IN (SELECT id FROM due)
                 RETURNING ",
                Claimed::COLS
            ),
            params![claim.now, claim.now.plus(LEASE), claim.token, limit, class],
        )
        .await?;
    jobs.sort_by_key(|job| (job.run_at, job.id));
    Ok(jobs)
}

pub(super) async fn is_due(conn: &mut Conn) -> Result<bool> {
    let now = conn.now();
    let due: Option<(Uuid,)> = conn
        .opt(
            sql!("SELECT id FROM jobs WHERE dead_at IS NULL AND run_at <= $1 AND lease_until <= $1 LIMIT 1"),
            params![now],
        )
        .await?;
    Ok(due.is_some())
}

impl Claimed {
    /// Deletes the finished job. False if it was finished before or another node has it by now.
    pub(super) async fn finish(&self, conn: &mut Conn) -> Result<bool> {
        let sql = sql!("DELETE FROM jobs WHERE id = $1 AND lease_token = $2");
        Ok(conn.exec(sql, params![self.id, self.lease_token]).await? == 1)
    }

    /// Renews the lease. False if it was lost.
    pub(super) async fn renew_lease(&self, conn: &mut Conn) -> Result<bool> {
        let sql = sql!("UPDATE jobs SET lease_until = $3 WHERE id = $1 AND lease_token = $2");
        Ok(conn.exec(sql, params![self.id, self.lease_token, conn.now().plus(LEASE)]).await? == 1)
    }

    pub(super) async fn retry_at(&self, conn: &mut Conn, run_at: Time, error: &str) -> Result<()> {
        let sql = sql!(
            "UPDATE jobs SET run_at = $3, lease_until = 0, lease_token = NULL, last_error = $4
             WHERE id = $1 AND lease_token = $2"
        );
        conn.exec(sql, params![self.id, self.lease_token, run_at, truncate_error(error)]).await?;
        Ok(())
    }

    pub(super) async fn mark_dead(&self, conn: &mut Conn, error: &str) -> Result<()> {
        let sql = sql!(
            "UPDATE jobs SET dead_at = $3, lease_until = 0, lease_token = NULL, unique_key = NULL, last_error = $4
             WHERE id = $1 AND lease_token = $2"
        );
        conn.exec(sql, params![self.id, self.lease_token, conn.now(), truncate_error(error)]).await?;
        Ok(())
    }
}

/// Cuts an error to its maximum length, without NUL, which PostgreSQL cannot store.
fn truncate_error(error: &str) -> String {
    error.chars().filter(|character| *character != '\0').take(MAX_ERROR_CHARS).collect()
}

row! {
    /// A job that failed too often or permanently.
    #[derive(Clone, Debug)]
    pub struct DeadJob {
        pub id: Uuid,
        pub kind: String,
        pub payload: String,
        pub attempts: i64,
        pub last_error: Option<String>,
        pub dead_at: Time,
        pub created_at: Time,
    }
}

/// Dead jobs, newest first; the next page begins after the `(dead_at, id)` of the last one.
pub async fn list_dead(conn: &mut Conn, after: Option<(Time, Uuid)>, limit: u16) -> Result<Vec<DeadJob>> {
    let (dead_at, id) = after.unwrap_or((Time::from_millis(i64::MAX), Uuid::max()));
    let sql = sql!(
        "SELECT ",
        DeadJob::COLS,
        " FROM jobs WHERE dead_at IS NOT NULL AND (dead_at, id) < ($1, $2)
         ORDER BY dead_at DESC, id DESC LIMIT $3"
    );
    conn.all(sql, params![dead_at, id, i64::from(limit)]).await
}

/// Enqueues a dead job again with all its attempts. False if no dead job has this id.
pub async fn rerun(conn: &mut Conn, id: Uuid) -> Result<bool> {
    let sql = sql!("UPDATE jobs SET dead_at = NULL, attempts = 0, run_at = $2 WHERE id = $1 AND dead_at IS NOT NULL");
    Ok(conn.exec(sql, params![id, conn.now()]).await? == 1)
}

/// The same for all dead jobs of a kind; returns how many there were.
pub async fn rerun_kind(conn: &mut Conn, kind: &str) -> Result<u64> {
    let sql = sql!("UPDATE jobs SET dead_at = NULL, attempts = 0, run_at = $2 WHERE kind = $1 AND dead_at IS NOT NULL");
    conn.exec(sql, params![kind, conn.now()]).await
}

/// Deletes at most `limit` jobs of a kind that died before `cutoff`, oldest first.
pub async fn purge_dead(conn: &mut Conn, kind: Kind, cutoff: Time, limit: i64) -> Result<u64> {
    let sql = sql!(
        "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE dead_at IS NOT NULL AND dead_at < $2 AND kind = $1
             ORDER BY dead_at, id LIMIT $3)"
    );
    conn.exec(sql, params![kind.name, cutoff, limit]).await
}

/// Id and payload of jobs of a kind after this id, dead ones too, in the order of their ids.
pub async fn list_payloads(conn: &mut Conn, kind: &str, after: Uuid, limit: i64) -> Result<Vec<(Uuid, String)>> {
    let sql = sql!("SELECT id, payload FROM jobs WHERE kind = $1 AND id > $2 ORDER BY id LIMIT $3");
    conn.all(sql, params![kind, after, limit]).await
}

/// Replaces the payload of a job if it still has the old one.
pub async fn replace_payload(conn: &mut Conn, id: Uuid, old: &str, new: &str) -> Result<bool> {
    let sql = sql!("UPDATE jobs SET payload = $3 WHERE id = $1 AND payload = $2");
    Ok(conn.exec(sql, params![id, old, new]).await? == 1)
}
