//! Which networks may be on an allow-list: small ones of the public internet, written in network form.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::de::{Deserialize, Deserializer, Error};

use values::{Cidr, Invalid, Text, is_public_ip};

/// Shortest prefix length by address family.
const WIDEST_V4: u8 = 24;
const WIDEST_V6: u8 = 48;

/// The same for an edge and an upstream, so that nobody learns whose address it is.
pub const RESERVED: &str = "must not overlap a network of this service or of its carriers";

const FORM: Invalid = Invalid::because("must be an IP address, or a network such as 8.8.8.0/28");
const MAPPED: Invalid = Invalid::because("must be written as the IPv4 address that it maps to");
const NOT_PUBLIC: Invalid = Invalid::because("must be an address or network of the public internet");

/// Deserializes a network; see [`read`].
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cidr, D::Error> {
    read(&Text::<1, 64>::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Parses a network that is small enough and in network form.
fn read(text: &str) -> Result<Cidr, Invalid> {
    let network = parse(text).ok_or(FORM)?;
    let widest = match network.addr() {
        IpAddr::V4(_) => WIDEST_V4,
        IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => return Err(MAPPED),
        IpAddr::V6(_) => WIDEST_V6,
    };
    if network.prefix_len() < widest {
        return Err(Invalid(format!("must be a /{widest} or smaller").into()));
    }
    if network.trunc() != network {
        return Err(Invalid(format!("has bits beyond its mask; the network is {}", network.trunc()).into()));
    }
    Cidr::new(network).ok_or(FORM)
}

/// Only a lab lists networks that are not public.
pub fn check_public(network: Cidr, is_lab: bool) -> Result<(), Invalid> {
    if is_lab || is_public_ip(network.network().addr()) { Ok(()) } else { Err(NOT_PUBLIC) }
}

fn parse(text: &str) -> Option<IpNet> {
    let Some((address, length)) = text.split_once('/') else {
        return text.parse::<IpAddr>().ok().map(IpNet::from);
    };
    let is_plain = length.bytes().all(|b| b.is_ascii_digit()) && !(length.len() > 1 && length.starts_with('0'));
    let length = length.parse().ok().filter(|_| is_plain)?;
    IpNet::new(address.parse().ok()?, length).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn read_in(text: &str, is_lab: bool) -> Result<Cidr, Invalid> {
        let network = read(text)?;
        check_public(network, is_lab).map(|()| network)
    }

    #[test]
    fn small_public_networks_are_taken_in_one_form() {
        for (text, form) in [
            ("8.8.8.8", "8.8.8.8/32"),
            ("8.8.8.0/24", "8.8.8.0/24"),
            ("2A00:1450:0000::/48", "2a00:1450::/48"),
            ("2a00:1450::1", "2a00:1450::1/128"),
        ] {
            assert_eq!(read_in(text, false).unwrap().to_string(), form);
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        for (text, reason) in [
            ("", "must be an IP address"),
            ("carrier.example", "must be an IP address"),
            ("8.8.8.0/", "must be an IP address"),
            ("8.8.8.0/+28", "must be an IP address"),
            ("8.8.8.0/028", "must be an IP address"),
            ("8.8.8.0/33", "must be an IP address"),
            ("8.8.010.0/24", "must be an IP address"),
            ("8.8.8", "must be an IP address"),
            ("2a00::1%eth0", "must be an IP address"),
            ("8.8.8.9/28", "has bits beyond its mask; the network is 8.8.8.0/28"),
            ("2a00::1/64", "has bits beyond its mask; the network is 2a00::/64"),
            ("8.8.8.0/23", "must be a /24 or smaller"),
            ("0.0.0.0/0", "must be a /24 or smaller"),
            ("2a00::/47", "must be a /48 or smaller"),
            ("::ffff:8.8.8.8", "must be written as the IPv4 address"),
            ("::ffff:8.8.8.0/120", "must be written as the IPv4 address"),
            ("10.0.0.1", "must be an address or network of the public internet"),
            ("192.0.2.0/24", "must be an address or network of the public internet"),
            ("239.1.1.1", "must be an address or network of the public internet"),
            ("fe80::/64", "must be an address or network of the public internet"),
        ] {
            let refused = read_in(text, false).unwrap_err().to_string();
            assert!(refused.starts_with(reason), "{text}: {refused}");
        }
    }

    #[test]
    fn a_laboratory_lists_its_own_addresses() {
        for text in ["127.0.0.1", "10.0.0.0/24", "fd00::/48"] {
            assert!(read_in(text, true).is_ok(), "{text}");
        }
        for text in ["10.0.0.0/8", "10.0.0.1/24", "::ffff:10.0.0.1"] {
            assert!(read_in(text, true).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_network_is_public_as_a_whole_or_not_at_all(bits: u32, length in 24u8..=32, inside: u32) {
            let network = IpNet::new(IpAddr::from(bits.to_be_bytes()), length).unwrap().trunc();
            let mask = u32::MAX.checked_shr(length.into()).unwrap_or(0);
            let address = IpAddr::from(((bits & !mask) | (inside & mask)).to_be_bytes());
            prop_assert!(network.contains(&address));
            prop_assert_eq!(read_in(&network.to_string(), false).is_ok(), is_public_ip(address));
        }

        #[test]
        fn what_was_read_is_read_again_as_the_same(text in "[0-9a-f.:/]{0,24}") {
            if let Ok(network) = read_in(&text, true) {
                prop_assert_eq!(read_in(&network.to_string(), true), Ok(network));
            }
        }
    }
}
