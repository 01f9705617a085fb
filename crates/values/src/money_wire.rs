//! Money in JSON.
//!
//! [`Money`] is sent as `{amount_minor, currency}`, rounded to the minor unit. [`ExactMoney`], for rates and sums of
//! them, also has the exact `amount`. Both accept `amount_minor`, `amount`, or both if `amount_minor` is `amount`
//! rounded.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::money::DECIMAL_REASON;
use super::{Change, Currency, Invalid, Money, scalar};

pub(super) const DECIMAL_FORMAT: &str = "decimal";

/// Fits every currency, so that the bounds of the schema do not depend on the currency.
const MAX_MINOR: i64 = 9_000_000_000;

/// Money that is sent with its exact amount.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExactMoney(pub Money);

impl From<Money> for ExactMoney {
    fn from(money: Money) -> Self {
        ExactMoney(money)
    }
}

#[derive(Serialize)]
struct Sent {
    amount_minor: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<String>,
    currency: Currency,
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Sent { amount_minor: self.minor(), amount: None, currency: self.currency() }.serialize(serializer)
    }
}

impl Serialize for ExactMoney {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(money) = self;
        Sent { amount_minor: money.minor(), amount: Some(money.amount()), currency: money.currency() }
            .serialize(serializer)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an amount of money")]
struct Received {
    #[serde(default)]
    amount_minor: Change<Minor>,
    #[serde(default)]
    amount: Change<Decimal>,
    currency: Currency,
}

struct Minor(i64);

impl<'de> Deserialize<'de> for Minor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let reason = || Invalid::because("must be a whole number of minor units, such as cents");
        scalar::number(deserializer, reason).map(Minor)
    }
}

/// A decimal amount, parsed once its currency is known.
struct Decimal(String);

impl FromStr for Decimal {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Ok(Decimal(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar::text(deserializer, || Invalid::because(DECIMAL_REASON))
    }
}

impl Received {
    fn money(self) -> Result<Money, Invalid> {
        use Change::{Absent, Set};
        match (self.amount_minor, self.amount) {
            (Absent, Absent) => Err(Invalid::because("must have amount_minor or amount")),
            (Set(Minor(minor)), Absent) => Ok(Money::from_minor(minor, self.currency)?),
            (Absent, Set(Decimal(amount))) => Money::from_decimal_str(&amount, self.currency),
            (Set(Minor(minor)), Set(Decimal(amount))) => {
                let money = Money::from_decimal_str(&amount, self.currency)?;
                let agree = money.minor() == minor;
                agree.then_some(money).ok_or(Invalid::because("has an amount_minor that is not its amount, rounded"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Received::deserialize(deserializer)?.money().map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for ExactMoney {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Money::deserialize(deserializer).map(ExactMoney)
    }
}

/// The schema of money in a request. The bounds of the amounts hold for every currency.
fn received_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "amount_minor": {
                "type": "integer", "format": "int64", "minimum": -MAX_MINOR, "maximum": MAX_MINOR,
                "description": "Amount in minor units of the currency, such as cents.", "examples": [1250],
            },
            "amount": decimal_schema(r"^-?(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?$"),
            "currency": generator.subschema_for::<Currency>(),
        },
        "description": "Amount of money: give amount_minor, amount, or both if they agree after rounding.",
        "required": ["currency"],
        "anyOf": [{ "required": ["amount_minor"] }, { "required": ["amount"] }],
        "additionalProperties": false,
    })
}

fn sent_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "amount_minor": {
                "type": "integer", "format": "int64",
                "description": "Amount in minor units of the currency, such as cents, rounded half away from zero.",
                "examples": [1250],
            },
            "currency": generator.subschema_for::<Currency>(),
        },
        "description": "Amount of money in minor units.",
        "required": ["amount_minor", "currency"],
        "additionalProperties": false,
    })
}

fn exactly_sent_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "amount_minor": {
                "type": "integer", "format": "int64",
                "description": "Amount in minor units of the currency, such as cents, rounded half away from zero.",
                "examples": [0],
            },
            "amount": decimal_schema(r"^-?(0|[1-9][0-9]{0,9})(\.[0-9]{1,9})?$"),
            "currency": generator.subschema_for::<Currency>(),
        },
        "description": "Amount of money, exact and in minor units.",
        "required": ["amount_minor", "amount", "currency"],
        "additionalProperties": false,
    })
}

fn decimal_schema(pattern: &str) -> Schema {
    json_schema!({
        "type": "string", "format": DECIMAL_FORMAT, "pattern": pattern,
        "description": "Exact amount in major units of the currency, as a decimal.", "examples": ["0.0045"],
    })
}

/// The schemas of money, each under its own name. Requests and responses differ, so [`Money`] and [`ExactMoney`] refer
/// to the one that fits.
macro_rules! money_schemas {
    ($($form:ident = $name:literal, $schema:ident;)*) => {$(
        struct $form;

        impl JsonSchema for $form {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                $schema(generator)
            }
        }
    )*};
}

money_schemas! {
    SentMoney = "Money", sent_schema;
    ExactlySentMoney = "ExactMoney", exactly_sent_schema;
    ReceivedMoney = "MoneyInput", received_schema;
}

impl JsonSchema for Money {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        SentMoney::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        if generator.contract().is_serialize() {
            generator.subschema_for::<SentMoney>()
        } else {
            generator.subschema_for::<ReceivedMoney>()
        }
    }
}

impl JsonSchema for ExactMoney {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        ExactlySentMoney::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        if generator.contract().is_serialize() {
            generator.subschema_for::<ExactlySentMoney>()
        } else {
            generator.subschema_for::<ReceivedMoney>()
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::currency::tests::any_currency;
    use crate::money::tests::any_money;

    fn read(body: Value) -> Result<Money, String> {
        serde_json::from_value(body).map_err(|error| error.to_string())
    }

    proptest! {
        #[test]
        fn exact_money_round_trips_through_json(money in any_money()) {
            let sent = json!(ExactMoney(money));
            prop_assert_eq!(serde_json::from_value::<ExactMoney>(sent).unwrap(), ExactMoney(money));
        }

        #[test]
        fn rounded_money_round_trips_in_minor_units(minor in -MAX_MINOR..=MAX_MINOR, currency in any_currency()) {
            let money = Money::from_minor(minor, currency).unwrap();
            prop_assert_eq!(json!(money), json!({ "amount_minor": minor, "currency": currency }));
            prop_assert_eq!(read(json!(money)), Ok(money));
        }
    }

    #[test]
    fn either_amount_or_both_may_be_sent() {
        let money = Money::from_nanos(4_500_000, Currency::EUR);
        assert_eq!(read(json!({ "amount": "0.0045", "currency": "EUR" })), Ok(money));
        assert_eq!(read(json!({ "amount": "0.0045", "amount_minor": 0, "currency": "EUR" })), Ok(money));
        assert_eq!(json!(ExactMoney(money)), json!({ "amount_minor": 0, "amount": "0.0045", "currency": "EUR" }));
    }

    #[test]
    fn invalid_money_is_refused_with_the_reason() {
        for (body, reason) in [
            (json!({ "currency": "EUR" }), "must have amount_minor or amount"),
            (json!({ "amount": "0.005", "amount_minor": 0, "currency": "EUR" }), "has an amount_minor that is not"),
            (json!({ "amount_minor": 1 }), "missing field `currency`"),
            (json!({ "amount_minor": 1, "currency": "eur" }), "must be an ISO 4217"),
            (json!({ "amount_minor": 1.5, "currency": "EUR" }), "must be a whole number"),
            (json!({ "amount_minor": "1", "currency": "EUR" }), "must be a whole number"),
            (json!({ "amount_minor": null, "amount": "1", "currency": "EUR" }), "must be a whole number"),
            (json!({ "amount": 1, "currency": "EUR" }), "must be a decimal amount"),
            (json!({ "amount": "1e3", "currency": "EUR" }), "must be a decimal amount"),
            (json!({ "amount_minor": i64::MAX, "currency": "EUR" }), "is too large"),
            (json!({ "amount_minor": 1, "currency": "EUR", "note": "" }), "unknown field `note`"),
            (json!("1 EUR"), "invalid type: string"),
        ] {
            let error = read(body.clone()).unwrap_err();
            assert!(error.starts_with(reason), "{body}: {error}");
        }
    }
}
