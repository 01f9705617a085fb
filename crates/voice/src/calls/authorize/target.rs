//! Where an inbound call is sent: the address behind a trunk's `inbound_uri`, checked for every call.
//!
//! Upstreams carry what comes from an edge, so a call that a customer could send to one would be free for it. A host
//! name is resolved here, before the transaction, every address that it has is checked, and the switch gets one of
//! them: it resolves nothing itself, so another answer of the name server comes too late.

use std::net::IpAddr;
use std::sync::Arc;

use super::Caches;
use super::store::{self, CallContext, InboundTarget};
use crate::calls::types::DenyReason;
use db::DbError;
use platform::app::App;
use platform::routing::reserved::{self, Reserved};
use values::{E164, SipUri, Time, TrunkId, is_public_ip};

/// The target of a call to a number.
#[derive(Debug)]
pub struct Target {
    stored: InboundTarget,
    pub next_hop: Result<NextHop, DenyReason>,
}

/// The address that a call is sent to.
#[derive(Clone, Debug)]
pub struct NextHop {
    pub uri: SipUri,
    /// Outside the trunk's allow-list.
    pub is_foreign: bool,
}

impl Target {
    pub fn trunk_id(&self) -> TrunkId {
        self.stored.trunk_id
    }

    /// Whether the call goes to a host outside the trunk's allow-list.
    pub fn is_foreign(&self) -> bool {
        self.next_hop.as_ref().is_ok_and(|next_hop| next_hop.is_foreign)
    }

    /// Whether the number is still on the trunk, and the trunk still has the URI that was checked.
    pub fn is_of(&self, context: &CallContext) -> bool {
        let InboundTarget { trunk_id, inbound_uri, allowed_inbound_host } = &self.stored;
        (Some(*trunk_id), inbound_uri, allowed_inbound_host)
            == (context.number_trunk, &context.inbound_uri, &context.allowed_inbound_host)
    }
}

/// Looks up and checks the target of calls to a number. No connection is held meanwhile.
pub async fn find(app: &App, caches: &Caches, called: &E164, now: Time) -> Result<Option<Target>, DbError> {
    let stored = store::inbound_target(&mut *app.db.read().await?, called).await?;
    let Some(stored) = stored else { return Ok(None) };
    let next_hop = match &stored.inbound_uri {
        None => Err(DenyReason::NoInboundUri),
        Some(uri) => check(app, caches, uri, &stored, now).await,
    };
    Ok(Some(Target { stored, next_hop }))
}

async fn check(
    app: &App,
    caches: &Caches,
    uri: &SipUri,
    stored: &InboundTarget,
    now: Time,
) -> Result<NextHop, DenyReason> {
    // Some switches send a request to this address and not to the host.
    if uri.parameter("maddr").is_some() {
        return Err(DenyReason::InboundTargetRefused);
    }
    let addresses: Arc<[IpAddr]> = match uri.address() {
        Some(address) => [address].into(),
        None => app.hosts.resolve(uri.host(), now).await.map_err(|_| DenyReason::InboundTargetUnresolved)?,
    };
    let upstreams = caches.gateways.all();
    let resolved = reserved::resolve(&app.settings, &app.hosts, upstreams, now).await;
    let reserved = Reserved::new(&app.settings, upstreams, &resolved);
    let may_be_called = |address: &IpAddr| is_callable(app, *address) && !reserved.has_address(*address);
    if reserved.has_host(uri) || !addresses.iter().all(may_be_called) {
        return Err(DenyReason::InboundTargetRefused);
    }
    let own = addresses.iter().find(|address| is_own(app, caches, stored.trunk_id, **address));
    let address = own.or(addresses.first()).ok_or(DenyReason::InboundTargetUnresolved)?;
    let is_allowed = !app.settings.allow_list_proof || stored.allowed_inbound_host.as_deref() == Some(uri.host());
    if own.is_none() && !is_allowed {
        return Err(DenyReason::InboundTargetNotAllowed);
    }
    Ok(NextHop { uri: uri.at_address(*address), is_foreign: own.is_none() })
}

/// A lab may call private addresses, nobody those that are none of a single host.
fn is_callable(app: &App, address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_host = !address.is_unspecified() && !address.is_multicast();
    is_public_ip(address) || (app.settings.allow_private_ips && is_host)
}

/// Whether an address is on the trunk's allow-list.
fn is_own(app: &App, caches: &Caches, trunk: TrunkId, address: IpAddr) -> bool {
    caches.addresses.find(address, app.settings.allow_list_proof).is_some_and(|network| network.trunk_id == trunk)
}
