//! IP networks, such as the entries of an allow-list.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;

use super::Invalid;
use super::text_form::{TextForm, impl_serde_as_text, impl_stored_as_text};

/// An IP address or network in canonical form: no host bits set, and not the whole internet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cidr(IpNet);

impl Cidr {
    /// `None` if the network has host bits set, is a /0, or is an IPv4-mapped IPv6 network.
    pub fn new(network: IpNet) -> Option<Cidr> {
        let is_mapped = matches!(network.addr(), IpAddr::V6(address) if address.to_ipv4_mapped().is_some());
        (network.trunc() == network && network.prefix_len() > 0 && !is_mapped).then_some(Cidr(network))
    }

    /// Its lowest address as a sort key, see [`address_sort_key`].
    pub fn first(self) -> Ipv6Addr {
        address_sort_key(self.0.network())
    }

    /// Its highest address as a sort key.
    pub fn last(self) -> Ipv6Addr {
        address_sort_key(self.0.broadcast())
    }

    pub fn network(self) -> IpNet {
        self.0
    }

    pub fn overlaps(self, other: Cidr) -> bool {
        self.first() <= other.last() && other.first() <= self.last()
    }

    pub fn contains(self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl TextForm for Cidr {
    const DESCRIPTION: &'static str = "IP address or network in CIDR notation, IPv4 or IPv6.";
    const FORMAT: &'static str = "cidr";
    const REASON: &'static str = "must be an IP address or network such as 192.0.2.0/28, without host bits";
    const PATTERN: &'static str = "^[0-9A-Fa-f.:]{2,45}(/[0-9]{1,3})?$";
    const EXAMPLE: &'static str = "192.0.2.0/28";
}

impl FromStr for Cidr {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let network = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
        network.and_then(Cidr::new).ok_or_else(Self::invalid)
    }
}

/// Sorts IPv4 and IPv6 addresses together: an IPv4 address becomes ::ffff:a.b.c.d.
pub fn address_sort_key(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl_serde_as_text!(Cidr);
impl_stored_as_text!(Cidr);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_address_is_read_as_a_single_address_network() {
        assert_eq!("192.0.2.7".parse::<Cidr>().unwrap().to_string(), "192.0.2.7/32");
        assert_eq!("2001:db8::/48".parse::<Cidr>().unwrap().to_string(), "2001:db8::/48");
        let network: Cidr = "192.0.2.0/28".parse().unwrap();
        assert!(network.contains("::ffff:192.0.2.15".parse().unwrap()));
        assert!(!network.contains("192.0.2.16".parse().unwrap()));
    }

    #[test]
    fn a_network_reaches_from_its_first_to_its_last_address() {
        let network: Cidr = "192.0.2.16/28".parse().unwrap();
        let reach = [network.first(), network.last()].map(|address| address.to_string());
        assert_eq!(reach, ["::ffff:192.0.2.16", "::ffff:192.0.2.31"]);
        let network: Cidr = "2001:db8:1::/48".parse().unwrap();
        let reach = [network.first(), network.last()].map(|address| address.to_string());
        assert_eq!(reach, ["2001:db8:1::", "2001:db8:1:ffff:ffff:ffff:ffff:ffff"]);
    }

    #[test]
    fn host_bits_and_the_whole_internet_are_refused() {
        for text in
            ["", "192.0.2.1/28", "0.0.0.0/0", "::/0", "192.0.2.0/33", "192.0.2", "::ffff:192.0.2.1", "a.example"]
        {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
    }
}
