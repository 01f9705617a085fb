//! A sign-in from a device that the user has not used before is told by mail.
//!
//! A device is known by its program, whatever the version, together with its network (IPv4: /24, IPv6: /48). The first
//! sign-in of a user is from a new device, of course, and tells nothing.

use std::net::IpAddr;

use super::store;
use crate::users::User;
use api::context::Tx;
use api::problem::Problem;
use platform::mail::{self, NewDevice, ReadableTime, Recipient};

/// Call it before the session of the sign-in is stored.
pub async fn tell(tx: &mut Tx<'_>, user: &User) -> Result<(), Problem> {
    let ctx = tx.ctx.clone();
    let earlier = store::session_devices(tx, user.id).await?;
    let here = (network(ctx.ip), program(ctx.user_agent.as_deref()));
    let is_here = |(ip, user_agent): &(String, Option<String>)| {
        ip.parse().is_ok_and(|ip| network(ip) == here.0) && program(user_agent.as_deref()) == here.1
    };
    if earlier.is_empty() || earlier.iter().any(is_here) {
        return Ok(());
    }
    ctx.audit_note("new_device", true);
    let device = describe(ctx.user_agent.as_deref());
    let mail = NewDevice { device, at: ReadableTime(ctx.now), ip: ctx.ip };
    Ok(mail::send(tx, &ctx.app, &Recipient::new(&user.email, &user.name), &mail).await?)
}

fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4((v4.to_bits() >> 8 << 8).into()),
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 80 << 80).into()),
    }
}

/// The `User-Agent` without its version numbers, which change with every update.
fn program(user_agent: Option<&str>) -> String {
    user_agent.unwrap_or_default().chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect()
}

/// The device in known words only: the header is text of whoever signed in.
fn describe(user_agent: Option<&str>) -> String {
    let user_agent = user_agent.unwrap_or_default();
    let find = |known: &[(&str, &'static str)]| {
        known.iter().find(|(token, _)| user_agent.contains(token)).map(|(_, name)| *name)
    };
    // Every browser claims to be those further down.
    let browser = find(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ]);
    let system = find(&[
        ("Windows", "Windows"),
        ("Android", "Android"),
        ("iPhone", "iOS"),
        ("iPad", "iPadOS"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(known), None) | (None, Some(known)) => known.to_owned(),
        (None, None) => "Unknown program".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_device_is_described_in_known_words() {
        let chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/131.0.0.0 Safari/537.36";
        assert_eq!(describe(Some(chrome)), "Chrome on Windows");
        assert_eq!(describe(Some("curl/8.5.0")), "curl");
        assert_eq!(describe(Some("Call +88299 now: http://evil.example")), "Unknown program");
        assert_eq!(describe(None), "Unknown program");
        assert_eq!(program(Some(chrome)), program(Some(&chrome.replace("131", "132"))));
    }

    #[test]
    fn a_network_is_larger_than_an_address() {
        let same = |one: &str, other: &str| network(one.parse().unwrap()) == network(other.parse().unwrap());
        assert!(same("203.0.113.7", "203.0.113.200") && !same("203.0.113.7", "203.0.114.7"));
        assert!(same("2001:db8:1:2::1", "2001:db8:1:ffff::1") && !same("2001:db8:1::1", "2001:db8:2::1"));
        assert!(same("::ffff:203.0.113.7", "203.0.113.8"));
    }
}
