//! What `GET /switch/config` says.

use serde::{Deserialize, Serialize};

use values::{Cidr, SipUri, TrunkId, UpstreamId};

/// What a switch's files are made from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Rises with every change.
    pub version: i64,
    /// Where calls can be sent.
    pub dispatcher: Vec<Gateway>,
    /// Where calls may come from.
    pub addresses: Vec<Source>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gateway {
    pub group_id: i64,
    pub uri: SipUri,
    pub upstream_id: UpstreamId,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    pub cidr: Cidr,
    #[serde(flatten)]
    pub of: Whose,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    TrunkId(TrunkId),
    UpstreamId(UpstreamId),
}
