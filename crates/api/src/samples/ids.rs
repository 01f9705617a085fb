//! Sample ids: each kind of resource has one, so that `trunk_id` of a number is the `id` of the sample trunk.

use serde_json::{Value, json};

use super::Place;
use crate::reference::schema::text;

pub fn is_id(node: &Value) -> bool {
    matches!(text(node, "format"), Some("uuid" | "prefixed-id"))
}

/// The id of what the field refers to.
pub fn sample(node: &Value, place: Place<'_>) -> Option<Value> {
    if !is_id(node) {
        return None;
    }
    let noun = match place.field {
        "id" | "" => place.owner.trim_start_matches("Admin").to_lowercase(),
        field => field.trim_end_matches("_id").trim_end_matches("_ids").to_lowercase(),
    };
    let own = node.get("examples").and_then(|examples| examples.get(0)).and_then(Value::as_str).unwrap_or_default();
    let tail = hash(&noun);
    Some(match own.split_once('_') {
        Some((prefix, _)) => json!(format!("{prefix}_0198c0de7a3b7c4d8e5f{tail:012x}")),
        None => json!(format!("0198c0de-7a3b-7c4d-8e5f-{tail:012x}")),
    })
}

/// FNV-1a, cut to the 48 bits of the last group of a UUID.
fn hash(noun: &str) -> u64 {
    let hash = noun
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    hash & 0xffff_ffff_ffff
}
