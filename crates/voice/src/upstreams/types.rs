//! Upstreams over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::UpstreamRow;
use api::problem::{InvalidParam, Problem};
use platform::routing::tariff::UpstreamStatus;
use platform::routing::upstreams::UpstreamHealth;
use values::{Change, Cidr, Cron, Currency, Markup, Rfc3339, SipUri, Text, Time, UpstreamId, WebUrl};

#[derive(Serialize, JsonSchema)]
pub struct Upstream {
    pub id: UpstreamId,
    pub name: Text<1, 100>,
    pub status: UpstreamStatus,
    /// What the switch calls its group of gateways.
    pub dispatcher_group_id: i64,
    /// What its rates are in.
    pub base_currency: Currency,
    pub markup_percent: Markup,
    pub rate_import_url: Option<WebUrl>,
    /// When the deck is pulled, in UTC.
    pub rate_import_schedule: Option<Cron>,
    pub last_import_at: Option<Rfc3339>,
    pub health: UpstreamHealth,
    /// Where calls to it are sent.
    pub gateways: Vec<SipUri>,
    /// Where calls from it come from.
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

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpstreamCreate {
    pub name: Text<1, 100>,
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub dispatcher_group_id: i64,
    /// What its rates are in; it stays so.
    pub base_currency: Currency,
    pub markup_percent: Markup,
    #[serde(default)]
    pub rate_import_url: Option<WebUrl>,
    #[serde(default)]
    pub rate_import_schedule: Option<Cron>,
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub gateways: Vec<SipUri>,
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub signaling_ips: Vec<Cidr>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpstreamUpdate {
    #[serde(default)]
    status: Change<UpstreamStatus>,
    #[serde(default)]
    markup_percent: Change<Markup>,
    #[serde(default)]
    rate_import_url: Change<Option<WebUrl>>,
    #[serde(default)]
    rate_import_schedule: Change<Option<Cron>>,
    #[serde(default)]
    #[schemars(length(max = 32))]
    gateways: Change<Vec<SipUri>>,
    #[serde(default)]
    #[schemars(length(max = 64))]
    signaling_ips: Change<Vec<Cidr>>,
}

impl UpstreamUpdate {
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

/// Whether decks can be pulled as an upstream says: from an address that may be asked, and by a schedule only if there
/// is one.
pub fn check_pulling(url: Option<&WebUrl>, schedule: Option<&Cron>, is_lab: bool) -> Result<(), Problem> {
    let mut faults = Vec::new();
    let mut wrong = |name: &str, reason: &str| faults.push(InvalidParam { name: name.into(), reason: reason.into() });
    if url.is_some_and(|url| !url.is_encrypted() && !is_lab) {
        wrong("rate_import_url", "must begin with https://");
    }
    if schedule.is_some() && url.is_none() {
        wrong("rate_import_schedule", "needs a rate_import_url");
    }
    if faults.is_empty() { Ok(()) } else { Err(Problem::validation(faults)) }
}
