//! JSON texts of callers. A key that an object has twice is refused: programs disagree on which of the two counts.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

const MAX_SHOWN_CHARS: usize = 100;

/// Parses a JSON text.
pub fn parse(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(text).map(|Unambiguous(value)| value)
}

struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Parser.deserialize(deserializer).map(Unambiguous)
    }
}

#[derive(Clone, Copy)]
struct Parser;

impl<'de> DeserializeSeed<'de> for Parser {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Parser {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Parser)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                let shown: String = key.chars().take(MAX_SHOWN_CHARS).collect();
                return Err(A::Error::custom(format_args!("the key {shown:?} is given twice")));
            }
            let value = entries.next_value_seed(Parser)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_twice_is_refused_at_any_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"c":2,"\u0061":3}}]"#, r#"{"a":{},"b":[[{"":1,"":2}]]}"#] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.to_string().contains("is given twice"), "{text}: {error}");
        }
        assert_eq!(parse(br#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#).unwrap()["b"][1]["a"], 2);
    }

    proptest! {
        #[test]
        fn every_other_text_is_read_as_serde_json_reads_it(
            number in any::<f64>(), integer in any::<i64>(), large in any::<u64>(), text in ".*", flag in any::<bool>(),
        ) {
            let value = json!({"n": number, "l": [integer, large, null, flag], "t": {text.clone(): text}});
            let text = value.to_string();
            prop_assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
        }
    }
}
