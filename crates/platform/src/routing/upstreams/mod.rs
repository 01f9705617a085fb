//! Upstreams as routing needs them: gateways, signalling IPs and health.
//!
//! Every node has them in a [`Cached`](crate::routing::cache::Cached); their rates are in the tariff.

mod store;

pub use store::{Upstream, upstreams as load};

use std::net::IpAddr;
use std::sync::Arc;

use crate::routing::cache::{self, Versioned};
use crate::routing::tariff::UpstreamStatus;
use db::{Conn, Db, DbError};
use values::{SipUri, UpstreamId, text_enum};

/// The row in `versions`.
const NAME: &str = "gateways";

text_enum! {
    /// Health of an upstream's gateways as the switches report it; calls are not routed to one that is `down`.
    pub enum UpstreamHealth {
        Unknown = "unknown",
        Up = "up",
        Degraded = "degraded",
        Down = "down",
    }
}

/// Increments the version and locks it until the commit. Call it in every transaction that changes upstreams.
pub async fn bump_version(conn: &mut Conn) -> Result<(), DbError> {
    cache::bump_version(conn, NAME).await?;
    Ok(())
}

/// Locks the version until the commit, so that no upstream changes. Whoever locks the allow-lists too locks them first.
pub async fn lock_version(conn: &mut Conn) -> Result<(), DbError> {
    cache::lock(conn, NAME).await
}

/// All upstreams.
pub struct Gateways {
    version: i64,
    /// Sorted by id.
    upstreams: Vec<Upstream>,
}

impl Versioned for Gateways {
    const NAME: &'static str = NAME;

    fn version(&self) -> i64 {
        self.version
    }

    async fn load(db: &Db, _: Option<Arc<Self>>) -> Result<Self, DbError> {
        db.snapshot((), |conn, ()| {
            Box::pin(async move {
                let version = cache::version(conn, NAME).await?;
                Ok(Gateways { version, upstreams: store::upstreams(conn).await? })
            })
        })
        .await
    }
}

impl Gateways {
    pub fn all(&self) -> &[Upstream] {
        &self.upstreams
    }

    pub fn find(&self, id: UpstreamId) -> Option<&Upstream> {
        let index = self.upstreams.binary_search_by_key(&id, |upstream| upstream.id).ok()?;
        self.upstreams.get(index)
    }

    /// The active upstream that has this signalling IP.
    pub fn find_by_source(&self, address: IpAddr) -> Option<&Upstream> {
        let has_address = |upstream: &&Upstream| upstream.signaling_ips.0.iter().any(|cidr| cidr.contains(address));
        self.active().find(has_address)
    }

    /// Whether an upstream, active or not, is at this address: it calls from there, or a gateway is there.
    pub fn is_upstream(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_gateway = |gateway: &SipUri| gateway.address().is_some_and(|known| known.to_canonical() == address);
        self.upstreams.iter().any(|upstream| {
            upstream.signaling_ips.0.iter().any(|cidr| cidr.contains(address))
                || upstream.gateways.0.iter().any(is_gateway)
        })
    }

    pub fn active(&self) -> impl Iterator<Item = &Upstream> {
        self.upstreams.iter().filter(|upstream| upstream.status == UpstreamStatus::Active)
    }

    pub fn is_down(&self, id: UpstreamId) -> bool {
        self.find(id).is_some_and(|upstream| upstream.health == UpstreamHealth::Down)
    }
}
