//! Allow-list entries as the API shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules;
use super::store::EntryRow;
use api::checks::{Checks, Given};
use values::{Cidr, IpAllowEntryId, Rfc3339, Text, text_enum};

text_enum! {
    /// Whether a network was proved. A `pending` one counts only where the operator requires no proof.
    pub enum NetworkStatus {
        Pending = "pending",
        Verified = "verified",
    }
}

/// SIP credentials that prove a network.
#[derive(Serialize, JsonSchema)]
pub struct NetworkProof {
    /// User name of the digest authentication.
    pub username: IpAllowEntryId,
    /// Password of the digest authentication.
    pub password: String,
}

/// A network that a trunk's calls may come from.
#[derive(Serialize, JsonSchema)]
pub struct IpAllowEntry {
    /// Id of the allow-list entry.
    pub id: IpAllowEntryId,
    /// The network in CIDR form; a single address is a /32 (IPv4) or a /128 (IPv6).
    pub cidr: Cidr,
    /// Note of the account about the network; left out when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Text<0, 200>>,
    /// Whether the network was proved.
    pub status: NetworkStatus,
    /// When the network was proved, or the operator's team vouched for it (RFC 3339, UTC); null while it is pending.
    pub verified_at: Option<Rfc3339>,
    /// Credentials that prove the network: send SIP OPTIONS, or a call, from it to the user `verify` at the
    /// `sip_endpoint_hint` and answer the challenge with them. Null once the network is verified.
    pub proof: Option<NetworkProof>,
    /// When the entry was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

impl From<EntryRow> for IpAllowEntry {
    fn from(row: EntryRow) -> Self {
        let EntryRow { id, cidr, note, code, verified_at, created_at, .. } = row;
        let status = if verified_at.is_some() { NetworkStatus::Verified } else { NetworkStatus::Pending };
        let proof = verified_at.is_none().then_some(NetworkProof { username: id, password: code });
        let verified_at = verified_at.map(Rfc3339);
        IpAllowEntry { id, cidr, note, status, verified_at, proof, created_at: created_at.into() }
    }
}

/// A new allow-list entry.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IpAllowCreate {
    /// A public IP address or network: IPv4 from /24 to /32, IPv6 from /48 to /128.
    #[serde(deserialize_with = "rules::deserialize")]
    #[schemars(with = "Text<1, 64>", example = "8.8.8.0/28")]
    pub cidr: Cidr,
    /// Note about the network, such as the name of the PBX.
    #[serde(default)]
    pub note: Option<Text<0, 200>>,
}

impl Checks for IpAllowCreate {
    fn check(given: &Given<'_>) {
        given.check("cidr", |network: Cidr| rules::check_public(network, given.settings.allow_private_ips));
    }
}
