//! Where calls come from: which trunk an address belongs to.
//!
//! No two networks overlap, whoever they belong to, so an address leads to one trunk or to none, and finding it takes
//! one search in a sorted list. Every node keeps that list in memory as a [`Cached`](crate::routing::cache::Cached).
//!
//! Whoever adds or removes networks calls [`bump_version`] first and [`overlap`] before adding one: changes wait for
//! each other, so none can add what another is about to.

mod store;

pub use store::{AllowListEntry, Network, overlap};

use std::net::IpAddr;
use std::sync::Arc;

use crate::routing::cache::{self, Versioned};
use db::{Conn, Db, DbError};
use values::{Time, address_sort_key};

/// The name under which changes are counted.
const NAME: &str = "addresses";

/// Counts a change, and makes others wait until ours is committed.
pub async fn bump_version(conn: &mut Conn, now: Time) -> Result<(), DbError> {
    cache::bump_version(conn, NAME, now).await?;
    Ok(())
}

/// Every network of every trunk.
pub struct Addresses {
    version: i64,
    /// In the order of their addresses.
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

    /// The network an address is in, with the trunk it belongs to.
    pub fn find(&self, address: IpAddr) -> Option<&Network> {
        let place = address_sort_key(address);
        let behind = self.networks.partition_point(|network| network.cidr.first() <= place);
        self.networks[..behind].last().filter(|network| network.cidr.last() >= place)
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

    /// Few addresses, close together, so that networks meet and searches hit.
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

    /// Those that overlap none before them, in order.
    fn apart(wanted: Vec<Cidr>) -> Addresses {
        let mut networks: Vec<Network> = Vec::new();
        for cidr in wanted {
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
        fn an_address_is_found_in_the_network_that_contains_it_and_in_no_other(
            wanted in proptest::collection::vec(any_network(), 0..40), address in any_address()
        ) {
            let addresses = apart(wanted);
            let expected = addresses.networks().iter().find(|network| network.cidr.contains(address));
            prop_assert_eq!(addresses.find(address).map(|found| found.cidr), expected.map(|found| found.cidr));
        }
    }

    #[test]
    fn an_address_in_the_guise_of_ipv6_is_the_address_itself() {
        let addresses = apart(vec!["1.2.3.0/28".parse().unwrap()]);
        assert!(addresses.find("::ffff:1.2.3.4".parse().unwrap()).is_some());
        assert!(addresses.find("::1.2.3.4".parse().unwrap()).is_none());
    }
}
