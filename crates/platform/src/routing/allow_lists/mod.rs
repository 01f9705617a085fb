//! The allow-lists of all trunks: which trunk a source address belongs to.
//!
//! No two networks overlap, so an address belongs to one trunk at most, and a binary search finds it. Every node has
//! the sorted networks in a [`Cached`](crate::routing::cache::Cached).
//!
//! A transaction that adds or deletes networks calls [`bump_version`] first, which serializes such changes, and
//! [`overlap`] before it adds one.

mod store;

pub use store::{AllowListEntry, Network, overlap};

use std::net::IpAddr;
use std::sync::Arc;

use crate::routing::cache::{self, Versioned};
use db::{Conn, Db, DbError};
use values::address_sort_key;

/// The row in `versions`.
const NAME: &str = "addresses";

/// Increments the version and locks it until the commit.
pub async fn bump_version(conn: &mut Conn) -> Result<(), DbError> {
    cache::bump_version(conn, NAME).await?;
    Ok(())
}

/// Locks the version until the commit, so that no allow-list changes.
pub async fn lock_version(conn: &mut Conn) -> Result<(), DbError> {
    cache::lock(conn, NAME).await
}

/// The networks of all trunks.
pub struct Addresses {
    version: i64,
    /// Sorted by address.
    networks: Vec<Network>,
}

impl Versioned for Addresses {
    const NAME: &'static str = NAME;

    fn version(&self) -> i64 {
        self.version
    }

    async fn load(db: &Db, _: Option<Arc<Self>>) -> Result<Self, DbError> {
        db.snapshot((), |conn, ()| {
            Box::pin(async move {
                let version = cache::version(conn, NAME).await?;
                Ok(Addresses { version, networks: store::networks(conn).await? })
            })
        })
        .await
    }
}

impl Addresses {
    pub fn networks(&self) -> &[Network] {
        &self.networks
    }

    /// The network that contains an address.
    pub fn find(&self, address: IpAddr) -> Option<&Network> {
        let key = address_sort_key(address);
        let behind = self.networks.partition_point(|network| network.cidr.first() <= key);
        self.networks[..behind].last().filter(|network| network.cidr.last() >= key)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::net::{Ipv4Addr, Ipv6Addr};

    use ipnet::{IpNet, Ipv4Net, Ipv6Net};
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use values::{AccountId, Cidr, TrunkId};

    /// Few addresses, close together, so that networks overlap and searches hit.
    fn any_address() -> impl Strategy<Value = IpAddr> {
        let v4 = (0u32..512).prop_map(|low| IpAddr::V4(Ipv4Addr::from(0x0101_0000 + low)));
        let v6 = (0u128..512).prop_map(|low| IpAddr::V6(Ipv6Addr::from((0x2a00_u128 << 112) + (low << 76))));
        prop_oneof![v4, v6]
    }

    fn any_network() -> impl Strategy<Value = Cidr> {
        (any_address(), 0u8..9).prop_map(|(address, wider)| {
            let network = match address {
                IpAddr::V4(address) => IpNet::V4(Ipv4Net::new(address, 32 - wider).unwrap()),
                IpAddr::V6(address) => IpNet::V6(Ipv6Net::new(address, 56 - wider).unwrap()),
            };
            Cidr::new(network.trunc()).unwrap()
        })
    }

    /// The networks that overlap none before them, sorted.
    fn without_overlaps(candidates: Vec<Cidr>) -> Addresses {
        let mut networks: Vec<Network> = Vec::new();
        for cidr in candidates {
            if networks.iter().all(|known| known.cidr.last() < cidr.first() || cidr.last() < known.cidr.first()) {
                let (trunk_id, account_id) = (TrunkId::new(Uuid::max()), AccountId::new(Uuid::max()));
                networks.push(Network { cidr, trunk_id, account_id });
            }
        }
        networks.sort_by_key(|network| network.cidr.first());
        Addresses { version: 1, networks }
    }

    proptest! {
        #[test]
        fn an_address_is_found_in_the_network_that_contains_it(
            candidates in proptest::collection::vec(any_network(), 0..40), address in any_address()
        ) {
            let addresses = without_overlaps(candidates);
            let expected = addresses.networks().iter().find(|network| network.cidr.contains(address));
            prop_assert_eq!(addresses.find(address).map(|found| found.cidr), expected.map(|found| found.cidr));
        }
    }

    #[test]
    fn an_ipv4_mapped_address_is_found_as_ipv4() {
        let addresses = without_overlaps(vec!["1.2.3.0/28".parse().unwrap()]);
        assert!(addresses.find("::ffff:1.2.3.4".parse().unwrap()).is_some());
        assert!(addresses.find("::1.2.3.4".parse().unwrap()).is_none());
    }
}
