//! What every provider's callback has in common: it is thin, an event and an order, and signed over the moment it was
//! sent and the body to the byte.

use std::time::Duration;

use data_encoding::HEXLOWER_PERMISSIVE;
use hyper::header::HeaderMap;
use serde::Deserialize;

use super::{Forged, Notice};
use values::Time;

/// How far a callback's moment may lie from ours, either way.
pub const TOLERANCE: Duration = Duration::from_secs(5 * 60);
/// The longest order id or event of a callback.
const NAME_LIMIT: usize = 100;

#[derive(Deserialize)]
struct Thin {
    event: String,
    order_id: String,
}

/// What a signature is made of.
pub fn signed(timestamp: &str, body: &[u8]) -> Vec<u8> {
    [b"v1.", timestamp.as_bytes(), b".", body].concat()
}

/// Reads a callback whose signature and moment are in these headers, if `vouch` knows a signature of its message.
pub fn read(
    (signature, moment): (&str, &str),
    headers: &HeaderMap,
    body: &[u8],
    now: Time,
    vouch: impl Fn(&[u8], &[u8]) -> bool,
) -> Result<Notice, Forged> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(signatures), Some(timestamp)) = (text(signature), text(moment)) else {
        return Err(Forged("unsigned"));
    };
    let message = signed(timestamp, body);
    // Several signatures may stand side by side while a secret is being replaced.
    let mut given = signatures.split(',').filter_map(|one| one.trim().strip_prefix("v1="));
    if !given.any(|hex| HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).is_ok_and(|tag| vouch(&message, &tag))) {
        return Err(Forged("bad_signature"));
    }
    let at = Time::from_millis(timestamp.parse().map_err(|_| Forged("bad_timestamp"))?);
    if now.since(at).max(at.since(now)) > TOLERANCE {
        return Err(Forged("stale"));
    }
    let Thin { event, order_id } = serde_json::from_slice(body).map_err(|_| Forged("unreadable"))?;
    let is_sound = |text: &str| text.len() <= NAME_LIMIT && text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_sound(&event) && is_sound(&order_id) { Ok(Notice { order_id, event }) } else { Err(Forged("unreadable")) }
}
