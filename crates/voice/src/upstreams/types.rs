//! Upstreams as the API shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::UpstreamRow;
use api::checks::{Checks, Given, must};
use platform::routing::tariff::UpstreamStatus;
use platform::routing::upstreams::UpstreamHealth;
use values::{Change, Cidr, Cron, Currency, Markup, Rfc3339, SipUri, Text, Time, UpstreamId, WebUrl};

/// An upstream: a network that takes calls to its gateways at the rates of its deck.
#[derive(Serialize, JsonSchema)]
pub struct Upstream {
    /// Id of the upstream.
    pub id: UpstreamId,
    /// Name of the upstream.
    pub name: Text<1, 100>,
    /// Whether the upstream is used for prices and routes.
    pub status: UpstreamStatus,
    /// Id of the upstream's gateway group (dispatcher set) on the switches.
    pub dispatcher_group_id: i64,
    /// Currency of the upstream's rates.
    pub base_currency: Currency,
    /// Markup in percent that is added to the upstream's rates to get sell rates.
    pub markup_percent: Markup,
    /// URL that the rate deck is pulled from; null when decks are only uploaded.
    pub rate_import_url: Option<WebUrl>,
    /// Cron pattern (UTC) by which the rate deck is pulled; null when there is no schedule.
    pub rate_import_schedule: Option<Cron>,
    /// When a rate deck was last imported (RFC 3339, UTC); null before the first import.
    pub last_import_at: Option<Rfc3339>,
    /// Health of the gateways as the switches report it.
    pub health: UpstreamHealth,
    /// SIP URIs that calls to the upstream are sent to.
    pub gateways: Vec<SipUri>,
    /// Networks that calls from the upstream come from.
    pub signaling_ips: Vec<Cidr>,
}

impl From<UpstreamRow> for Upstream {
    fn from(row: UpstreamRow) -> Self {
        Upstream {
            id: row.id,
            name: row.name,
            status: row.status,
            dispatcher_group_id: row.dispatcher_group_id,
            base_currency: row.base_currency,
            markup_percent: row.markup,
            rate_import_url: row.rate_import_url,
            rate_import_schedule: row.rate_import_schedule,
            last_import_at: row.last_import_at.map(Rfc3339),
            health: row.health,
            gateways: row.gateways.0,
            signaling_ips: row.signaling_ips.0,
        }
    }
}

/// A new upstream.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpstreamCreate {
    /// Name of the upstream.
    pub name: Text<1, 100>,
    /// Id of the upstream's gateway group (dispatcher set) on the switches; no two upstreams share one.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub dispatcher_group_id: i64,
    /// Currency of the upstream's rates; it cannot be changed later.
    pub base_currency: Currency,
    /// Markup in percent that is added to the upstream's rates to get sell rates.
    pub markup_percent: Markup,
    /// URL that the rate deck is pulled from; must begin with https://.
    #[serde(default)]
    pub rate_import_url: Option<WebUrl>,
    /// Cron pattern (UTC) by which the rate deck is pulled; needs `rate_import_url`.
    #[serde(default)]
    pub rate_import_schedule: Option<Cron>,
    /// SIP URIs that calls to the upstream are sent to.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub gateways: Vec<SipUri>,
    /// Networks that calls from the upstream come from.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub signaling_ips: Vec<Cidr>,
}

impl Checks for UpstreamCreate {
    fn check(given: &Given<'_>) {
        check_url(given);
        given.check_with("rate_import_schedule", "rate_import_url", |_: Cron, url: Option<WebUrl>| {
            must(url.is_some(), NEEDS_URL)
        });
    }
}

/// Why a schedule of deck pulls is refused.
pub const NEEDS_URL: &str = "needs a rate_import_url";

fn check_url(given: &Given<'_>) {
    let is_lab = given.settings.allow_private_ips;
    given.check("rate_import_url", |url: WebUrl| must(is_lab || url.is_encrypted(), "must begin with https://"));
}

/// Changes to an upstream; fields that are left out stay as they are.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpstreamUpdate {
    /// Whether the upstream is used for prices and routes.
    #[serde(default)]
    status: Change<UpstreamStatus>,
    /// Markup in percent that is added to the upstream's rates to get sell rates.
    #[serde(default)]
    markup_percent: Change<Markup>,
    /// URL that the rate deck is pulled from; must begin with https://; null removes it.
    #[serde(default)]
    rate_import_url: Change<Option<WebUrl>>,
    /// Cron pattern (UTC) by which the rate deck is pulled; null removes it.
    #[serde(default)]
    rate_import_schedule: Change<Option<Cron>>,
    /// SIP URIs that calls to the upstream are sent to; replaces the whole list.
    #[serde(default)]
    #[schemars(length(max = 32))]
    gateways: Change<Vec<SipUri>>,
    /// Networks that calls from the upstream come from; replaces the whole list.
    #[serde(default)]
    #[schemars(length(max = 64))]
    signaling_ips: Change<Vec<Cidr>>,
}

impl Checks for UpstreamUpdate {
    fn check(given: &Given<'_>) {
        check_url(given);
    }
}

impl UpstreamUpdate {
    /// The new gateways, if there are any.
    pub fn gateways(&self) -> Vec<SipUri> {
        let mut gateways = Vec::new();
        self.gateways.clone().apply(&mut gateways);
        gateways
    }

    pub fn apply(&self, upstream: &mut UpstreamRow, now: Time) {
        let UpstreamUpdate { status, markup_percent, rate_import_url, rate_import_schedule, gateways, signaling_ips } =
            self.clone();
        let (url, schedule) = (upstream.rate_import_url.clone(), upstream.rate_import_schedule.clone());
        status.apply(&mut upstream.status);
        markup_percent.apply(&mut upstream.markup);
        rate_import_url.apply(&mut upstream.rate_import_url);
        rate_import_schedule.apply(&mut upstream.rate_import_schedule);
        gateways.apply(&mut upstream.gateways.0);
        signaling_ips.apply(&mut upstream.signaling_ips.0);
        if upstream.rate_import_url != url {
            (upstream.pulled_hash, upstream.pulled_etag) = (None, None);
        }
        if upstream.rate_import_schedule != schedule {
            upstream.next_import_at = upstream.rate_import_schedule.as_ref().and_then(|cron| cron.after(now));
        }
    }
}
