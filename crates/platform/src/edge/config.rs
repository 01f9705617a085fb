//! The configuration of a switch: the response of `GET /switch/config`.

use serde::{Deserialize, Serialize};

use values::{Cidr, SipUri, TrunkId, UpstreamId};

/// What the files of a switch are rendered from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Increases with every change.
    pub version: i64,
    /// The gateways of upstreams, that calls can be sent to.
    pub dispatcher: Vec<Gateway>,
    /// The networks that calls may come from.
    pub addresses: Vec<Source>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gateway {
    /// The dispatcher group of its upstream.
    pub group_id: i64,
    pub uri: SipUri,
    pub upstream_id: UpstreamId,
}

/// A network that calls may come from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    pub cidr: Cidr,
    #[serde(flatten)]
    pub owner: AddressOwner,
}

/// The trunk or upstream that a network belongs to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressOwner {
    TrunkId(TrunkId),
    UpstreamId(UpstreamId),
}
