//! Webhook endpoints and deliveries as the API shows them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::store::{DeliveryId, DeliveryRow, EndpointId, EndpointRow};
use api::checks::{Checks, Given, must};
use identity::events::{EventId, EventType};
use platform::outside::fetch;
use values::{Change, Invalid, Rfc3339, Stored, Text, WebUrl, text_enum};

/// Selects events by their type: one type, or `*` for all but `calls.ended`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventSelector {
    All,
    Type(EventType),
}

const ALL: &str = "*";

impl EventSelector {
    pub fn selects(self, kind: EventType) -> bool {
        match self {
            EventSelector::All => kind.is_listed(),
            EventSelector::Type(selected) => selected == kind,
        }
    }

    fn words() -> Vec<&'static str> {
        let named = EventType::ALL.iter().filter(|kind| **kind != EventType::WebhookTest).map(|kind| kind.as_str());
        std::iter::once(ALL).chain(named).collect()
    }

    fn invalid() -> Invalid {
        Invalid::because("must be a type of event, or * for all types but calls.ended")
    }
}

impl fmt::Display for EventSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventSelector::All => f.write_str(ALL),
            EventSelector::Type(kind) => kind.fmt(f),
        }
    }
}

impl FromStr for EventSelector {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            ALL => Ok(EventSelector::All),
            _ => match text.parse() {
                Ok(EventType::WebhookTest) | Err(_) => Err(EventSelector::invalid()),
                Ok(kind) => Ok(EventSelector::Type(kind)),
            },
        }
    }
}

impl Serialize for EventSelector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EventSelector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        values::scalar::text(deserializer, EventSelector::invalid)
    }
}

impl JsonSchema for EventSelector {
    fn schema_name() -> Cow<'static, str> {
        "EventSelector".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "enum": EventSelector::words(),
            "description": "A type of event, or `*` for all types but `calls.ended`.",
        })
    }
}

impl Stored for EventSelector {
    type Raw = String;

    fn to_raw(&self) -> String {
        self.to_string()
    }

    fn from_raw(raw: String) -> Result<Self, Invalid> {
        raw.parse()
    }
}

text_enum! {
    /// Why an endpoint was disabled: `gone` (it responded 410) or `failing` (no delivery succeeded for 5 days).
    pub enum DisabledReason {
        Gone = "gone",
        Failing = "failing",
    }
}

text_enum! {
    /// Status of a delivery: `pending` (to be attempted), `delivered`, or `failed` (no attempt is left).
    pub enum DeliveryStatus {
        Pending = "pending",
        Delivered = "delivered",
        Failed = "failed",
    }
}

/// A URL that events are sent to.
#[derive(Serialize, JsonSchema)]
pub struct WebhookEndpoint {
    /// Id of the webhook endpoint.
    pub id: EndpointId,
    /// URL that events are posted to.
    pub url: WebUrl,
    /// Description of the endpoint; null when there is none.
    pub description: Option<Text<0, 200>>,
    /// Types of events that are sent.
    pub event_types: Vec<EventSelector>,
    /// Whether events are sent. Deliveries that are pending wait while it is disabled.
    pub enabled: bool,
    /// Why the service disabled the endpoint; null unless it did.
    pub disabled_reason: Option<DisabledReason>,
    /// When the first delivery since the last success failed (RFC 3339, UTC); null while deliveries succeed.
    pub failing_since: Option<Rfc3339>,
    /// When the endpoint was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

impl From<EndpointRow> for WebhookEndpoint {
    fn from(row: EndpointRow) -> Self {
        WebhookEndpoint {
            id: row.id,
            url: row.url,
            description: row.description,
            event_types: row.event_types.0,
            enabled: row.is_enabled,
            disabled_reason: row.disabled_reason,
            failing_since: row.failing_since.map(Rfc3339),
            created_at: row.created_at.into(),
        }
    }
}

/// A new webhook endpoint with its secret.
#[derive(Serialize, JsonSchema)]
pub struct NewWebhookEndpoint {
    #[serde(flatten)]
    pub endpoint: WebhookEndpoint,
    /// Secret that deliveries are signed with (Standard Webhooks); shown only now.
    pub secret: String,
}

/// A new secret of a webhook endpoint.
#[derive(Serialize, JsonSchema)]
pub struct WebhookSecret {
    /// Secret that deliveries are signed with from now on; shown only now.
    pub secret: String,
    /// Until then deliveries are signed with the previous secret too (RFC 3339, UTC).
    pub previous_until: Rfc3339,
}

/// A webhook endpoint to create.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookEndpointCreate {
    /// URL with https that events are posted to.
    #[schemars(example = "https://erp.example/webhooks/trunkline")]
    pub url: WebUrl,
    /// Description of the endpoint.
    #[serde(default)]
    pub description: Option<Text<0, 200>>,
    /// Types of events to send.
    #[schemars(length(min = 1, max = 50))]
    pub event_types: Vec<EventSelector>,
    /// Whether events are sent.
    #[serde(default = "enabled")]
    pub enabled: bool,
}

fn enabled() -> bool {
    true
}

/// Changes to a webhook endpoint; fields that are left out stay as they are.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookEndpointUpdate {
    /// URL with https that events are posted to.
    #[serde(default)]
    url: Change<WebUrl>,
    /// Description of the endpoint; null removes it.
    #[serde(default)]
    description: Change<Option<Text<0, 200>>>,
    /// Types of events to send.
    #[serde(default)]
    #[schemars(length(min = 1, max = 50))]
    event_types: Change<Vec<EventSelector>>,
    /// Whether events are sent. Enabling an endpoint also sends what was pending.
    #[serde(default)]
    enabled: Change<bool>,
}

impl Checks for WebhookEndpointCreate {
    fn check(given: &Given<'_>) {
        check_url(given);
    }
}

impl Checks for WebhookEndpointUpdate {
    fn check(given: &Given<'_>) {
        check_url(given);
    }
}

fn check_url(given: &Given<'_>) {
    let is_lab = given.settings.allow_private_ips;
    given.check("url", |url: WebUrl| fetch::check_url(&url, is_lab).or_else(|error| must(false, error.0)));
}

impl WebhookEndpointUpdate {
    pub fn apply(self, row: &mut EndpointRow) {
        let old_url = row.url.clone();
        self.url.apply(&mut row.url);
        if row.url != old_url {
            row.failing_since = None;
        }
        self.description.apply(&mut row.description);
        self.event_types.apply(&mut row.event_types.0);
        let was_enabled = row.is_enabled;
        self.enabled.apply(&mut row.is_enabled);
        row.sort_event_types();
        if row.is_enabled && !was_enabled {
            (row.failing_since, row.disabled_reason) = (None, None);
        }
    }
}

/// One attempt of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookAttempt {
    /// When the attempt began (RFC 3339, UTC).
    pub at: Rfc3339,
    /// Status of the response; null when there was none.
    pub status_code: Option<i64>,
    /// How long the attempt took, in milliseconds.
    pub duration_ms: i64,
    /// Why the attempt failed; null when it succeeded.
    pub error: Option<String>,
    /// How the body of the response begins; null when there was none.
    pub response_excerpt: Option<String>,
}

/// An event on its way to a webhook endpoint.
#[derive(Serialize, JsonSchema)]
pub struct WebhookDelivery {
    /// Id of the delivery.
    pub id: DeliveryId,
    /// Event that is delivered.
    pub event_id: EventId,
    /// Type of the event.
    pub event_type: EventType,
    /// Status of the delivery.
    pub status: DeliveryStatus,
    /// The latest 20 attempts, oldest first.
    pub attempts: Vec<WebhookAttempt>,
    /// When the next attempt is due (RFC 3339, UTC); null when there is none.
    pub next_attempt_at: Option<Rfc3339>,
    /// When the delivery was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

impl From<DeliveryRow> for WebhookDelivery {
    fn from(row: DeliveryRow) -> Self {
        WebhookDelivery {
            id: row.id,
            event_id: row.event_id,
            event_type: row.event_type,
            status: row.status,
            attempts: row.attempts.0,
            next_attempt_at: row.next_attempt_at.map(Rfc3339),
            created_at: row.created_at.into(),
        }
    }
}

/// Filters of the list of deliveries.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryFilters {
    /// Return deliveries in this status only.
    #[serde(default)]
    pub status: Option<DeliveryStatus>,
}

/// Events to send again.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookReplayCreate {
    /// Send events at this time or later (RFC 3339).
    pub from: Rfc3339,
    /// Send events before this time (RFC 3339); by default all until now.
    #[serde(default)]
    pub to: Option<Rfc3339>,
    /// Send only events whose delivery failed.
    #[serde(default)]
    pub only_failed: bool,
}

impl Checks for WebhookReplayCreate {
    fn check(given: &Given<'_>) {
        given.check_with("to", "from", |to: Rfc3339, from: Rfc3339| must(to.0 > from.0, "must be after from"));
    }
}

/// How many events are sent again.
#[derive(Serialize, JsonSchema)]
pub struct WebhookReplay {
    /// Number of deliveries that were created or are attempted again.
    pub deliveries: i64,
}
