//! Trunks as the API shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::TrunkRow;
use super::target;
use api::checks::{Checks, Given, must};
use platform::config::Settings;
use values::{AccountId, Change, Rfc3339, SipUri, Text, Time, TrunkId};

/// A SIP trunk: a customer's connection to the operator's switches.
#[derive(Serialize, JsonSchema)]
pub struct Trunk {
    /// Id of the trunk.
    pub id: TrunkId,
    /// Name of the trunk, chosen by the account.
    pub name: Text<1, 200>,
    /// Zone of the switches that carry the calls of the trunk.
    pub zone: Text<1, 64>,
    /// Maximum number of concurrent calls on the trunk.
    #[schemars(range(min = 1))]
    pub channel_cap: i64,
    /// Maximum number of calls that may begin in one second; null when there is no limit.
    #[schemars(range(min = 1))]
    pub cps_limit: Option<i64>,
    /// Whether numbers are ordered on this trunk unless another is named; exactly one trunk is the default.
    pub is_default: bool,
    /// SIP URI that receives the calls to the numbers of the trunk; null when none is set.
    pub inbound_uri: Option<SipUri>,
    /// Host of an `inbound_uri` outside the allow-list that the operator's team allowed; null when there is none.
    pub allowed_inbound_host: Option<String>,
    /// SIP address of the zone, to send calls to; null when the operator has not published one.
    pub sip_endpoint_hint: Option<String>,
    /// When the trunk was created (RFC 3339, UTC).
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
            allowed_inbound_host: row.allowed_inbound_host,
            sip_endpoint_hint,
            created_at: row.created_at.into(),
        }
    }
}

/// A new trunk.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrunkCreate {
    /// Name of the trunk.
    pub name: Text<1, 200>,
    /// Zone of the trunk: the name of one of the operator's zones.
    #[schemars(example = "eu-west")]
    pub zone: Text<1, 64>,
    /// Maximum number of concurrent calls on the trunk.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub channel_cap: i64,
    /// Maximum number of calls that may begin in one second; no limit when null or left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub cps_limit: Option<i64>,
    /// Whether the trunk becomes the default in place of the current one; the first trunk always does.
    #[serde(default)]
    pub is_default: bool,
    /// SIP URI that receives the calls to the numbers of the trunk; its user is replaced by the called number. A host
    /// outside the trunk's allow-list needs the permission of the operator's team.
    #[serde(default)]
    pub inbound_uri: Option<SipUri>,
}

impl Checks for TrunkCreate {
    fn check(given: &Given<'_>) {
        check_zone(given);
        given.check("inbound_uri", |uri: SipUri| target::check(&uri, given.settings));
    }
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
            allowed_inbound_host: None,
            is_default: self.is_default,
            created_at: now,
            updated_at: now,
        }
    }
}

/// Changes to a trunk; fields that are left out stay as they are.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrunkUpdate {
    /// Name of the trunk.
    #[serde(default)]
    name: Change<Text<1, 200>>,
    /// Zone of the trunk: the name of one of the operator's zones.
    #[serde(default)]
    zone: Change<Text<1, 64>>,
    /// Maximum number of concurrent calls on the trunk.
    #[serde(default)]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    channel_cap: Change<i64>,
    /// Maximum number of calls that may begin in one second; null removes the limit.
    #[serde(default)]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    cps_limit: Change<Option<i64>>,
    /// `true` makes the trunk the default in place of the current one; `false` is refused for the default trunk.
    #[serde(default)]
    is_default: Change<bool>,
    /// SIP URI that receives the calls to the numbers of the trunk, null removes it; its user is replaced by the called
    /// number. A host outside the trunk's allow-list needs the permission of the operator's team.
    #[serde(default)]
    inbound_uri: Change<Option<SipUri>>,
}

impl Checks for TrunkUpdate {
    fn check(given: &Given<'_>) {
        check_zone(given);
        given.check("inbound_uri", |uri: SipUri| target::check(&uri, given.settings));
    }
}

fn check_zone(given: &Given<'_>) {
    let settings = given.settings;
    given.check("zone", |zone: Text<1, 64>| {
        let known: Vec<&str> = settings.zones.iter().map(|zone| zone.name.as_str()).collect();
        must(settings.zone(&zone).is_some(), format!("must be one of {}", known.join(", ")))
    });
}

impl TrunkUpdate {
    /// The new `inbound_uri`, if there is one.
    pub fn inbound_uri(&self) -> Option<SipUri> {
        let mut uri = None;
        self.inbound_uri.clone().apply(&mut uri);
        uri
    }

    pub fn apply(self, trunk: &mut TrunkRow) {
        self.name.apply(&mut trunk.name);
        self.zone.apply(&mut trunk.zone);
        self.channel_cap.apply(&mut trunk.channel_cap);
        self.cps_limit.apply(&mut trunk.cps_limit);
        self.is_default.apply(&mut trunk.is_default);
        self.inbound_uri.apply(&mut trunk.inbound_uri);
    }
}
