//! Tables `webhook_endpoints` and `webhook_deliveries`.

use super::types::{DeliveryStatus, DisabledReason, EventSelector, WebhookAttempt};
use db::{Conn, DbError, params, row, row_values, sql, table_row};
use identity::events::{EventId, EventType};
use values::{AccountId, List, Text, Time, WebUrl, Words, id};

id! {
    /// Id of a webhook endpoint.
    pub struct EndpointId;
}

id! {
    /// Id of a delivery.
    pub struct DeliveryId;
}

table_row! {
    #[derive(Clone, Debug)]
    pub struct EndpointRow in webhook_endpoints {
        pub id: EndpointId,
        pub account_id: AccountId,
        pub is_team: bool,
        pub url: WebUrl,
        pub description: Option<Text<0, 200>>,
        pub event_types: Words<EventSelector>,
        /// Whether `event_types` has `calls.ended`.
        pub wants_calls: bool,
        pub is_enabled: bool,
        pub disabled_reason: Option<DisabledReason>,
        pub secret: Vec<u8>,
        pub previous_secret: Option<Vec<u8>>,
        pub previous_until: Option<Time>,
        pub failing_since: Option<Time>,
        pub created_at: Time,
        pub updated_at: Time,
        pub deleted_at: Option<Time>,
    }
}

impl EndpointRow {
    /// Each type once, and the column that follows from them.
    pub fn sort_event_types(&mut self) {
        self.event_types.0.sort_unstable();
        self.event_types.0.dedup();
        self.wants_calls = self.selects(EventType::CallsEnded);
    }

    pub fn selects(&self, kind: EventType) -> bool {
        self.event_types.0.iter().any(|selector| selector.selects(kind))
    }
}

/// Whose endpoints: an account's, or the team's.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    pub account: AccountId,
    pub is_team: bool,
}

row! {
    #[derive(Clone, Debug)]
    pub struct DeliveryRow {
        pub id: DeliveryId,
        pub endpoint_id: EndpointId,
        pub event_id: EventId,
        pub event_type: EventType,
        pub status: DeliveryStatus,
        pub tries: i64,
        pub attempts: List<WebhookAttempt>,
        pub next_attempt_at: Option<Time>,
        pub created_at: Time,
    }
}

impl DeliveryRow {
    /// A delivery that is due at once.
    pub fn new(conn: &Conn, endpoint: EndpointId, event: EventId, event_type: EventType) -> DeliveryRow {
        DeliveryRow {
            id: conn.new_id(),
            endpoint_id: endpoint,
            event_id: event,
            event_type,
            status: DeliveryStatus::Pending,
            tries: 0,
            attempts: List(Vec::new()),
            next_attempt_at: Some(conn.now()),
            created_at: conn.now(),
        }
    }
}

pub async fn list(
    conn: &mut Conn,
    owner: Owner,
    (at, id): (Time, EndpointId),
    limit: i64,
) -> Result<Vec<EndpointRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            EndpointRow::COLS,
            " FROM webhook_endpoints WHERE is_team = $1 AND (account_id = $2 OR is_team) AND deleted_at IS NULL
               AND (created_at, id) < ($3, $4) ORDER BY created_at DESC, id DESC LIMIT $5"
        ),
        params![owner.is_team, owner.account, at, id, limit],
    )
    .await
}

pub async fn count(conn: &mut Conn, owner: Owner) -> Result<i64, DbError> {
    let (count,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM webhook_endpoints
                 WHERE is_team = $1 AND (account_id = $2 OR is_team) AND deleted_at IS NULL"
            ),
            params![owner.is_team, owner.account],
        )
        .await?;
    Ok(count)
}

pub async fn find(conn: &mut Conn, owner: Owner, id: EndpointId) -> Result<Option<EndpointRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            EndpointRow::COLS,
            " FROM webhook_endpoints WHERE id = $1 AND is_team = $2 AND (account_id = $3 OR is_team)
               AND deleted_at IS NULL"
        ),
        params![id, owner.is_team, owner.account],
    )
    .await
}

/// The same, locked until the commit.
pub async fn lock(conn: &mut Conn, owner: Owner, id: EndpointId) -> Result<Option<EndpointRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            EndpointRow::COLS,
            " FROM webhook_endpoints WHERE id = $1 AND is_team = $2 AND (account_id = $3 OR is_team)
               AND deleted_at IS NULL /*pg FOR UPDATE */"
        ),
        params![id, owner.is_team, owner.account],
    )
    .await
}

/// An endpoint that events are sent to.
pub async fn find_enabled(conn: &mut Conn, id: EndpointId) -> Result<Option<EndpointRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            EndpointRow::COLS,
            " FROM webhook_endpoints WHERE id = $1 AND is_enabled AND deleted_at IS NULL"
        ),
        params![id],
    )
    .await
}

/// The enabled endpoints of the team.
pub async fn enabled_of_team(conn: &mut Conn) -> Result<Vec<EndpointRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            EndpointRow::COLS,
            " FROM webhook_endpoints WHERE is_team AND is_enabled AND deleted_at IS NULL ORDER BY created_at, id LIMIT 100"
        ),
        params![],
    )
    .await
}

/// An event with an enabled endpoint of its account, and what the endpoint selects.
pub type Subscription = (EventId, EndpointId, Words<EventSelector>);

pub async fn subscriptions(conn: &mut Conn, after: i64, through: i64) -> Result<Vec<Subscription>, DbError> {
    conn.all(
        sql!(
            "SELECT e.id, w.id, w.event_types FROM events e JOIN webhook_endpoints w ON w.account_id = e.account_id
             WHERE e.position > $1 AND e.position <= $2 AND NOT w.is_team AND w.is_enabled AND w.deleted_at IS NULL
             ORDER BY e.position, w.id"
        ),
        params![after, through],
    )
    .await
}

/// Ends the failures of an endpoint, if there were any.
pub async fn end_failures(conn: &mut Conn, id: EndpointId) -> Result<(), DbError> {
    let sql = sql!("UPDATE webhook_endpoints SET failing_since = NULL WHERE id = $1 AND failing_since IS NOT NULL");
    conn.exec(sql, params![id]).await?;
    Ok(())
}

/// Notes a failure and returns since when there was no success.
pub async fn mark_failing(conn: &mut Conn, id: EndpointId) -> Result<Time, DbError> {
    let sql = sql!(
        "UPDATE webhook_endpoints SET failing_since = COALESCE(failing_since, $2) WHERE id = $1 RETURNING failing_since"
    );
    let (since,) = conn.one(sql, params![id, conn.now()]).await?;
    Ok(since)
}

/// Disables an endpoint with this URL; false if it was disabled, deleted or given another before.
pub async fn disable(conn: &mut Conn, id: EndpointId, url: &WebUrl, reason: DisabledReason) -> Result<bool, DbError> {
    let sql = sql!(
        "UPDATE webhook_endpoints SET is_enabled = FALSE, disabled_reason = $2, updated_at = $3
         WHERE id = $1 AND url = $4 AND is_enabled AND deleted_at IS NULL"
    );
    Ok(conn.exec(sql, params![id, reason, conn.now(), url.clone()]).await? == 1)
}

/// Deletes the endpoints of an account that were created until then.
pub async fn delete_created_until(conn: &mut Conn, account: AccountId, until: Time) -> Result<(), DbError> {
    let sql = sql!(
        "UPDATE webhook_endpoints SET deleted_at = $2, is_enabled = FALSE
         WHERE account_id = $1 AND created_at <= $3 AND deleted_at IS NULL"
    );
    conn.exec(sql, params![account, conn.now(), until]).await?;
    Ok(())
}

/// Deletes the endpoints of an account. They are purged with their deliveries.
pub async fn erase(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    let sql = sql!(
        "UPDATE webhook_endpoints SET deleted_at = $2, is_enabled = FALSE, description = NULL
         WHERE account_id = $1 AND deleted_at IS NULL"
    );
    conn.exec(sql, params![account, conn.now()]).await?;
    Ok(())
}

row! {
    /// The sealed secrets of an endpoint.
    #[derive(Clone)]
    pub struct SealedSecrets {
        pub id: EndpointId,
        pub secret: Vec<u8>,
        pub previous_secret: Option<Vec<u8>>,
    }
}

pub async fn list_secrets(conn: &mut Conn, after: EndpointId, limit: i64) -> Result<Vec<SealedSecrets>, DbError> {
    let sql = sql!("SELECT ", SealedSecrets::COLS, " FROM webhook_endpoints WHERE id > $1 ORDER BY id LIMIT $2");
    conn.all(sql, params![after, limit]).await
}

/// Replaces the sealed secrets, unless they were rotated meanwhile.
pub async fn replace_secrets(conn: &mut Conn, old: &SealedSecrets, new: &SealedSecrets) -> Result<u64, DbError> {
    conn.exec(
        sql!("UPDATE webhook_endpoints SET secret = $3, previous_secret = $4 WHERE id = $1 AND secret = $2"),
        params![old.id, old.secret, new.secret, new.previous_secret],
    )
    .await
}

const COLUMNS: [&str; DeliveryRow::WIDTH] =
    ["id", "endpoint_id", "event_id", "event_type", "status", "tries", "attempts", "next_attempt_at", "created_at"];

pub async fn insert_deliveries(conn: &mut Conn, deliveries: &[DeliveryRow]) -> Result<(), DbError> {
    if deliveries.is_empty() {
        return Ok(());
    }
    conn.insert_many("webhook_deliveries", COLUMNS, deliveries, |row| {
        row_values![
            row.id,
            row.endpoint_id,
            row.event_id,
            row.event_type,
            row.status,
            row.tries,
            row.attempts,
            row.next_attempt_at,
            row.created_at
        ]
    })
    .await?;
    Ok(())
}

/// Has these events delivered again, also those that never were; returns how many.
pub async fn replay(
    conn: &mut Conn,
    endpoint: EndpointId,
    events: &[(EventId, EventType)],
    only_failed: bool,
) -> Result<u64, DbError> {
    let now = conn.now();
    let mut deliveries = 0;
    for chunk in events.chunks(500) {
        let rows: Vec<DeliveryRow> =
            chunk.iter().map(|(event, kind)| DeliveryRow::new(conn, endpoint, *event, *kind)).collect();
        let again = sql!(
            "UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_attempt_at = $3
             WHERE endpoint_id = $1 AND event_id = $2 AND status = 'failed'"
        );
        let anew = sql!(
            "INSERT INTO webhook_deliveries (id, endpoint_id, event_id, event_type, status, tries, attempts,
                 next_attempt_at, created_at)
             VALUES ($1, $2, $3, $4, 'pending', 0, '[]', $5, $5)
             ON CONFLICT (endpoint_id, event_id) DO UPDATE SET status = 'pending', tries = 0, next_attempt_at = $5"
        );
        let values: Vec<Vec<db::Value<'_>>> = rows
            .iter()
            .map(|row| match only_failed {
                true => params![row.endpoint_id, row.event_id, now].to_vec(),
                false => params![row.id, row.endpoint_id, row.event_id, row.event_type, now].to_vec(),
            })
            .collect();
        let text = if only_failed { again } else { anew };
        let statements: Vec<(&'static str, &[db::Value<'_>])> =
            values.iter().map(|values| (text, values.as_slice())).collect();
        deliveries += conn.exec_all(&statements).await?.into_iter().sum::<u64>();
    }
    Ok(deliveries)
}

/// Events of failed deliveries of a period, the oldest first.
pub async fn failed_events(
    conn: &mut Conn,
    endpoint: EndpointId,
    (from, to): (Time, Time),
    limit: i64,
) -> Result<Vec<(EventId, EventType)>, DbError> {
    conn.all(
        sql!(
            "SELECT event_id, event_type FROM webhook_deliveries
             WHERE endpoint_id = $1 AND status = 'failed' AND created_at >= $2 AND created_at < $3
             ORDER BY created_at, id LIMIT $4"
        ),
        params![endpoint, from, to, limit],
    )
    .await
}

/// Deliveries of an endpoint before a cursor, newest first.
pub async fn list_deliveries(
    conn: &mut Conn,
    endpoint: EndpointId,
    status: Option<DeliveryStatus>,
    (at, id): (Time, DeliveryId),
    limit: i64,
) -> Result<Vec<DeliveryRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            DeliveryRow::COLS,
            " FROM webhook_deliveries WHERE endpoint_id = $1 AND (status = $2 OR $2 IS NULL)
               AND (created_at, id) < ($3, $4) ORDER BY created_at DESC, id DESC LIMIT $5"
        ),
        params![endpoint, status, at, id, limit],
    )
    .await
}

pub async fn find_delivery(
    conn: &mut Conn,
    endpoint: EndpointId,
    id: DeliveryId,
) -> Result<Option<DeliveryRow>, DbError> {
    let sql = sql!("SELECT ", DeliveryRow::COLS, " FROM webhook_deliveries WHERE id = $1 AND endpoint_id = $2");
    conn.opt(sql, params![id, endpoint]).await
}

/// A delivery, locked until the commit.
pub async fn lock_delivery(conn: &mut Conn, id: DeliveryId) -> Result<Option<DeliveryRow>, DbError> {
    let sql = sql!("SELECT ", DeliveryRow::COLS, " FROM webhook_deliveries WHERE id = $1 /*pg FOR UPDATE */");
    conn.opt(sql, params![id]).await
}

pub async fn update_delivery(conn: &mut Conn, delivery: &DeliveryRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE webhook_deliveries SET status = $2, tries = $3, attempts = $4, next_attempt_at = $5 WHERE id = $1"
        ),
        params![delivery.id, delivery.status, delivery.tries, delivery.attempts, delivery.next_attempt_at],
    )
    .await?;
    Ok(())
}

/// Deliveries that are due, those that have been due for longest first.
pub async fn due(conn: &mut Conn, endpoint: EndpointId, limit: i64) -> Result<Vec<DeliveryRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            DeliveryRow::COLS,
            " FROM webhook_deliveries WHERE endpoint_id = $1 AND next_attempt_at IS NOT NULL AND next_attempt_at <= $2
             ORDER BY next_attempt_at, id LIMIT $3"
        ),
        params![endpoint, conn.now(), limit],
    )
    .await
}

/// When the next delivery of an endpoint is due.
pub async fn next_due(conn: &mut Conn, endpoint: EndpointId) -> Result<Option<Time>, DbError> {
    let next: Option<(Time,)> = conn
        .opt(
            sql!(
                "SELECT next_attempt_at FROM webhook_deliveries WHERE endpoint_id = $1 AND next_attempt_at IS NOT NULL
                 ORDER BY next_attempt_at, id LIMIT 1"
            ),
            params![endpoint],
        )
        .await?;
    Ok(next.map(|(at,)| at))
}

/// Whether events wait for their positions.
pub async fn are_events_waiting(conn: &mut Conn) -> Result<bool, DbError> {
    let sql = sql!("SELECT id FROM events WHERE position IS NULL LIMIT 1");
    let found: Option<(EventId,)> = conn.opt(sql, params![]).await?;
    Ok(found.is_some())
}

/// Deletes up to `batch` deliveries created before `cutoff`.
pub async fn purge_deliveries(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM webhook_deliveries WHERE id IN
                 (SELECT id FROM webhook_deliveries WHERE created_at < $1 ORDER BY created_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}

/// Deletes up to `batch` endpoints that were deleted before `cutoff`; their deliveries are gone by then.
pub async fn purge_deleted(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM webhook_endpoints WHERE id IN
                 (SELECT id FROM webhook_endpoints w WHERE deleted_at IS NOT NULL AND deleted_at < $1
                    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = w.id)
                  ORDER BY deleted_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}
