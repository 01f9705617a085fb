//! Verifies webhooks. Those of all providers have the same form: an event and the id of an order or dispute, with a
//! signature over the time they were sent and the exact body.

use std::time::Duration;

use data_encoding::HEXLOWER_PERMISSIVE;
use hyper::header::HeaderMap;
use serde::Deserialize;

use super::{InvalidWebhook, WebhookEvent, WebhookSubject};
use values::Time;

/// Maximum difference between a webhook's timestamp and now, in both directions.
pub const TOLERANCE: Duration = Duration::from_secs(5 * 60);
/// Maximum length of an id or event.
const MAX_NAME_BYTES: usize = 100;

#[derive(Deserialize)]
struct WebhookBody {
    event: String,
    #[serde(default)]
    order_id: Option<String>,
    #[serde(default)]
    dispute_id: Option<String>,
}

/// The message that is signed.
pub fn signed_message(timestamp: &str, body: &[u8]) -> Vec<u8> {
    [b"v1.", timestamp.as_bytes(), b".", body].concat()
}

/// Verifies and parses a webhook. The first pair names the headers of the signature and of the timestamp;
/// `is_signature` checks a signature of a message.
pub fn verify(
    (signature_header, timestamp_header): (&str, &str),
    headers: &HeaderMap,
    body: &[u8],
    now: Time,
    is_signature: impl Fn(&[u8], &[u8]) -> bool,
) -> Result<WebhookEvent, InvalidWebhook> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(signatures), Some(timestamp)) = (text(signature_header), text(timestamp_header)) else {
        return Err(InvalidWebhook("unsigned"));
    };
    let message = signed_message(timestamp, body);
    // There may be several signatures while a secret is being rotated.
    let mut given = signatures.split(',').filter_map(|one| one.trim().strip_prefix("v1="));
    if !given.any(|hex| HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).is_ok_and(|tag| is_signature(&message, &tag))) {
        return Err(InvalidWebhook("bad_signature"));
    }
    let at = Time::from_millis(timestamp.parse().map_err(|_| InvalidWebhook("bad_timestamp"))?);
    if now.since(at).max(at.since(now)) > TOLERANCE {
        return Err(InvalidWebhook("stale"));
    }
    let body: WebhookBody = serde_json::from_slice(body).map_err(|_| InvalidWebhook("unreadable"))?;
    let subject = match (body.dispute_id, body.order_id) {
        (Some(id), _) => WebhookSubject::Dispute(id),
        (None, Some(id)) => WebhookSubject::Order(id),
        (None, None) => return Err(InvalidWebhook("unreadable")),
    };
    let is_valid = |text: &str| text.len() <= MAX_NAME_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_valid(&body.event) && is_valid(subject.id()) {
        Ok(WebhookEvent { subject, event: body.event })
    } else {
        Err(InvalidWebhook("unreadable"))
    }
}
