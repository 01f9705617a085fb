//! The allow-lists of all trunks: which trunk a source address belongs to.
//!
//! Customers may list the same network. A verified one counts before others, else the first that was listed; where
//! proof is required, only verified ones count. So an address belongs to one trunk at most, and a binary search finds
//! it. Every node has the sorted networks in a [`Cached`](crate::routing::cache::Cached).
//!
//! A transaction that adds, verifies or deletes networks calls [`bump_version`] first, which serializes such changes,
//! and looks for overlaps before it adds or verifies one.

mod store;

pub use store::{AllowListEntry, Network, overlap_of, overlaps, verified_overlap};

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
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
    /// Networks that count where proof is required. Sorted by address, like all.
    verified: Vec<Network>,
    /// Networks that count where it is not.
    listed: Vec<Network>,
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
                Ok(Addresses::new(version, &store::networks(conn).await?))
            })
        })
        .await
    }
}

impl Addresses {
    /// Those of networks in the order in which they count.
    fn new(version: i64, networks: &[Network]) -> Addresses {
        let is_verified = |network: &&Network| network.verified_at.is_some();
        Addresses {
            version,
            verified: without_overlaps(networks.iter().filter(is_verified)),
            listed: without_overlaps(networks.iter()),
        }
    }

    /// The networks that count, where proof is required or not.
    pub fn networks(&self, is_proof_required: bool) -> &[Network] {
        if is_proof_required { &self.verified } else { &self.listed }
    }

    /// The network that contains an address.
    pub fn find(&self, address: IpAddr, is_proof_required: bool) -> Option<&Network> {
        let (key, networks) = (address_sort_key(address), self.networks(is_proof_required));
        let behind = networks.partition_point(|network| network.cidr.first() <= key);
        networks[..behind].last().filter(|network| network.cidr.last() >= key)
    }
}

/// The networks that overlap none before them, sorted by address.
fn without_overlaps<'n>(networks: impl Iterator<Item = &'n Network>) -> Vec<Network> {
    let mut kept: BTreeMap<Ipv6Addr, &Network> = BTreeMap::new();
    for network in networks {
        // Those that are kept do not overlap, so the one that begins last also ends last.
        let nearest = kept.range(..=network.cidr.last()).next_back();
        if nearest.is_none_or(|(_, known)| known.cidr.last() < network.cidr.first()) {
            kept.insert(network.cidr.first(), network);
        }
    }
    kept.into_values().cloned().collect()
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

    /// Networks in the order in which they count; those with an odd position after all verified ones.
    fn addresses(candidates: Vec<Cidr>) -> (Addresses, Vec<Network>) {
        let (trunk_id, account_id) = (TrunkId::new(Uuid::max()), AccountId::new(Uuid::max()));
        let networks = candidates.into_iter().enumerate().map(|(position, cidr)| {
            let verified_at = (position % 2 == 0).then_some(values::Time::EPOCH);
            Network { cidr, trunk_id, account_id, verified_at }
        });
        let (mut networks, others): (Vec<_>, Vec<_>) = networks.partition(|network| network.verified_at.is_some());
        networks.extend(others);
        (Addresses::new(1, &networks), networks)
    }

    proptest! {
        #[test]
        fn an_address_is_found_in_the_network_that_contains_it(
            candidates in proptest::collection::vec(any_network(), 0..40), address in any_address()
        ) {
            let (addresses, networks) = addresses(candidates);
            for is_proof_required in [true, false] {
                let counting = || networks.iter().filter(|network| !is_proof_required || network.verified_at.is_some());
                let mut kept: Vec<&Network> = Vec::new();
                for network in counting() {
                    if kept.iter().all(|known| !known.cidr.overlaps(network.cidr)) {
                        kept.push(network);
                    }
                }
                let expected = kept.into_iter().find(|network| network.cidr.contains(address));
                let found = addresses.find(address, is_proof_required);
                prop_assert_eq!(found.map(|found| found.cidr), expected.map(|found| found.cidr));
            }
        }
    }

    #[test]
    fn an_ipv4_mapped_address_is_found_as_ipv4() {
        let (addresses, _) = addresses(vec!["1.2.3.0/28".parse().unwrap()]);
        assert!(addresses.find("::ffff:1.2.3.4".parse().unwrap(), true).is_some());
        assert!(addresses.find("::1.2.3.4".parse().unwrap(), true).is_none());
    }
}
