//! The zones, and the SIP address that customers send calls to in each.

use std::collections::BTreeSet;

use super::SettingsReader;
use values::SipUri;

const NAME: &str = "TRUNKLINE_ZONES";
const EXPECTED: &str = "zones such as eu-west or eu-west=sip.eu-west.example.net, each once";
const DEFAULT: [&str; 3] = ["eu-west", "eu-central", "us-east"];
const MAX_NAME_BYTES: usize = 32;

/// A place where the operator has switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    pub name: String,
    /// The SIP host that customers send calls to, if set.
    pub sip_address: Option<String>,
}

impl SettingsReader {
    pub(super) fn zones(&mut self) -> Vec<Zone> {
        let mut zones = self.list(NAME, EXPECTED, parse);
        if zones.is_empty() {
            zones = DEFAULT.map(|name| Zone { name: name.to_owned(), sip_address: None }).into();
        }
        let names: BTreeSet<&str> = zones.iter().map(|zone| zone.name.as_str()).collect();
        if names.len() < zones.len() {
            self.wrong(NAME, EXPECTED);
        }
        zones
    }
}

fn parse(text: &str) -> Option<Zone> {
    let (name, address) = text.split_once('=').map_or((text, None), |(name, address)| (name, Some(address)));
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let is_valid = (1..=MAX_NAME_BYTES).contains(&name.len()) && is_name(name) && address.is_none_or(is_host);
    is_valid.then(|| Zone { name: name.to_owned(), sip_address: address.map(str::to_owned) })
}

/// A host with an optional port, without the other parts of a SIP URI.
fn is_host(address: &str) -> bool {
    !address.contains(['@', ';']) && format!("sip:{address}").parse::<SipUri>().is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{ConfigError, Settings};

    fn zones(text: &str) -> Result<Vec<(String, Option<String>)>, ConfigError> {
        let names = BTreeMap::from([(NAME.to_owned(), text.to_owned())]);
        let settings = Settings::from_names(names, BTreeMap::new())?;
        Ok(settings.zones.into_iter().map(|zone| (zone.name, zone.sip_address)).collect())
    }

    #[test]
    fn a_zone_has_a_name_and_optionally_an_address() {
        let chosen = zones("eu-west=sip.eu-west.example.net, asia-1=[2001:db8::1]:5060,lab").unwrap();
        let expected =
            [("eu-west", Some("sip.eu-west.example.net")), ("asia-1", Some("[2001:db8::1]:5060")), ("lab", None)];
        assert_eq!(chosen, expected.map(|(name, address)| (name.to_owned(), address.map(str::to_owned))));
        assert_eq!(zones("").unwrap().len(), DEFAULT.len());
    }

    #[test]
    fn an_invalid_zone_is_rejected() {
        for text in ["EU", "eu west", "=sip.example", "eu=", "eu=sip:a.example", "eu=a@b.example", "eu,eu", ","] {
            assert!(zones(text).is_err(), "{text}");
        }
    }
}
