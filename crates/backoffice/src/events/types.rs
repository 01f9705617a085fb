//! Events as the API shows them: a union, told apart by `type`.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::tickets::Ticket;
use billing::invoices::Invoice;
use billing::payments::Topup;
use identity::accounts::Account;
use identity::events::{EventId, EventRow, EventType};
use identity::notifications as notification;
use numbers::orders::NumberOrder;
use numbers::rented::Did;
use numbers::trunks::Trunk;
use values::Rfc3339;
use voice::calls::RouteBreaker;
use voice::cdrs::{Cdr, CdrExport};

/// What happened to an account. Its schema is the union of all types.
#[derive(Serialize)]
pub struct Event {
    pub id: EventId,
    #[serde(rename = "type")]
    pub kind: EventType,
    pub timestamp: Rfc3339,
    pub data: Value,
}

impl From<EventRow> for Event {
    fn from(row: EventRow) -> Self {
        let EventRow { id, kind, data, created_at, .. } = row;
        Event { id, kind, timestamp: Rfc3339(created_at), data: serde_json::from_str(&data).unwrap_or_default() }
    }
}

/// An event as the team sees it.
#[derive(Serialize)]
pub struct AdminEvent {
    #[serde(flatten)]
    pub event: Event,
    pub customer_id: Uuid,
}

impl From<EventRow> for AdminEvent {
    fn from(row: EventRow) -> Self {
        let customer_id = row.account_id.uuid();
        AdminEvent { event: row.into(), customer_id }
    }
}

/// Calls that have ended.
#[derive(Serialize, JsonSchema)]
pub struct EndedCalls {
    /// CDRs of the calls, up to 500.
    pub calls: Vec<Cdr>,
}

/// A test of a webhook endpoint.
#[derive(Serialize, JsonSchema)]
pub struct WebhookTestData {
    /// Webhook endpoint that is tested.
    pub webhook_endpoint_id: Uuid,
}

/// A type of event and its data.
trait Kind {
    const TYPE: EventType;
    const SCHEMA: &'static str;
    const DESCRIPTION: &'static str;
    type Data: JsonSchema;
}

/// The schema of an event of one type.
struct Typed<K>(PhantomData<K>);

impl<K: Kind> JsonSchema for Typed<K> {
    fn schema_name() -> Cow<'static, str> {
        K::SCHEMA.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": K::DESCRIPTION,
            "properties": {
                "id": described(generator.subschema_for::<EventId>(), "Id of the event, in webhooks also `webhook-id`."),
                "type": {"type": "string", "const": K::TYPE.as_str(), "description": "Type of the event."},
                "timestamp": described(generator.subschema_for::<Rfc3339>(), "When it happened (RFC 3339, UTC)."),
                "data": described(generator.subschema_for::<K::Data>(), "What the event is about, as it was then."),
                "customer_id": {
                    "type": "string",
                    "format": "uuid",
                    "description": "Account that it happened to; only in what the team gets.",
                },
            },
            "required": ["id", "type", "timestamp", "data"],
        })
    }
}

fn described(schema: Schema, description: &str) -> Value {
    let mut schema = schema.to_value();
    schema["description"] = description.into();
    schema
}

macro_rules! kinds {
    ($($kind:ident: $data:ty, $description:literal;)*) => {
        mod kind {
            $(pub enum $kind {})*
        }

        $(impl Kind for kind::$kind {
            const TYPE: EventType = EventType::$kind;
            const SCHEMA: &'static str = concat!(stringify!($kind), "Event");
            const DESCRIPTION: &'static str = $description;
            type Data = $data;
        })*

        /// Every type with the reference to its schema.
        fn variants(generator: &mut SchemaGenerator) -> Vec<(EventType, Value)> {
            vec![$((EventType::$kind, generator.subschema_for::<Typed<kind::$kind>>().to_value())),*]
        }
    };
}

kinds! {
    BalanceLow: notification::BalanceLow, "The balance fell below the low-balance threshold.";
    BalanceExhausted: notification::BalanceExhausted, "No money is available.";
    TopupCreated: Topup, "A top-up or an auto-recharge was started.";
    TopupCompleted: Topup, "A top-up or an auto-recharge was completed.";
    TopupFailed: Topup, "A top-up or an auto-recharge failed or expired.";
    RechargeFailed: notification::RechargeFailed, "An auto-recharge failed.";
    InvoiceIssued: Invoice, "An invoice was issued.";
    InvoicePaid: Invoice, "An invoice was paid.";
    InvoiceVoided: Invoice, "An invoice was voided.";
    NumberOrdered: NumberOrder, "A number was ordered.";
    NumberActive: Did, "A number was activated.";
    NumberFailed: notification::NumberFailed, "A number order failed.";
    NumberRenewalAhead: notification::NumberRenewalAhead, "The balance does not cover upcoming renewals.";
    NumberRenewalFailed: notification::NumberRenewalFailed, "A number could not be renewed.";
    NumberReleased: Did, "A number was released.";
    TrunkCreated: Trunk, "A trunk was created.";
    TrunkUpdated: Trunk, "A trunk was changed.";
    TrunkDeleted: Trunk, "A trunk was deleted.";
    FraudCapReached: notification::FraudCapReached, "The daily spend of the fraud cap was reached.";
    SpendJump: notification::SpendJump, "The calls of an hour cost far more than usual.";
    QualityLowAsr: notification::QualityLowAsr, "The ASR of a destination is low.";
    ExportReady: CdrExport, "A CDR export can be downloaded.";
    VatValid: notification::VatValid, "The VAT id was confirmed.";
    VatInvalid: notification::VatInvalid, "The VAT id was not confirmed.";
    RatesChanged: notification::RatesChanged, "Sell rates have changed or are about to.";
    KybApproved: notification::KybApproved, "KYB was approved.";
    KybRejected: notification::KybRejected, "KYB was rejected.";
    ComplianceMoreInfo: notification::ComplianceMoreInfo, "The team asks for more documents.";
    TicketReplied: Ticket, "The team replied to a ticket.";
    AccountStatusChanged: Account, "The onboarding status of the account changed.";
    AccountSuspended: notification::AccountSuspended, "The account was suspended.";
    AccountReinstated: notification::AccountReinstated, "The suspension of the account was lifted.";
    PaymentDisputed: notification::PaymentDisputed, "A card payment was disputed.";
    PaymentDisputeWon: notification::PaymentDisputeWon, "A dispute was decided for us.";
    PaymentDisputeLost: notification::PaymentDisputeLost, "A dispute was lost.";
    AllowListEntryRemoved: notification::AllowListEntryRemoved, "The team removed an entry of an allow-list.";
    WebhookDisabled: notification::WebhookDisabled, "A webhook endpoint was disabled.";
    RouteBreakerOpened: RouteBreaker, "The circuit breaker of a route opened; only the team gets it.";
    RouteBreakerClosed: RouteBreaker, "The circuit breaker of a route closed; only the team gets it.";
    CallsEnded: EndedCalls, "Calls have ended; sent only to webhook endpoints that name it.";
    WebhookTest: WebhookTestData, "A test of a webhook endpoint, sent to this endpoint only.";
}

impl JsonSchema for Event {
    fn schema_name() -> Cow<'static, str> {
        "Event".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let variants = variants(generator);
        let mapping: Map<String, Value> =
            variants.iter().map(|(kind, schema)| (kind.as_str().to_owned(), schema["$ref"].clone())).collect();
        let schemas: Vec<Value> = variants.into_iter().map(|(_, schema)| schema).collect();
        json_schema!({
            "description": "What happened to an account; `type` tells which fields `data` has.",
            "oneOf": schemas,
            "discriminator": {"propertyName": "type", "mapping": mapping},
        })
    }
}

/// The same schema: a union with a field more would be too much for generators of clients.
impl JsonSchema for AdminEvent {
    fn schema_name() -> Cow<'static, str> {
        Event::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        Event::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Event::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_event_is_in_the_union() {
        let mut generator = SchemaGenerator::default();
        let described: Vec<EventType> = variants(&mut generator).into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(described, EventType::ALL);
    }
}
