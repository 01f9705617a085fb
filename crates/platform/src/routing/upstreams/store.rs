//! Statements for routing's view of upstreams.

use super::UpstreamHealth;
use crate::routing::tariff::UpstreamStatus;
use db::{Conn, DbError, params, row, sql};
use values::{Cidr, List, SipUri, UpstreamId};

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

/// All upstreams, sorted by id.
pub async fn upstreams(conn: &mut Conn) -> Result<Vec<Upstream>, DbError> {
    conn.all(sql!("SELECT ", Upstream::COLS, " FROM upstreams ORDER BY id LIMIT $1"), params![MAX_UPSTREAMS]).await
}
