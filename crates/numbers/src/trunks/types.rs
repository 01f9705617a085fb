//! Trunks over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::TrunkRow;
use platform::config::Settings;
use values::{AccountId, Change, Rfc3339, SipUri, Text, Time, TrunkId};

#[derive(Serialize, JsonSchema)]
pub struct Trunk {
    pub id: TrunkId,
    pub name: Text<1, 200>,
    /// Where the switches are that carry its calls.
    pub zone: Text<1, 64>,
    /// How many calls it carries at once.
    #[schemars(range(min = 1))]
    pub channel_cap: i64,
    /// How many calls may begin in one second; null is any number.
    #[schemars(range(min = 1))]
    pub cps_limit: Option<i64>,
    /// Whether numbers are ordered on it unless another is named. Exactly one trunk is the default.
    pub is_default: bool,
    /// Where calls to its numbers go.
    pub inbound_uri: Option<SipUri>,
    /// Where to send calls: the SIP address of its zone.
    pub sip_endpoint_hint: Option<String>,
    pub created_at: Rfc3339,
}

impl Trunk {
    pub fn new(row: TrunkRow, settings: &Settings) -> Trunk {
        let sip_endpoint_hint = settings.zone(&row.zone).and_then(|zone| zone.sip_address.clone());
        Trunk {
            id: row.id,
            name: row.name,
            zone: row.zone,
            channel_cap: row.channel_cap,
            cps_limit: row.cps_limit,
            is_default: row.is_default,
            inbound_uri: row.inbound_uri,
            sip_endpoint_hint,
            created_at: row.created_at.into(),
        }
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrunkCreate {
    pub name: Text<1, 200>,
    /// One of the carrier's zones.
    #[schemars(example = "eu-west")]
    pub zone: Text<1, 64>,
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub channel_cap: i64,
    #[serde(default)]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub cps_limit: Option<i64>,
    /// True takes the place of the default before; the first trunk is the default either way.
    #[serde(default)]
    pub is_default: bool,
    #[serde(default)]
    pub inbound_uri: Option<SipUri>,
}

impl TrunkCreate {
    pub fn into_row(self, id: TrunkId, account_id: AccountId, now: Time) -> TrunkRow {
        TrunkRow {
            id,
            account_id,
            name: self.name,
            zone: self.zone,
            channel_cap: self.channel_cap,
            cps_limit: self.cps_limit,
            inbound_uri: self.inbound_uri,
            is_default: self.is_default,
            created_at: now,
            updated_at: now,
        }
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrunkUpdate {
    #[serde(default)]
    name: Change<Text<1, 200>>,
    /// One of the carrier's zones.
    #[serde(default)]
    pub zone: Change<Text<1, 64>>,
    #[serde(default)]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    channel_cap: Change<i64>,
    #[serde(default)]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    cps_limit: Change<Option<i64>>,
    /// True takes the place of the default before; the default itself cannot be unset.
    #[serde(default)]
    is_default: Change<bool>,
    #[serde(default)]
    inbound_uri: Change<Option<SipUri>>,
}

impl TrunkUpdate {
    pub fn apply(self, trunk: &mut TrunkRow) {
        self.name.apply(&mut trunk.name);
        self.zone.apply(&mut trunk.zone);
        self.channel_cap.apply(&mut trunk.channel_cap);
        self.cps_limit.apply(&mut trunk.cps_limit);
        self.is_default.apply(&mut trunk.is_default);
        self.inbound_uri.apply(&mut trunk.inbound_uri);
    }
}
