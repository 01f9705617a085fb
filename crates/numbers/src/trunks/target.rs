//! Which hosts an `inbound_uri` may name. Calls check the addresses behind a name again, see `voice::calls`.

use std::net::IpAddr;

use api::checks::must;
use api::problem::Problem;
use platform::app::App;
use platform::config::Settings;
use platform::routing::reserved::{self, Reserved};
use values::{Invalid, SipUri, Time, is_public_ip};

/// The same for an edge and an upstream, so that nobody learns whose address it is.
pub const RESERVED: &str = "must not point to a host of this service or of its carriers";
const NOT_PUBLIC: &str = "must point to a host of the public internet";
const MADDR: &str = "must not have the parameter maddr";

/// What the settings alone can say.
pub fn check(uri: &SipUri, settings: &Settings) -> Result<(), Invalid> {
    must(uri.parameter("maddr").is_none(), MADDR)?;
    must(is_host(uri), NOT_PUBLIC)?;
    must(settings.allow_private_ips || is_public(uri), NOT_PUBLIC)?;
    must(!Reserved::new(settings, &[], &Default::default()).has_host(uri), RESERVED)
}

fn is_host(uri: &SipUri) -> bool {
    !uri.address().is_some_and(|address| address.is_unspecified() || address.is_multicast())
}

fn is_public(uri: &SipUri) -> bool {
    let (host, address) = (uri.host(), uri.address().as_ref().map(IpAddr::to_canonical));
    address.map_or(host != "localhost" && !host.ends_with(".localhost"), is_public_ip)
}

/// The addresses that no customer may use.
pub async fn reserved_addresses(app: &App, now: Time) -> Result<Reserved, Problem> {
    let gateways = app.gateways.current(&app.db).await?;
    let resolved = reserved::resolve(&app.settings, &app.hosts, gateways.all(), now).await;
    Ok(Reserved::new(&app.settings, gateways.all(), &resolved))
}
