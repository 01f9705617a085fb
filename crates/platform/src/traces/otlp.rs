//! Encodes spans as OTLP JSON: ids in hexadecimal, 64-bit numbers as strings, enums as numbers.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use super::{Attribute, Span};

const NANOS_IN_MILLI: u128 = 1_000_000;
const STATUS_ERROR: u8 = 2;

/// The attributes of this node.
pub(super) fn resource(attributes: &BTreeMap<String, String>) -> Vec<Value> {
    let mut all = BTreeMap::from([("service.version", env!("CARGO_PKG_VERSION"))]);
    all.extend(attributes.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    all.iter().map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } })).collect()
}

/// The body of an export request.
pub(super) fn body(resource: &[Value], spans: &[Span]) -> Value {
    json!({
        "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{
                "scope": { "name": env!("CARGO_CRATE_NAME") },
                "spans": spans.iter().map(span).collect::<Vec<_>>(),
            }],
        }],
    })
}

fn span(span: &Span) -> Value {
    let began = u128::try_from(span.began.millis()).unwrap_or_default() * NANOS_IN_MILLI;
    let mut encoded = json!({
        "traceId": HEXLOWER.encode(&span.ids.trace_id),
        "spanId": HEXLOWER.encode(&span.ids.span_id),
        "name": span.name,
        "kind": span.kind as u8,
        "startTimeUnixNano": began.to_string(),
        "endTimeUnixNano": (began + span.took.as_nanos()).to_string(),
        "attributes": span.attributes.iter().map(attribute).collect::<Vec<_>>(),
    });
    if let Some(parent) = &span.ids.parent_id {
        encoded["parentSpanId"] = HEXLOWER.encode(parent).into();
    }
    if span.is_error {
        encoded["status"] = json!({ "code": STATUS_ERROR });
    }
    encoded
}

fn attribute((key, value): &(&'static str, Attribute)) -> Value {
    let value = match value {
        Attribute::Text(text) => json!({ "stringValue": text }),
        Attribute::Number(number) => json!({ "intValue": number.to_string() }),
    };
    json!({ "key": key, "value": value })
}
