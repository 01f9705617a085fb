//! Everything an account can be told of: each code with its severity and what its payload says.
//!
//! A feature that has news adds an entry here and hands [`notify`](super::notify) the struct; code, severity and
//! payload cannot get mixed up.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::accounts::OnboardingStatus;
use values::{Date, E164, ExactMoney, Money, Rfc3339, text_enum};

text_enum! {
    pub enum Severity {
        Info = "info",
        Warning = "warning",
        Critical = "critical",
    }
}

/// What an account is told of: the payload of one code.
pub trait News: Serialize {
    const CODE: NotificationCode;
    const SEVERITY: Severity;
}

macro_rules! news {
    ($($(#[doc = $story:literal])* $name:ident = $code:literal, $severity:ident {
        $($(#[doc = $about:literal])* $field:ident: $type:ty),* $(,)?
    })*) => {
        text_enum! {
            /// What a notification is about.
            pub enum NotificationCode {
                $($(#[doc = $story])* $name = $code),*
            }
        }

        $(
            $(#[doc = $story])*
            #[derive(Clone, Debug, Serialize, JsonSchema)]
            pub struct $name {
                $($(#[doc = $about])* pub $field: $type),*
            }

            impl News for $name {
                const CODE: NotificationCode = NotificationCode::$name;
                const SEVERITY: Severity = Severity::$severity;
            }
        )*

        /// Every code with what it says, in the order of the declaration.
        pub fn catalogue() -> Vec<NotificationKind> {
            vec![$(NotificationKind {
                code: NotificationCode::$name,
                severity: Severity::$severity,
                description: concat!($($story),*).trim(),
                payload: stand_alone::<$name>(),
            }),*]
        }

        /// The payload of each code, under the code as its title.
        pub fn payload_schema(generator: &mut SchemaGenerator) -> Schema {
            let forms: Vec<Value> = vec![$(titled($code, &generator.subschema_for::<$name>())),*];
            json_schema!({ "type": "object", "anyOf": forms })
        }
    };
}

/// A code, and what its notifications carry.
#[derive(Serialize, JsonSchema)]
pub struct NotificationKind {
    pub code: NotificationCode,
    pub severity: Severity,
    pub description: &'static str,
    /// The JSON schema of the payload.
    #[schemars(with = "std::collections::BTreeMap<String, Value>")]
    pub payload: Value,
}

/// A schema that refers to nothing outside of itself.
fn stand_alone<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}

fn titled(code: &str, schema: &Schema) -> Value {
    let mut form = json!({ "title": code });
    if let (Some(form), Some(schema)) = (form.as_object_mut(), schema.as_object()) {
        form.extend(schema.clone());
    }
    form
}

news! {
    /// The balance fell below the share of the last 30 days' spend that the account chose.
    BalanceLow = "balance.low", Warning {
        balance: ExactMoney,
        /// What it fell below.
        threshold: ExactMoney,
        threshold_pct: i64,
        spend_30d: ExactMoney,
    }

    /// Nothing is left to spend: calls and orders are refused.
    BalanceExhausted = "balance.exhausted", Critical {
        balance: ExactMoney,
        /// What has to be left on the balance.
        minimum: Money,
    }

    /// A payment arrived on the balance.
    TopupCompleted = "topup.completed", Info {
        topup_id: Uuid,
        amount: Money,
        balance_after: ExactMoney,
    }

    /// A payment came to nothing.
    TopupFailed = "topup.failed", Warning {
        topup_id: Uuid,
        amount: Money,
        /// What the provider says of it, if anything.
        reason: Option<String>,
    }

    /// The saved card was declined.
    RechargeFailed = "recharge.failed", Critical {
        payment_method_id: Uuid,
        amount: Money,
        /// What the provider says of it, if anything.
        reason: Option<String>,
        /// Whether it was declined so often that auto-recharge is off now.
        disabled: bool,
    }

    /// There is a new invoice.
    InvoiceIssued = "invoice.issued", Info {
        invoice_id: Uuid,
        number: String,
        total: ExactMoney,
        due_date: Date,
    }

    /// A number works, and its calls go to its trunk.
    NumberActive = "number.active", Info {
        number_id: Uuid,
        order_id: Uuid,
        e164: E164,
    }

    /// A number order came to nothing; what was charged is back on the balance.
    NumberFailed = "number.failed", Warning {
        order_id: Uuid,
        e164: E164,
        reason: String,
        refunded: Money,
    }

    /// The balance will not do for the numbers that renew in the next days.
    NumberRenewalAhead = "number.renewal_ahead", Warning {
        /// How many numbers renew.
        numbers: i64,
        /// What that costs.
        total: Money,
        available: ExactMoney,
        first_renewal_at: Rfc3339,
    }

    /// A number could not be renewed, for want of money.
    NumberRenewalFailed = "number.renewal_failed", Warning {
        number_id: Uuid,
        e164: E164,
        monthly: Money,
        available: ExactMoney,
        /// How often in a row; the third releases the number.
        failures: i64,
        again_at: Rfc3339,
    }

    /// A number is not yours any more.
    NumberReleased = "number.released", Critical {
        number_id: Uuid,
        e164: E164,
        reason: String,
    }

    /// What calls may cost in a day is spent: calls are refused until midnight UTC.
    FraudCapReached = "fraud.cap_reached", Critical {
        max_spend_per_day: Money,
    }

    /// The calls of an hour cost far more than those of the week before: somebody else may be using a trunk.
    SpendJump = "fraud.spend_jump", Critical {
        /// When the hour began.
        hour: Rfc3339,
        spend: ExactMoney,
        /// What an hour of the week before has cost.
        average: ExactMoney,
    }

    /// Hardly anybody answers at a destination on this day.
    QualityLowAsr = "quality.low_asr", Warning {
        date: Date,
        country: String,
        destination_name: String,
        attempts: i64,
        answered: i64,
        /// The answered share of the attempts, from 0 to 1.
        asr: f64,
    }

    /// A file of calls can be fetched.
    ExportReady = "export.ready", Info {
        export_id: Uuid,
        rows_count: i64,
        size_bytes: i64,
        /// When the file goes.
        expires_at: Rfc3339,
    }

    /// The VAT id was confirmed.
    VatValid = "vat.valid", Info {
        vat_id: String,
    }

    /// Prices have changed or are about to: the difference between the two moments tells which.
    RatesChanged = "rates.changed", Info {
        /// The last moment of the old prices.
        from: Rfc3339,
        /// When the last of the new prices is in force.
        to: Rfc3339,
    }

    /// The VAT id was not confirmed.
    VatInvalid = "vat.invalid", Warning {
        vat_id: String,
    }

    /// The business was verified.
    KybApproved = "kyb.approved", Info {
        /// What the reviewer wrote, if anything.
        note: Option<String>,
    }

    /// The business was not verified; the next look at it begins anew.
    KybRejected = "kyb.rejected", Warning {
        /// What the reviewer wrote, if anything.
        note: Option<String>,
    }

    /// Documents are missing or cannot be read.
    ComplianceMoreInfo = "compliance.more_info", Warning {
        intake_id: Uuid,
        /// What the reviewer wrote, if anything.
        note: Option<String>,
    }

    /// The team has answered a ticket.
    TicketReply = "ticket.reply", Info {
        ticket_id: Uuid,
        subject: String,
    }

    /// The account may only look, top up and write to support.
    AccountSuspended = "account.suspended", Critical {
        /// What the team says of it, if anything.
        reason: Option<String>,
    }

    /// The account may do again what it might before.
    AccountReinstated = "account.reinstated", Info {
        /// What it is again.
        onboarding_status: OnboardingStatus,
    }
}
