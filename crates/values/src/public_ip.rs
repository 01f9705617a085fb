//! Public IP addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address can be in use on the public internet, by IANA's special-purpose address registries.
///
/// Every special block is at least a /24 or a /48, so the result holds for all of such a network.
pub fn is_public_ip(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    match address.octets() {
        // This network, private, loopback.
        [0 | 10 | 127, ..] | [172, 16..=31, ..] | [192, 168, ..] => false,
        // Carrier-grade NAT, link-local, protocol assignments, 6to4 relays, benchmarks.
        [100, 64..=127, ..] | [169, 254, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => false,
        // Documentation.
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => false,
        // Multicast and reserved.
        [first, ..] => first < 224,
    }
}

/// Public is 2000::/3, except protocol assignments, documentation and 6to4.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        [0x2001, 0..=0x01ff, ..] | [0x2001, 0x0db8, ..] | [0x2002, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        [first, ..] => first >> 13 == 1,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn assigned_addresses_are_public() {
        for text in
            ["1.1.1.1", "100.63.255.255", "172.32.0.1", "192.0.1.1", "223.255.255.255", "2001:200::1", "2a00::1"]
        {
            assert!(is_public_ip(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn special_purpose_addresses_are_not_public() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.1.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1",
            "100::1",
            "2001::1",
            "2001:1ff::1",
            "2001:db8::1",
            "2002::1",
            "3fff:fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!is_public_ip(text.parse().unwrap()), "{text}");
        }
    }
}
