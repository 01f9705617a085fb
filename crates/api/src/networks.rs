//! How many connections one client network has open.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use ipnet::IpNet;
use platform::limits::network_of;

/// Connections by network: an IPv4 address or an IPv6 /64.
pub struct Networks {
    max: usize,
    /// Trusted proxies, which connect for everybody.
    exempt: Vec<IpNet>,
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// An open connection of a network, until it is dropped.
pub struct NetworkPermit {
    networks: Arc<Networks>,
    /// Absent for an exempt one.
    network: Option<IpAddr>,
}

impl Networks {
    pub fn new(max: usize, exempt: Vec<IpNet>) -> Arc<Networks> {
        Arc::new(Networks { max, exempt, open: Mutex::default() })
    }

    /// None if the network has all the connections it may have.
    pub fn admit(self: &Arc<Self>, client: IpAddr) -> Option<NetworkPermit> {
        let client = client.to_canonical();
        if self.exempt.iter().any(|network| network.contains(&client)) {
            return Some(NetworkPermit { networks: self.clone(), network: None });
        }
        let network = network_of(client);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(network).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        Some(NetworkPermit { networks: self.clone(), network: Some(network) })
    }
}

impl Drop for NetworkPermit {
    fn drop(&mut self) {
        let Some(network) = self.network else { return };
        let mut open = self.networks.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                open.remove(&network);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_only_so_many_connections_and_a_proxy_any_number() {
        let networks = Networks::new(2, vec!["192.0.2.0/24".parse().unwrap()]);
        let admit = |address: &str| networks.admit(address.parse().unwrap());
        let mut held = vec![admit("2001:db8::1").unwrap(), admit("2001:db8::2").unwrap()];
        assert!(admit("2001:db8::3").is_none());
        assert!(admit("2001:db8:0:1::3").is_some() && admit("203.0.113.7").is_some());
        held.pop();
        held.push(admit("2001:db8::3").unwrap());
        held.extend((0..5).filter_map(|_| admit("::ffff:192.0.2.9")));
        assert_eq!(held.len(), 7);
        drop(held);
        assert!(networks.open.lock().unwrap().is_empty());
    }
}
