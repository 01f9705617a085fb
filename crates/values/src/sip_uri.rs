//! SIP URIs.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::text_form::{TextForm, impl_serde_as_text, impl_stored_as_text};
use super::{E164, Invalid};

const MAX_BYTES: usize = 255;

/// The SIP URI of a gateway: scheme, optional user, host, optional port and parameters. Characters with a meaning in a
/// switch's configuration are refused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SipUri(String);

impl SipUri {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The host: a name in lower case, or an address without brackets.
    pub fn host(&self) -> &str {
        let host = split_port(self.host_port()).map_or("", |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// The host, if it is an address.
    pub fn address(&self) -> Option<IpAddr> {
        self.host().parse().ok()
    }

    /// The value of a parameter; empty if it has none.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let pairs = self.parameters().map(|text| text.split_once('=').unwrap_or((text, "")));
        pairs.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    /// The same URI with this user, which must be a number.
    pub fn with_user(&self, user: &E164) -> SipUri {
        let (scheme, rest) = self.0.split_once(':').unwrap_or(("sip", &self.0));
        let after_user = rest.split_once(';').map_or(rest, |(place, _)| place).rfind('@').map_or(0, |at| at + 1);
        SipUri(format!("{scheme}:{user}@{}", &rest[after_user..]))
    }

    /// Where a request to this URI is sent if its host is this address: with its port and transport, nothing else.
    pub fn at_address(&self, address: IpAddr) -> SipUri {
        let port = split_port(self.host_port()).and_then(|(_, port)| port).map(|port| format!(":{port}"));
        let is_encrypted = self.0.starts_with("sips:");
        let transport = self.parameter("transport").filter(|transport| !transport.is_empty());
        let transport = transport.or(is_encrypted.then_some("tls")).map(|name| format!(";transport={name}"));
        let host = match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        SipUri(format!("sip:{host}{}{}", port.unwrap_or_default(), transport.unwrap_or_default()))
    }

    fn host_port(&self) -> &str {
        let rest = self.0.split_once(':').map_or("", |(_, rest)| rest);
        let place = rest.split_once(';').map_or(rest, |(place, _)| place);
        place.rsplit_once('@').map_or(place, |(_, host_port)| host_port)
    }

    fn parameters(&self) -> impl Iterator<Item = &str> {
        self.0.split(';').skip(1)
    }
}

impl TextForm for SipUri {
    const DESCRIPTION: &'static str = "SIP URI of a gateway, with an optional port and parameters.";
    const FORMAT: &'static str = "sip-uri";
    const REASON: &'static str = "must be a SIP URI such as sip:gw1.carrier.example:5060;transport=udp";
    const PATTERN: &'static str = r"^[Ss][Ii][Pp][Ss]?:[!-~]{1,250}$";
    const EXAMPLE: &'static str = "sip:gw1.carrier.example:5060";
}

impl FromStr for SipUri {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        read(text).map(SipUri).filter(|uri| uri.0.len() <= MAX_BYTES).ok_or_else(Self::invalid)
    }
}

/// The URI with its scheme and host in lower case.
fn read(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once(':')?;
    let scheme = scheme.to_ascii_lowercase();
    let (place, parameters) = rest.split_once(';').map_or((rest, None), |(place, rest)| (place, Some(rest)));
    let (user, host_port) = place.rsplit_once('@').map_or((None, place), |(user, host)| (Some(user), host));
    let (host, port) = split_port(host_port)?;
    let is_sound = matches!(scheme.as_str(), "sip" | "sips")
        && user.is_none_or(|user| is_word(user, "-_.!~*'()&=+$,?/"))
        && is_host(host)
        && port.is_none_or(is_port)
        && parameters.is_none_or(|text| text.split(';').all(is_parameter));
    let user = user.map_or_else(String::new, |user| format!("{user}@"));
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    let parameters = parameters.map_or_else(String::new, |text| format!(";{text}"));
    is_sound.then(|| format!("{scheme}:{user}{}{port}{parameters}", host.to_ascii_lowercase()))
}

fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(inside) = text.strip_prefix('[') {
        let end = inside.find(']')? + 2;
        let (host, rest) = text.split_at(end);
        return match rest.strip_prefix(':') {
            None if rest.is_empty() => Some((host, None)),
            port => Some((host, Some(port?))),
        };
    }
    Some(text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))))
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    let is_label = |label: &str| {
        (1..=63).contains(&label.len()) && is_word(label, "-") && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_numeric = host.split('.').next_back().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
    if is_numeric { host.parse::<Ipv4Addr>().is_ok() } else { host.len() <= 253 && host.split('.').all(is_label) }
}

fn is_parameter(text: &str) -> bool {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    is_word(name, "-_.") && value.is_none_or(|value| is_word(value, "-_.:[]"))
}

fn is_word(text: &str, also: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c))
}

impl fmt::Display for SipUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl_serde_as_text!(SipUri);
impl_stored_as_text!(SipUri);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sip_uri_is_normalized() {
        for (text, written) in [
            ("sip:gw1.carrier.example", "sip:gw1.carrier.example"),
            ("SIP:GW1.Carrier.example:5060;transport=udp", "sip:gw1.carrier.example:5060;transport=udp"),
            ("sips:trunk@192.0.2.7:5061", "sips:trunk@192.0.2.7:5061"),
            ("sip:[2001:db8::1]:5060", "sip:[2001:db8::1]:5060"),
        ] {
            assert_eq!(text.parse::<SipUri>().unwrap().as_str(), written);
        }
    }

    #[test]
    fn a_malformed_sip_uri_is_refused() {
        for text in [
            "",
            "sip:",
            "gw1.carrier.example",
            "http://gw1",
            "sip:gw 1",
            "sip:gw1:0",
            "sip:gw1:99999",
            "sip:gw1:+5",
            "sip:-gw1",
            "sip:192.0.2.300",
            "sip:[2001:db8::1",
            "sip:gw1;",
            "sip:gw1\nsip:gw2",
            "sip:$var(x)",
            "sip:a\"b",
        ] {
            assert!(text.parse::<SipUri>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_sip_uri_is_taken_apart() {
        let number: E164 = "+31201000000".parse().unwrap();
        for (text, host, called, sent) in [
            ("sip:pbx.example", "pbx.example", "sip:+31201000000@pbx.example", "sip:192.0.2.9"),
            ("sip:+882@192.0.2.7:5070;lr", "192.0.2.7", "sip:+31201000000@192.0.2.7:5070;lr", "sip:192.0.2.9:5070"),
            (
                "sips:a@[2001:db8::1];Transport=tcp",
                "2001:db8::1",
                "sips:+31201000000@[2001:db8::1];Transport=tcp",
                "sip:192.0.2.9;transport=tcp",
            ),
            (
                "sips:pbx.example:5061",
                "pbx.example",
                "sips:+31201000000@pbx.example:5061",
                "sip:192.0.2.9:5061;transport=tls",
            ),
        ] {
            let uri: SipUri = text.parse().unwrap();
            assert_eq!((uri.host(), uri.with_user(&number).as_str()), (host, called));
            let address = uri.at_address("192.0.2.9".parse().unwrap());
            assert_eq!(address.as_str(), sent);
            assert_eq!(address.to_string().parse::<SipUri>(), Ok(address));
        }
        let uri: SipUri = "sip:pbx.example;MADDR=127.0.0.1;lr".parse().unwrap();
        assert_eq!(
            (uri.parameter("maddr"), uri.parameter("lr"), uri.parameter("x")),
            (Some("127.0.0.1"), Some(""), None)
        );
        assert_eq!(uri.at_address("2001:db8::2".parse().unwrap()).as_str(), "sip:[2001:db8::2]");
    }

    proptest! {
        #[test]
        fn a_parsed_sip_uri_parses_to_itself(text in r"sips?:([a-z]{1,5}@)?[a-z0-9.\-]{1,12}(:[0-9]{1,6})?(;[a-z]{1,3}=[a-z]{1,3})?|\PC{0,30}") {
            if let Ok(uri) = text.parse::<SipUri>() {
                prop_assert_eq!(uri.to_string().parse::<SipUri>(), Ok(uri));
            }
        }
    }
}
