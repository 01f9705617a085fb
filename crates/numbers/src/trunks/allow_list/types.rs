//! Allow-lists over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::EntryRow;
use values::{Cidr, IpAllowEntryId, Rfc3339, Text};

#[derive(Serialize, JsonSchema)]
pub struct IpAllowEntry {
    pub id: IpAllowEntryId,
    /// In network form; a single address is a /32 or a /128.
    pub cidr: Cidr,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Text<0, 200>>,
    pub created_at: Rfc3339,
}

impl From<EntryRow> for IpAllowEntry {
    fn from(row: EntryRow) -> Self {
        let EntryRow { id, cidr, note, created_at, .. } = row;
        IpAllowEntry { id, cidr, note, created_at: created_at.into() }
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IpAllowCreate {
    /// A public address or network: IPv4 from /24 to /32, IPv6 from /48 to /128.
    #[schemars(example = "8.8.8.0/28")]
    pub cidr: Text<1, 64>,
    #[serde(default)]
    pub note: Option<Text<0, 200>>,
}
