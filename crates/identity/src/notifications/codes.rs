//! Notification codes, each with its severity and payload.
//!
//! To add a notification, add an entry here and pass its struct to [`notify`](super::notify); code and severity follow
//! from the struct.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::store::NotificationId;
use crate::accounts::OnboardingStatus;
use values::{Date, E164, ExactMoney, Money, Rfc3339, text_enum};

text_enum! {
    /// Severity of a notification or notice: `info`, `warning` (should be looked at), or `critical` (calls or orders
    /// are affected, or will be soon).
    pub enum Severity {
        Info = "info",
        Warning = "warning",
        Critical = "critical",
    }
}

/// Payload of one notification code.
pub trait NotificationPayload: Serialize {
    const CODE: NotificationCode;
    const SEVERITY: Severity;
}

macro_rules! notifications {
    ($($(#[doc = $description:literal])* $name:ident = $code:literal, $severity:ident {
        $($(#[doc = $field_description:literal])* $field:ident: $type:ty),* $(,)?
    })*) => {
        text_enum! {
            /// Code of a notification; `GET /notification-codes` describes each.
            pub enum NotificationCode {
                $($(#[doc = $description])* $name = $code),*
            }
        }

        $(
            $(#[doc = $description])*
            #[derive(Clone, Debug, Serialize, JsonSchema)]
            pub struct $name {
                $($(#[doc = $field_description])* pub $field: $type),*
            }

            impl NotificationPayload for $name {
                const CODE: NotificationCode = NotificationCode::$name;
                const SEVERITY: Severity = Severity::$severity;
            }
        )*

        /// All codes, in the order of the declaration.
        pub fn catalogue() -> Vec<NotificationKind> {
            vec![$(NotificationKind {
                code: NotificationCode::$name,
                severity: Severity::$severity,
                description: concat!($($description),*).trim(),
                payload: inline_schema::<$name>(),
            }),*]
        }

        /// Schema of any notification: one alternative for each code.
        pub(super) fn union_schema(generator: &mut SchemaGenerator) -> Schema {
            let forms = vec![$(($code, generator.subschema_for::<NotificationOf<$name>>())),*];
            let mapping: serde_json::Map<String, Value> = forms
                .iter()
                .filter_map(|(code, form)| Some(((*code).to_owned(), form.get("$ref")?.clone())))
                .collect();
            let forms: Vec<Schema> = forms.into_iter().map(|(_, form)| form).collect();
            json_schema!({
                "oneOf": forms,
                "discriminator": {"propertyName": "code", "mapping": mapping},
            })
        }
    };
}

/// Notification code with its severity and payload schema.
#[derive(Serialize, JsonSchema)]
pub struct NotificationKind {
    /// Code of the notification.
    pub code: NotificationCode,
    /// Severity of every notification with this code.
    pub severity: Severity,
    /// When a notification with this code is sent.
    pub description: &'static str,
    /// JSON schema of the payload.
    #[schemars(with = "std::collections::BTreeMap<String, Value>")]
    pub payload: Value,
}

/// A schema without references to other schemas.
fn inline_schema<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}

/// A notification with this payload, for the description only. The fields are those of `Notification`.
#[derive(JsonSchema)]
#[schemars(rename = "{P}Notification")]
#[allow(dead_code)]
pub struct NotificationOf<P: NotificationPayload + JsonSchema> {
    /// Id of the notification.
    id: NotificationId,
    /// Code of the notification; clients map it to a text.
    #[schemars(schema_with = "code_schema::<P>")]
    code: NotificationCode,
    /// Severity of the notification.
    #[schemars(schema_with = "severity_schema::<P>")]
    severity: Severity,
    /// Details of this code.
    payload: P,
    /// When a user of the account marked it as read (RFC 3339, UTC); null while it is unread.
    read_at: Option<Rfc3339>,
    /// When it happened (RFC 3339, UTC).
    created_at: Rfc3339,
}

fn code_schema<P: NotificationPayload>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": P::CODE.as_str() })
}

fn severity_schema<P: NotificationPayload>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": P::SEVERITY.as_str() })
}

notifications! {
    /// The balance fell below the low-balance threshold of the account.
    BalanceLow = "balance.low", Warning {
        /// Current balance.
        balance: ExactMoney,
        /// Threshold that the balance fell below: `threshold_pct` percent of `spend_30d`.
        threshold: ExactMoney,
        /// Low-balance threshold of the account, in percent of the last 30 days' spend.
        threshold_pct: i64,
        /// Spend of the last 30 days.
        spend_30d: ExactMoney,
    }

    /// No money is available: calls and orders are refused.
    BalanceExhausted = "balance.exhausted", Critical {
        /// Current balance.
        balance: ExactMoney,
        /// Amount that must stay on the balance; below zero it is a credit line.
        minimum: Money,
    }

    /// A top-up was completed.
    TopupCompleted = "topup.completed", Info {
        /// Id of the top-up.
        topup_id: Uuid,
        /// Amount that was added to the balance.
        amount: Money,
        /// Balance after the top-up.
        balance_after: ExactMoney,
    }

    /// A top-up failed.
    TopupFailed = "topup.failed", Warning {
        /// Id of the top-up.
        topup_id: Uuid,
        /// Amount of the top-up.
        amount: Money,
        /// Reason that the payment provider gave, or `card_limit` if the card paid too often or too much in 24 hours and
        /// the money is on its way back; null when there is none.
        reason: Option<String>,
    }

    /// An auto-recharge failed because the saved card was declined.
    RechargeFailed = "recharge.failed", Critical {
        /// Id of the saved card.
        payment_method_id: Uuid,
        /// Amount of the auto-recharge.
        amount: Money,
        /// Reason that the payment provider gave, or `card_limit` if the card paid too often or too much in 24 hours;
        /// null when there is none.
        reason: Option<String>,
        /// Whether auto-recharge was turned off after repeated failures.
        disabled: bool,
    }

    /// A card's bank disputes a payment: its amount is frozen until the bank has decided.
    PaymentDisputed = "payment.disputed", Critical {
        /// Id of the disputed top-up.
        topup_id: Uuid,
        /// Amount that was taken out of the balance.
        amount: Money,
        /// Balance without the amount.
        balance_after: ExactMoney,
        /// Whether auto-recharge was turned off because of it.
        auto_recharge_disabled: bool,
    }

    /// A disputed payment stands: its amount is back on the balance.
    PaymentDisputeWon = "payment.dispute_won", Info {
        /// Id of the top-up that was disputed.
        topup_id: Uuid,
        /// Amount that was returned to the balance.
        amount: Money,
        /// Balance with the amount.
        balance_after: ExactMoney,
    }

    /// A disputed payment was taken back by the card's bank: its amount does not return to the balance.
    PaymentDisputeLost = "payment.dispute_lost", Critical {
        /// Id of the top-up that was disputed.
        topup_id: Uuid,
        /// Amount that went back to the card.
        amount: Money,
        /// Balance without the amount.
        balance_after: ExactMoney,
    }

    /// An invoice was issued.
    InvoiceIssued = "invoice.issued", Info {
        /// Id of the invoice.
        invoice_id: Uuid,
        /// Invoice number.
        number: String,
        /// Total of the invoice, VAT included.
        total: ExactMoney,
        /// Day by which the invoice must be paid.
        due_date: Date,
    }

    /// A number was activated; calls to it go to its trunk.
    NumberActive = "number.active", Info {
        /// Id of the number.
        number_id: Uuid,
        /// Id of the number order.
        order_id: Uuid,
        /// The number in E.164 format.
        e164: E164,
    }

    /// A number order failed; the amount charged was refunded to the balance.
    NumberFailed = "number.failed", Warning {
        /// Id of the number order.
        order_id: Uuid,
        /// The number in E.164 format.
        e164: E164,
        /// Why the order failed.
        reason: String,
        /// Amount that was refunded to the balance.
        refunded: Money,
    }

    /// The available balance does not cover the upcoming number renewals.
    NumberRenewalAhead = "number.renewal_ahead", Warning {
        /// How many numbers renew.
        numbers: i64,
        /// Total price of these renewals.
        total: Money,
        /// Available balance.
        available: ExactMoney,
        /// When the first of them renews (RFC 3339, UTC).
        first_renewal_at: Rfc3339,
    }

    /// A number could not be renewed because the balance was too low.
    NumberRenewalFailed = "number.renewal_failed", Warning {
        /// Id of the number.
        number_id: Uuid,
        /// The number in E.164 format.
        e164: E164,
        /// Monthly price of the number.
        monthly: Money,
        /// Available balance.
        available: ExactMoney,
        /// Failed renewals in a row; the third releases the number.
        failures: i64,
        /// When the renewal is retried (RFC 3339, UTC).
        again_at: Rfc3339,
    }

    /// A number was released and no longer belongs to the account.
    NumberReleased = "number.released", Critical {
        /// Id of the number.
        number_id: Uuid,
        /// The number in E.164 format.
        e164: E164,
        /// Why the number was released.
        reason: String,
    }

    /// The daily spend of the fraud cap was reached: calls are refused until midnight UTC.
    FraudCapReached = "fraud.cap_reached", Critical {
        /// Maximum spend per UTC day that the account set.
        max_spend_per_day: Money,
    }

    /// The calls of one hour cost far more than in the week before; somebody else may be using a trunk.
    SpendJump = "fraud.spend_jump", Critical {
        /// Start of the hour (RFC 3339, UTC).
        hour: Rfc3339,
        /// Spend of that hour.
        spend: ExactMoney,
        /// Average spend per hour in the week before.
        average: ExactMoney,
    }

    /// The answer-seizure ratio (ASR) of a destination is low on this day.
    QualityLowAsr = "quality.low_asr", Warning {
        /// UTC day of the calls.
        date: Date,
        /// Country of the destination, as an ISO 3166-1 alpha-2 code.
        country: String,
        /// Name of the destination.
        destination_name: String,
        /// Number of calls to the destination.
        attempts: i64,
        /// Number of answered calls.
        answered: i64,
        /// Answered calls divided by all calls, from 0 to 1.
        asr: f64,
    }

    /// The team removed a network from the allow-list of a trunk: calls from there are denied.
    AllowListEntryRemoved = "allow_list.entry_removed", Critical {
        /// Id of the trunk.
        trunk_id: Uuid,
        /// Name of the trunk.
        trunk_name: String,
        /// The network in CIDR form.
        cidr: String,
    }

    /// A CDR export can be downloaded.
    ExportReady = "export.ready", Info {
        /// Id of the export.
        export_id: Uuid,
        /// Number of CDRs in the file.
        rows_count: i64,
        /// Size of the file in bytes.
        size_bytes: i64,
        /// When the file is deleted (RFC 3339, UTC).
        expires_at: Rfc3339,
    }

    /// The VAT id was confirmed.
    VatValid = "vat.valid", Info {
        /// The VAT id that was checked.
        vat_id: String,
    }

    /// Sell rates have changed or are about to; compare the tariffs at `from` and `to` to see which.
    RatesChanged = "rates.changed", Info {
        /// Last moment of the old rates (RFC 3339, UTC).
        from: Rfc3339,
        /// When all new rates are in force (RFC 3339, UTC).
        to: Rfc3339,
        /// Notice with the changes, see `GET /price-notices/{id}`.
        price_notice_id: Uuid,
    }

    /// The VAT id was not confirmed.
    VatInvalid = "vat.invalid", Warning {
        /// The VAT id that was checked.
        vat_id: String,
    }

    /// KYB was approved.
    KybApproved = "kyb.approved", Info {
        /// Note of the reviewer; null when there is none.
        note: Option<String>,
    }

    /// KYB was rejected; `GET /me/kyb` opens a new intake.
    KybRejected = "kyb.rejected", Warning {
        /// Note of the reviewer; null when there is none.
        note: Option<String>,
    }

    /// The team asks for more documents in a compliance intake.
    ComplianceMoreInfo = "compliance.more_info", Warning {
        /// Id of the compliance intake.
        intake_id: Uuid,
        /// Note of the reviewer; null when there is none.
        note: Option<String>,
    }

    /// The team replied to a ticket.
    TicketReply = "ticket.reply", Info {
        /// Id of the ticket.
        ticket_id: Uuid,
        /// Subject of the ticket.
        subject: String,
    }

    /// The account was suspended: it may only read, top up and write to support.
    AccountSuspended = "account.suspended", Critical {
        /// Reason that the team gave; null when it gave none.
        reason: Option<String>,
    }

    /// The suspension of the account was lifted.
    AccountReinstated = "account.reinstated", Info {
        /// Onboarding status of the account, as before the suspension.
        onboarding_status: OnboardingStatus,
    }

    /// A webhook endpoint was disabled: it asked for it (410), or no delivery succeeded for 5 days.
    WebhookDisabled = "webhook.disabled", Warning {
        /// Id of the webhook endpoint.
        webhook_endpoint_id: Uuid,
        /// URL of the webhook endpoint.
        url: String,
        /// Why it was disabled: `gone` or `failing`.
        reason: String,
    }
}
