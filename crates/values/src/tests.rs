//! The schemas, asked through a validator as requests will be, agree with the types.

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
    let options =
        formats().iter().fold(jsonschema::options().should_validate_formats(true), |options, &(name, check)| {
            options.with_format(name, check)
        });
    options.build(schema.as_value()).unwrap()
}

fn takes<T: JsonSchema>() -> jsonschema::Validator {
    validator(SchemaSettings::draft2020_12(), |generator| generator.subschema_for::<T>())
}

fn sends<T: JsonSchema>() -> jsonschema::Validator {
    validator(SchemaSettings::draft2020_12().for_serialize(), |generator| generator.subschema_for::<T>())
}

/// The schema and serde say the same of each of these.
fn agree<T: JsonSchema + DeserializeOwned>(taken: &[Value], refused: &[Value]) {
    let schema = takes::<T>();
    for value in taken {
        assert!(schema.is_valid(value), "the schema refuses {value}: {:?}", schema.validate(value));
        assert!(serde_json::from_value::<T>(value.clone()).is_ok(), "serde refuses {value}");
    }
    for value in refused {
        assert!(!schema.is_valid(value), "the schema takes {value}");
        assert!(serde_json::from_value::<T>(value.clone()).is_err(), "serde takes {value}");
    }
}

fn sent_as_promised<T: JsonSchema + Serialize>(value: T) {
    let sent = json!(value);
    assert!(sends::<T>().is_valid(&sent), "{sent}");
}

#[test]
fn every_format_has_its_own_reason() {
    let reasons: std::collections::BTreeSet<_> = formats().iter().map(|(name, _)| reason(name)).collect();
    assert_eq!(reasons.len(), formats().len());
    assert!(!reasons.contains(reason("no such format")));
}

#[test]
fn no_schema_of_a_text_lets_a_nul_through() {
    for schema in [
        takes::<E164>(),
        takes::<Country>(),
        takes::<Currency>(),
        takes::<Locale>(),
        takes::<Email>(),
        takes::<Date>(),
        takes::<Rfc3339>(),
        takes::<UserId>(),
        takes::<SessionId>(),
        takes::<Text<0, 99>>(),
        takes::<Secret<0, 99>>(),
    ] {
        for text in ["\0", "\0a", "+31201234567\0", "NL\0", "ann@example.com\0", "2026-01-31\0", "a\0b"] {
            assert!(!schema.is_valid(&json!(text)), "{text:?}");
        }
    }
}

#[test]
fn schemas_and_serde_agree_on_words_and_codes() {
    agree::<E164>(&[json!("+31201234567")], &[json!("31201234567"), json!("+0"), json!(31), json!(null)]);
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
    fn what_is_sent_keeps_the_promise_of_the_schema(millis: i64, bits: u128, money in money::tests::any_money()) {
        let time = Time::from_millis(millis);
        sent_as_promised(Rfc3339(time));
        sent_as_promised(UnixSeconds(time));
        sent_as_promised(UnixMillis(time));
        sent_as_promised(Date::from(time));
        sent_as_promised(money);
        sent_as_promised(ExactMoney(money));
        sent_as_promised(UserId::new(uuid::Uuid::from_u128(bits)));
        sent_as_promised(SessionId::new(uuid::Uuid::from_u128(bits)));
    }
}
