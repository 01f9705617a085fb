//! The `upstreams` table.

use uuid::Uuid;

use db::{Conn, DbError, insert, params, row, sql};
use platform::outside::files::ContentHash;
use platform::routing::tariff::{Terms, UpstreamStatus};
use platform::routing::upstreams::UpstreamHealth;
use values::{Cidr, Cron, Currency, List, Markup, SipUri, Text, Time, UpstreamId, WebUrl};

row! {
    #[derive(Clone, Debug)]
    pub struct UpstreamRow {
        pub id: UpstreamId,
        pub name: Text<1, 100>,
        pub status: UpstreamStatus,
        pub health: UpstreamHealth,
        pub dispatcher_group_id: i64,
        pub base_currency: Currency,
        pub markup: Markup,
        pub rate_import_url: Option<WebUrl>,
        pub rate_import_schedule: Option<Cron>,
        pub next_import_at: Option<Time>,
        pub pulled_hash: Option<ContentHash>,
        pub pulled_etag: Option<String>,
        pub gateways: List<SipUri>,
        pub signaling_ips: List<Cidr>,
        pub deck_id: Option<Uuid>,
        pub last_import_at: Option<Time>,
        pub created_at: Time,
        pub updated_at: Time,
    }
}

impl UpstreamRow {
    /// The terms that its rates are sold on.
    pub fn terms(&self) -> Terms {
        Terms {
            upstream_id: self.id,
            deck_id: self.deck_id,
            status: self.status,
            markup: self.markup,
            currency: self.base_currency,
        }
    }
}

pub async fn find(conn: &mut Conn, id: UpstreamId) -> Result<Option<UpstreamRow>, DbError> {
    conn.opt(sql!("SELECT ", UpstreamRow::COLS, " FROM upstreams WHERE id = $1"), params![id]).await
}

/// The upstream, locked until the commit.
pub async fn lock(conn: &mut Conn, id: UpstreamId) -> Result<Option<UpstreamRow>, DbError> {
    conn.opt(sql!("SELECT ", UpstreamRow::COLS, " FROM upstreams WHERE id = $1 /*pg FOR UPDATE */"), params![id]).await
}

/// Lists upstreams, newest first, after the cursor.
pub async fn list(
    conn: &mut Conn,
    status: Option<UpstreamStatus>,
    (at, id): (Time, UpstreamId),
    limit: i64,
) -> Result<Vec<UpstreamRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            UpstreamRow::COLS,
            " FROM upstreams WHERE (created_at, id) < ($1, $2) AND (CAST($3 AS TEXT) IS NULL OR status = $3)
             ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![at, id, status, limit],
    )
    .await
}

/// All upstreams.
pub async fn all(conn: &mut Conn, limit: i64) -> Result<Vec<UpstreamRow>, DbError> {
    conn.all(sql!("SELECT ", UpstreamRow::COLS, " FROM upstreams ORDER BY id LIMIT $1"), params![limit]).await
}

/// Inserts an upstream; false when another has its dispatcher group.
pub async fn insert(conn: &mut Conn, new: &UpstreamRow) -> Result<bool, DbError> {
    let inserted = insert!(
        conn,
        upstreams {
            id: new.id,
            name: new.name,
            status: new.status,
            health: new.health,
            dispatcher_group_id: new.dispatcher_group_id,
            base_currency: new.base_currency,
            markup: new.markup,
            rate_import_url: new.rate_import_url,
            rate_import_schedule: new.rate_import_schedule,
            next_import_at: new.next_import_at,
            pulled_hash: new.pulled_hash,
            pulled_etag: new.pulled_etag,
            gateways: new.gateways,
            signaling_ips: new.signaling_ips,
            deck_id: new.deck_id,
            last_import_at: new.last_import_at,
            created_at: new.created_at,
            updated_at: new.updated_at
        },
        "ON CONFLICT (dispatcher_group_id) DO NOTHING"
    )
    .await?;
    Ok(inserted == 1)
}

/// Stores the fields of an upstream that can change.
pub async fn save(conn: &mut Conn, upstream: &UpstreamRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE upstreams SET status = $2, markup = $3, rate_import_url = $4, rate_import_schedule = $5,
                 next_import_at = $6, pulled_hash = $7, pulled_etag = $8, gateways = $9, signaling_ips = $10,
                 deck_id = $11, last_import_at = $12, updated_at = $13
             WHERE id = $1"
        ),
        params![
            upstream.id,
            upstream.status,
            upstream.markup,
            upstream.rate_import_url,
            upstream.rate_import_schedule,
            upstream.next_import_at,
            upstream.pulled_hash,
            upstream.pulled_etag,
            upstream.gateways,
            upstream.signaling_ips,
            upstream.deck_id,
            upstream.last_import_at,
            conn.now()
        ],
    )
    .await?;
    Ok(())
}

/// Whether the upstream has decks, queued or running deck imports, statements, or inventory imports.
pub async fn is_in_use(conn: &mut Conn, id: UpstreamId) -> Result<bool, DbError> {
    let (count,): (i64,) = conn
        .one(
            sql!(
                "SELECT (SELECT COUNT(*) FROM decks WHERE upstream_id = $1) +
                        (SELECT COUNT(*) FROM deck_imports WHERE upstream_id = $1 AND status IN ('queued', 'running')) +
                        (SELECT COUNT(*) FROM upstream_statements WHERE upstream_id = $1) +
                        (SELECT COUNT(*) FROM number_imports WHERE upstream_id = $1)"
            ),
            params![id],
        )
        .await?;
    Ok(count > 0)
}

/// Deletes an unused upstream and its failed imports.
pub async fn delete(conn: &mut Conn, id: UpstreamId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM deck_imports WHERE upstream_id = $1"), params![id]).await?;
    conn.exec(sql!("DELETE FROM sheet_mappings WHERE upstream_id = $1"), params![id]).await?;
    conn.exec(sql!("DELETE FROM statement_mappings WHERE upstream_id = $1"), params![id]).await?;
    conn.exec(sql!("DELETE FROM hold_policies WHERE upstream_id = $1"), params![id]).await?;
    conn.exec(sql!("DELETE FROM deck_mail_policies WHERE upstream_id = $1"), params![id]).await?;
    conn.exec(sql!("UPDATE deck_mails SET upstream_id = NULL WHERE upstream_id = $1"), params![id]).await?;
    conn.exec(sql!("DELETE FROM upstreams WHERE id = $1"), params![id]).await?;
    Ok(())
}

/// Active upstreams whose scheduled pull is due.
pub async fn list_due(conn: &mut Conn, limit: i64) -> Result<Vec<UpstreamRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            UpstreamRow::COLS,
            " FROM upstreams WHERE next_import_at <= $1 AND status = 'active' ORDER BY next_import_at LIMIT $2"
        ),
        params![conn.now(), limit],
    )
    .await
}

/// Sets the health of an upstream as of a time, now at the latest: a switch whose clock is ahead must not keep what others
/// report from counting. A report that changes nothing makes older ones late too. Returns whether it changed.
pub async fn update_health(
    conn: &mut Conn,
    id: UpstreamId,
    health: UpstreamHealth,
    as_of: Time,
) -> Result<bool, DbError> {
    let as_of = as_of.min(conn.now());
    let before: Option<(UpstreamHealth,)> = conn
        .opt(
            sql!(
                "SELECT health FROM upstreams
                 WHERE id = $1 AND (health_at IS NULL OR health_at <= $2) /*pg FOR NO KEY UPDATE */"
            ),
            params![id, as_of],
        )
        .await?;
    let Some((before,)) = before else { return Ok(false) };
    let sql = sql!("UPDATE upstreams SET health = $2, health_at = $3 WHERE id = $1");
    conn.exec(sql, params![id, health, as_of]).await?;
    Ok(before != health)
}

/// Makes the health of an upstream unknown, as that of a new one.
pub async fn forget_health(conn: &mut Conn, id: UpstreamId) -> Result<(), DbError> {
    let sql = sql!("UPDATE upstreams SET health = $2, health_at = NULL WHERE id = $1");
    conn.exec(sql, params![id, UpstreamHealth::Unknown]).await?;
    Ok(())
}
