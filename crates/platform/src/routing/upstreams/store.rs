//! Statements for routing's view of upstreams.

use super::UpstreamHealth;
use crate::routing::tariff::UpstreamStatus;
use db::{Conn, DbError, params, row, sql};
use values::{Cidr, List, SipUri, Time, UpstreamId};

/// Far more than any operator has.
const MAX_UPSTREAMS: i64 = 10_000;

row! {
    #[derive(Clone, Debug)]
    pub struct Upstream {
        pub id: UpstreamId,
        pub status: UpstreamStatus,
        pub health: UpstreamHealth,
        /// The dispatcher group of its gateways on the switch.
        pub dispatcher_group_id: i64,
        pub gateways: List<SipUri>,
        pub signaling_ips: List<Cidr>,
    }
}

pub async fn upstreams(conn: &mut Conn) -> Result<Vec<Upstream>, DbError> {
    conn.all(sql!("SELECT ", Upstream::COLS, " FROM upstreams ORDER BY id LIMIT $1"), params![MAX_UPSTREAMS]).await
}

/// Sets the health of an upstream as of a time. Returns whether it changed.
pub async fn update_health(
    conn: &mut Conn,
    id: UpstreamId,
    health: UpstreamHealth,
    as_of: Time,
) -> Result<bool, DbError> {
    let changed = conn
        .exec(
            sql!(
                "UPDATE upstreams SET health = $2, health_at = $3
                 WHERE id = $1 AND health <> $2 AND (health_at IS NULL OR health_at < $3)"
            ),
            params![id, health, as_of],
        )
        .await?;
    Ok(changed > 0)
}
