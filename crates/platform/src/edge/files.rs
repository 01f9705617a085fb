//! Renders the files of Kamailio's `dispatcher` and `permissions` modules.
//!
//! Lines are sorted, so that a file changes only when its content does. No value can contain a space or a line break:
//! their types do not allow it.

use super::config::{AddressOwner, Config};

/// The file names.
pub const DISPATCHER: &str = "dispatcher.list";
pub const ADDRESSES: &str = "address.list";

/// Kamailio's flag 2: the gateway may take calls, and is probed before it counts as up.
const TRYING: u8 = 2;

/// The address groups, which tell the edge the direction of a call.
const TRUNKS: u8 = 1;
const UPSTREAMS: u8 = 2;

/// `dispatcher.list`: one line per gateway. The set is the upstream's dispatcher group.
pub fn dispatcher_list(config: &Config) -> String {
    let line = |gateway: &super::Gateway| {
        let (group, uri, upstream) = (gateway.group_id, &gateway.uri, gateway.upstream_id);
        format!("{group} {uri} {TRYING} 0 upstream={upstream}\n")
    };
    file("set, gateway, state, priority, attributes", config.dispatcher.iter().map(line))
}

/// `address.list`: the known networks. The edge asks the service about their calls without delay.
pub fn address_list(config: &Config) -> String {
    let line = |source: &super::Source| {
        let network = source.cidr.network();
        let (group, owner) = match &source.owner {
            AddressOwner::TrunkId(trunk) => (TRUNKS, format!("trunk={trunk}")),
            AddressOwner::UpstreamId(upstream) => (UPSTREAMS, format!("upstream={upstream}")),
        };
        format!("{group} {} {} 0 {owner}\n", network.network(), network.prefix_len())
    };
    file("group, network, mask, any port, owner", config.addresses.iter().map(line))
}

fn file(heading: &str, lines: impl Iterator<Item = String>) -> String {
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines.dedup();
    format!("# {heading}\n{}", lines.concat())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn config(dispatcher: serde_json::Value, addresses: serde_json::Value) -> Config {
        serde_json::from_value(json!({"version": 1, "dispatcher": dispatcher, "addresses": addresses})).unwrap()
    }

    const UPSTREAM: &str = "0199a000-0000-7000-8000-000000000001";
    const TRUNK: &str = "0199a000-0000-7000-8000-000000000002";

    #[test]
    fn every_gateway_is_in_the_set_of_its_upstream() {
        let gateway = |group, uri| json!({"group_id": group, "uri": uri, "upstream_id": UPSTREAM});
        let config =
            config(json!([gateway(20, "sip:b.example:5070;transport=tcp"), gateway(10, "sip:192.0.2.1")]), json!([]));
        let list = dispatcher_list(&config);
        let lines: Vec<&str> = list.lines().skip(1).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("10 sip:192.0.2.1 2 0 upstream="), "{list}");
        assert!(lines[1].starts_with("20 sip:b.example:5070;transport=tcp 2 0 upstream="), "{list}");
    }

    #[test]
    fn networks_of_both_families_have_a_mask() {
        let sources = json!([{"cidr": "192.0.2.0/28", "trunk_id": TRUNK}, {"cidr": "2001:db8::/48", "upstream_id": UPSTREAM},
            {"cidr": "192.0.2.9", "trunk_id": TRUNK}]);
        let list = address_list(&config(json!([]), sources));
        let fields: Vec<Vec<&str>> = list.lines().skip(1).map(|line| line.split(' ').take(4).collect()).collect();
        assert_eq!(
            fields,
            [["1", "192.0.2.0", "28", "0"], ["1", "192.0.2.9", "32", "0"], ["2", "2001:db8::", "48", "0"]]
        );
    }

    proptest! {
        #[test]
        fn the_order_of_gateways_does_not_matter(groups in prop::collection::vec(1..50i64, 0..12)) {
            let gateway = |group: &i64| {
                json!({"group_id": group, "uri": format!("sip:gw{group}.example"), "upstream_id": UPSTREAM})
            };
            let forward: Vec<_> = groups.iter().map(gateway).collect();
            let backward: Vec<_> = groups.iter().rev().map(gateway).collect();
            prop_assert_eq!(
                dispatcher_list(&config(json!(forward), json!([]))),
                dispatcher_list(&config(json!(backward), json!([])))
            );
        }
    }
}
