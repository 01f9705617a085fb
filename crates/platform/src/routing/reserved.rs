//! Reserved addresses: those of the edges and of the upstreams, which trust the edges.
//!
//! A customer may neither claim one as the source of its calls nor have calls to its numbers sent there: upstreams
//! carry what comes from an edge, at the operator's cost. Host names are compared by name and by the addresses that
//! they have now.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::join_all;

use super::upstreams::Upstream;
use crate::config::Settings;
use crate::outside::hosts::Hosts;
use values::{Cidr, SipUri, Time, UpstreamId};

/// Whose address is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    Edge,
    Upstream(UpstreamId),
}

/// The addresses of host names, as far as they are known.
pub type Resolved = BTreeMap<String, Arc<[IpAddr]>>;

/// The reserved networks and names.
#[derive(Clone, Debug)]
pub struct Reserved {
    networks: Vec<(Cidr, Holder)>,
    names: BTreeSet<String>,
}

impl Reserved {
    /// Those of the settings and of these upstreams, active or not.
    pub fn new(settings: &Settings, upstreams: &[Upstream], resolved: &Resolved) -> Reserved {
        let mut reserved = Reserved {
            networks: settings.edge_ips.iter().map(|cidr| (*cidr, Holder::Edge)).collect(),
            names: BTreeSet::new(),
        };
        for host in edge_hosts(settings) {
            reserved.add_host(&host, Holder::Edge, resolved);
        }
        for upstream in upstreams {
            let holder = Holder::Upstream(upstream.id);
            reserved.networks.extend(upstream.signaling_ips.0.iter().map(|cidr| (*cidr, holder)));
            for gateway in &upstream.gateways.0 {
                reserved.add_host(gateway.host(), holder, resolved);
            }
        }
        reserved
    }

    fn add_host(&mut self, host: &str, holder: Holder, resolved: &Resolved) {
        let addresses: &[IpAddr] = match host.parse() {
            Ok(address) => &[address],
            Err(_) => {
                self.names.insert(host.to_owned());
                resolved.get(host).map_or(&[], |addresses| addresses)
            }
        };
        let networks = addresses.iter().filter_map(|address| Cidr::new(address.to_canonical().into()));
        self.networks.extend(networks.map(|cidr| (cidr, holder)));
    }

    pub fn has_address(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|(cidr, _)| cidr.contains(address))
    }

    /// Whether the host of a URI is reserved, by its name or its address.
    pub fn has_host(&self, uri: &SipUri) -> bool {
        match uri.address() {
            Some(address) => self.has_address(address),
            None => self.names.contains(uri.host()),
        }
    }

    /// The holder of a reserved network that overlaps this one.
    pub fn overlap(&self, cidr: Cidr) -> Option<Holder> {
        let mut overlapping = self.networks.iter().filter(|(known, _)| known.overlaps(cidr));
        overlapping.next().map(|(_, holder)| *holder)
    }

    /// The reserved networks of an upstream.
    pub fn networks_of(&self, upstream: UpstreamId) -> impl Iterator<Item = Cidr> {
        let is_of = move |holder: &Holder| *holder == Holder::Upstream(upstream);
        self.networks.iter().filter(move |(_, holder)| is_of(holder)).map(|(cidr, _)| *cidr)
    }
}

/// Resolves the host names of edges and upstreams. One that cannot be resolved is left out: nothing is sent there
/// either.
pub async fn resolve(settings: &Settings, hosts: &Hosts, upstreams: &[Upstream], now: Time) -> Resolved {
    let gateways = upstreams.iter().flat_map(|upstream| &upstream.gateways.0);
    resolve_names(hosts, edge_hosts(settings).chain(gateways.map(|uri| uri.host().to_owned())), now).await
}

/// Resolves the host names of gateways.
pub async fn resolve_hosts(hosts: &Hosts, gateways: &[SipUri], now: Time) -> Resolved {
    resolve_names(hosts, gateways.iter().map(|uri| uri.host().to_owned()), now).await
}

async fn resolve_names(hosts: &Hosts, names: impl Iterator<Item = String>, now: Time) -> Resolved {
    let names: BTreeSet<String> = names.filter(|name| name.parse::<IpAddr>().is_err()).collect();
    let names = names.into_iter();
    let lookups = names.map(async |name| {
        let found = hosts.resolve(&name, now).await.ok()?;
        Some((name, found))
    });
    join_all(lookups).await.into_iter().flatten().collect()
}

/// The hosts that customers send calls to.
fn edge_hosts(settings: &Settings) -> impl Iterator<Item = String> {
    let uris = settings.zones.iter().filter_map(|zone| format!("sip:{}", zone.sip_address.as_ref()?).parse().ok());
    uris.map(|uri: SipUri| uri.host().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use uuid::Uuid;

    use super::*;
    use crate::routing::tariff::UpstreamStatus;
    use crate::routing::upstreams::UpstreamHealth;
    use values::List;

    fn settings() -> Settings {
        let zones = "eu=sip.operator.example:5061,us=192.0.2.1";
        let names = [("TRUNKLINE_ZONES", zones), ("TRUNKLINE_EDGE_IPS", "192.0.2.16/28, 2001:db8::1")];
        let names = names.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Settings::from_names(names, BTreeMap::new()).unwrap()
    }

    fn upstream() -> Upstream {
        Upstream {
            id: UpstreamId::new(Uuid::max()),
            status: UpstreamStatus::Disabled,
            health: UpstreamHealth::Up,
            dispatcher_group_id: 1,
            gateways: List(vec!["sip:gw.carrier.example".parse().unwrap(), "sip:198.51.100.7:5070".parse().unwrap()]),
            signaling_ips: List(vec!["198.51.100.64/26".parse().unwrap()]),
        }
    }

    #[test]
    fn addresses_of_edges_and_upstreams_are_reserved() {
        let resolved = Resolved::from([("gw.carrier.example".to_owned(), ["203.0.113.5".parse().unwrap()].into())]);
        let reserved = Reserved::new(&settings(), &[upstream()], &resolved);
        for uri in [
            "sip:sip.operator.example",
            "sip:192.0.2.1:5070",
            "sip:x@192.0.2.20",
            "sip:[2001:db8::1]",
            "sip:GW.carrier.example;transport=tcp",
            "sip:198.51.100.7",
            "sip:198.51.100.127",
            "sip:203.0.113.5",
            "sip:[::ffff:203.0.113.5]",
        ] {
            assert!(reserved.has_host(&uri.parse().unwrap()), "{uri}");
        }
        for uri in ["sip:pbx.example", "sip:192.0.2.2", "sip:198.51.100.8", "sip:203.0.113.6"] {
            assert!(!reserved.has_host(&uri.parse().unwrap()), "{uri}");
        }
        let upstream = Some(Holder::Upstream(upstream().id));
        for (cidr, holder) in [
            ("198.51.100.0/24", upstream),
            ("198.51.100.65", upstream),
            ("203.0.113.0/29", upstream),
            ("192.0.2.0/28", Some(Holder::Edge)),
            ("192.0.2.128/25", None),
        ] {
            assert_eq!(reserved.overlap(cidr.parse().unwrap()), holder, "{cidr}");
        }
    }
}
