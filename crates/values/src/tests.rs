//! The JSON schemas accept and refuse what the types do.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

fn validator(
    settings: SchemaSettings,
    schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
) -> jsonschema::Validator {
    let mut generator = settings.into_generator();
    let mut schema = schema(&mut generator);
    schema.insert("$defs".into(), json!(generator.take_definitions(true)));
    let options = formats().fold(jsonschema::options().should_validate_formats(true), |options, (name, check)| {
        options.with_format(name, check)
    });
    options.build(schema.as_value()).unwrap()
}

fn request_schema<T: JsonSchema>() -> jsonschema::Validator {
    validator(SchemaSettings::draft2020_12(), |generator| generator.subschema_for::<T>())
}

fn response_schema<T: JsonSchema>() -> jsonschema::Validator {
    validator(SchemaSettings::draft2020_12().for_serialize(), |generator| generator.subschema_for::<T>())
}

/// The schema and serde both accept `accepted` and both refuse `refused`.
fn agree<T: JsonSchema + DeserializeOwned>(accepted: &[Value], refused: &[Value]) {
    let schema = request_schema::<T>();
    for value in accepted {
        assert!(schema.is_valid(value), "the schema refuses {value}: {:?}", schema.validate(value));
        assert!(serde_json::from_value::<T>(value.clone()).is_ok(), "serde refuses {value}");
    }
    for value in refused {
        assert!(!schema.is_valid(value), "the schema accepts {value}");
        assert!(serde_json::from_value::<T>(value.clone()).is_err(), "serde accepts {value}");
    }
}

fn assert_sent_as_described<T: JsonSchema + Serialize>(value: T) {
    let sent = json!(value);
    assert!(response_schema::<T>().is_valid(&sent), "{sent}");
}

#[test]
fn every_format_has_its_own_reason() {
    let reasons: std::collections::BTreeSet<_> = formats().map(|(name, _)| reason(name)).collect();
    assert_eq!(reasons.len(), formats().count());
    assert!(!reasons.contains(reason("no such format")));
}

#[test]
fn no_string_schema_accepts_a_nul() {
    for schema in [
        request_schema::<E164>(),
        request_schema::<Country>(),
        request_schema::<Currency>(),
        request_schema::<Locale>(),
        request_schema::<Email>(),
        request_schema::<Date>(),
        request_schema::<Rfc3339>(),
        request_schema::<UserId>(),
        request_schema::<SessionId>(),
        request_schema::<Text<0, 99>>(),
        request_schema::<Secret<0, 99>>(),
    ] {
        for text in ["\0", "\0a", "+31201234567\0", "NL\0", "ann@example.com\0", "2026-01-31\0", "a\0b"] {
            assert!(!schema.is_valid(&json!(text)), "{text:?}");
        }
    }
}

#[test]
fn schemas_and_serde_agree_on_words_and_codes() {
    agree::<E164>(&[json!("+31201234567")], &[json!("31201234567"), json!("+0"), json!(31), json!(null)]);
    agree::<Digits>(
        &["31", "+31", "0031", " 31", "0-0 31", "+31 20-123 4567 ", "123456789012345"].map(Value::from),
        &["", "+", "0", "00", "020", "+0031", "31+", "31.20", "abc", "1234567890123456", "+31\n"].map(Value::from),
    );
    agree::<Country>(&[json!("NL")], &[json!("nl"), json!("ZZ"), json!("AA"), json!("NL\n"), json!(null)]);
    agree::<Currency>(&[json!("EUR")], &[json!("XTS"), json!("eur"), json!("AAA")]);
    agree::<Locale>(&[json!("nl"), json!("nl-BE")], &[json!("nl-be"), json!("NL")]);
    agree::<Email>(&[json!("Ann@Example.com"), json!(" ann@example.com")], &[json!("ann"), json!("a@localhost")]);
}

#[test]
fn schemas_and_serde_agree_on_times() {
    agree::<Date>(&[json!("2024-02-29")], &[json!("2026-02-29"), json!("2026-1-1")]);
    let odd = [json!("2026-01-31T12:00:00.123456789+05:30"), json!("9999-12-31T23:59:60-00:00")];
    agree::<Rfc3339>(&odd[..1], &[json!("2026-01-31T12:00:00"), json!("2026-01-31"), odd[1].clone()]);
    agree::<UnixSeconds>(&[json!(0), json!(-1)], &[json!(253_402_300_800i64), json!("0"), json!(0.5)]);
    agree::<UnixMillis>(&[json!(1_769_860_800_000i64)], &[json!(253_402_300_800_000i64), json!(null)]);
}

#[test]
fn schemas_and_serde_agree_on_ids() {
    let (hex, hyphenated) = ("0198c0de7a3b7c4d8e5f001122334455", "0198C0DE-7a3b-7c4d-8e5f-001122334455");
    let any_form = [json!(hex), json!(hyphenated), json!(format!("usr_{hex}"))];
    agree::<UserId>(&any_form, &[json!(format!("acc_{hex}")), json!("usr_1"), json!("")]);
    agree::<SessionId>(&any_form[..2], &[any_form[2].clone(), json!("x")]);
}

#[test]
fn schemas_and_serde_agree_on_texts() {
    agree::<Text<0, 3>>(&[json!(""), json!("a\nb")], &[json!("abcd"), json!("a\u{0}"), json!("a\rb")]);
    agree::<Text<1, 3>>(&[json!("a"), json!(" a "), json!("\u{1f980}")], &[json!(" "), json!("\n"), json!("")]);
    agree::<Text<3, 9>>(&[json!("a c"), json!(" abc ")], &[json!(" ab "), json!("a  ")]);
    agree::<Secret<3, 5>>(&[json!("   "), json!("a\rb")], &[json!("ab"), json!("a\u{0}b"), json!("abcdef")]);
}

#[test]
fn schemas_and_serde_agree_on_money() {
    let body = |amount_minor: Value, amount: Value| json!({ "amount_minor": amount_minor, "amount": amount, "currency": "JPY" });
    agree::<Money>(
        &[
            json!({ "amount_minor": 9_000_000_000i64, "currency": "JPY" }),
            json!({ "amount": "-999999999.999999999", "currency": "JPY" }),
            body(json!(2), json!("1.5")),
        ],
        &[
            json!({ "currency": "JPY" }),
            json!({ "amount_minor": 1 }),
            json!({ "amount_minor": 10_000_000_000i64, "currency": "JPY" }),
            json!({ "amount_minor": 1, "currency": "JPY", "extra": 1 }),
            body(json!(1), json!("01")),
            json!([]),
        ],
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn serialized_values_match_their_schema(millis: i64, bits: u128, money in money::tests::any_money()) {
        let time = Time::from_millis(millis);
        assert_sent_as_described(Rfc3339(time));
        assert_sent_as_described(UnixSeconds(time));
        assert_sent_as_described(UnixMillis(time));
        assert_sent_as_described(Date::from(time));
        assert_sent_as_described(money);
        assert_sent_as_described(ExactMoney(money));
        assert_sent_as_described(UserId::new(uuid::Uuid::from_u128(bits)));
        assert_sent_as_described(SessionId::new(uuid::Uuid::from_u128(bits)));
    }
}
