//! Upstreams as switches know them: where calls to each go, where calls from it come from, and whether it is up.
//!
//! Every node keeps this in memory as a [`Cached`](crate::routing::cache::Cached), beside what each upstream charges.

mod store;

pub use store::{Upstream, update_health};

use std::net::IpAddr;
use std::sync::Arc;

use crate::routing::cache::{self, Versioned};
use crate::routing::tariff::UpstreamStatus;
use db::{Conn, Db, DbError};
use values::{Time, UpstreamId, text_enum};

/// The name under which changes are counted.
const NAME: &str = "gateways";

text_enum! {
    /// How an upstream's gateways do, as the switch sees them.
    pub enum UpstreamHealth {
        Unknown = "unknown",
        Up = "up",
        Degraded = "degraded",
        Down = "down",
    }
}

/// Counts a change, and makes others wait until ours is committed.
pub async fn bump_version(conn: &mut Conn, now: Time) -> Result<(), DbError> {
    cache::bump_version(conn, NAME, now).await?;
    Ok(())
}

/// Every upstream.
pub struct Gateways {
    version: i64,
    /// In the order of their ids.
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
        let place = self.upstreams.binary_search_by_key(&id, |upstream| upstream.id).ok()?;
        self.upstreams.get(place)
    }

    /// The upstream whose calls come from an address. One that is disabled has none.
    pub fn find_by_source(&self, address: IpAddr) -> Option<&Upstream> {
        let calls = |upstream: &&Upstream| upstream.signaling_ips.0.iter().any(|cidr| cidr.contains(address));
        self.active().find(calls)
    }

    pub fn active(&self) -> impl Iterator<Item = &Upstream> {
        self.upstreams.iter().filter(|upstream| upstream.status == UpstreamStatus::Active)
    }

    pub fn is_down(&self, id: UpstreamId) -> bool {
        self.find(id).is_some_and(|upstream| upstream.health == UpstreamHealth::Down)
    }
}
