//! The sandbox's webhooks: sending them, signing and verifying them, and faults on purpose.

use std::str::FromStr;
use std::time::Duration;

use data_encoding::HEXLOWER_PERMISSIVE;
use hyper::header::HeaderMap;
use serde_json::{Value, json};

use super::super::webhook::{self, signed_message};
use super::super::{DisputeState, InvalidWebhook, OrderState, WebhookEvent};
use super::Sandbox;
use crate::crypto::keys::{Keys, Purpose};
use crate::http_error;
use crate::jobs::{Class, JobError, Kind};
use db::assert_no_connection_held;
use values::Time;

pub const CALL_BACK: Kind = Kind::new("sandbox.call_back").class(Class::Payments);

const SIGNATURE: &str = "sandbox-signature";
const TIMESTAMP: &str = "sandbox-request-timestamp";
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long a delayed or overtaken callback is delayed.
const DELAY: Duration = Duration::from_secs(5 * 60);

/// Faults of callbacks, for testing. None by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Callbacks {
    /// No callback is sent.
    pub drop: bool,
    /// Each callback is sent twice.
    pub duplicate: bool,
    /// Each callback is delayed.
    pub delay: bool,
    /// The last callback is sent first.
    pub reorder: bool,
}

impl FromStr for Callbacks {
    type Err = ();

    /// `on`, or faults separated by commas.
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut callbacks = Callbacks::default();
        if text == "on" {
            return Ok(callbacks);
        }
        for fault in text.split(',') {
            match fault.trim() {
                "drop" => callbacks.drop = true,
                "duplicate" => callbacks.duplicate = true,
                "delay" => callbacks.delay = true,
                "reorder" => callbacks.reorder = true,
                _ => return Err(()),
            }
        }
        Ok(callbacks)
    }
}

impl Callbacks {
    /// When to send a callback for each state that an order or dispute just passed through.
    pub(super) fn plan<S: Copy>(self, states: &[S], now: Time) -> Vec<(S, Time)> {
        let copies = match self {
            Callbacks { drop: true, .. } => 0,
            Callbacks { duplicate: true, .. } => 2,
            _ => 1,
        };
        let last = states.len().saturating_sub(1);
        let mut plan = Vec::new();
        for (index, state) in states.iter().enumerate() {
            let overtaken = self.reorder && index < last;
            let delays = u32::from(self.delay) + u32::from(overtaken);
            plan.extend(std::iter::repeat_n((*state, now.plus(DELAY * delays)), copies));
        }
        plan
    }
}

/// The signature and timestamp headers of a body.
pub fn sign(keys: &Keys, body: &[u8], at: Time) -> [(&'static str, String); 2] {
    let tag = keys.mac(Purpose::SandboxCallback, &signed_message(&at.millis().to_string(), body));
    [(SIGNATURE, format!("v1={}", HEXLOWER_PERMISSIVE.encode(&tag))), (TIMESTAMP, at.millis().to_string())]
}

pub(super) fn verify(keys: &Keys, headers: &HeaderMap, body: &[u8], now: Time) -> Result<WebhookEvent, InvalidWebhook> {
    let is_signature = |message: &[u8], tag: &[u8]| keys.mac_matches(Purpose::SandboxCallback, message, tag);
    webhook::verify((SIGNATURE, TIMESTAMP), headers, body, now, is_signature)
}

/// The payload of the job, which is the body of the callback.
pub(super) fn payload(order_id: &str, state: OrderState) -> Value {
    json!({"event": format!("order_{}", state.as_str()), "order_id": order_id})
}

/// The same for a dispute.
pub(super) fn dispute_payload(dispute_id: &str, state: DisputeState) -> Value {
    json!({"event": format!("dispute_{}", state.as_str()), "dispute_id": dispute_id})
}

pub(super) async fn send(sandbox: &Sandbox, body: String) -> Result<(), JobError> {
    assert_no_connection_held();
    let url = format!("{}/v1/webhooks/payments/sandbox", sandbox.public_url);
    let mut request = sandbox.http.post(url).timeout(TIMEOUT).header("content-type", "application/json");
    for (name, value) in sign(&sandbox.keys, body.as_bytes(), sandbox.clock.now()) {
        request = request.header(name, value);
    }
    let response = request
        .body(body)
        .send()
        .await
        .map_err(|error| JobError::Failed(format!("the webhook cannot be sent: {}", http_error::reason(error))))?;
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(JobError::Failed(format!("the webhook responded {status}"))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::super::super::WebhookSubject;
    use super::super::super::webhook::TOLERANCE;
    use super::*;

    const BODY: &[u8] = br#"{"event":"order_completed","order_id":"abc"}"#;
    const NOW: Time = Time::from_millis(1_900_000_000_000);

    fn keys() -> Keys {
        Keys::from_master(b"a master secret for the tests of callbacks")
    }

    fn headers(body: &[u8], at: Time) -> HeaderMap {
        sign(&keys(), body, at)
            .into_iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn a_callback_outside_the_tolerance_is_rejected() {
        let sent = |at| verify(&keys(), &headers(BODY, at), BODY, NOW);
        let subject = WebhookSubject::Order("abc".into());
        let completed = WebhookEvent { subject, event: "order_completed".into() };
        assert_eq!(sent(NOW), Ok(completed.clone()));
        assert!(sent(NOW.minus(TOLERANCE)).is_ok() && sent(NOW.plus(TOLERANCE)).is_ok());
        let beyond = TOLERANCE + Duration::from_millis(1);
        assert_eq!(sent(NOW.minus(beyond)), Err(InvalidWebhook("stale")));
        assert_eq!(sent(NOW.plus(beyond)), Err(InvalidWebhook("stale")));
    }

    #[test]
    fn a_callback_names_an_order_or_a_dispute() {
        let sent = |body: &str| verify(&keys(), &headers(body.as_bytes(), NOW), body.as_bytes(), NOW);
        let subject = WebhookSubject::Dispute("d1".into());
        let lost = WebhookEvent { subject, event: "dispute_lost".into() };
        assert_eq!(sent(&dispute_payload("d1", DisputeState::Lost).to_string()), Ok(lost));
        assert_eq!(sent(r#"{"event":"dispute_lost"}"#), Err(InvalidWebhook("unreadable")));
    }

    #[test]
    fn one_valid_signature_is_enough() {
        let mut headers = headers(BODY, NOW);
        let both = format!("v1=00,{}", headers[SIGNATURE].to_str().unwrap());
        headers.insert(SIGNATURE, both.parse().unwrap());
        assert!(verify(&keys(), &headers, BODY, NOW).is_ok());
        headers.remove(SIGNATURE);
        assert_eq!(verify(&keys(), &headers, BODY, NOW), Err(InvalidWebhook("unsigned")));
    }

    #[test]
    fn callbacks_are_sent_in_order_unless_a_fault_is_set() {
        use OrderState::{Completed, Processing};
        let planned = |text: &str| text.parse::<Callbacks>().unwrap().plan(&[Processing, Completed], NOW);
        let (late, latest) = (NOW.plus(DELAY), NOW.plus(DELAY * 2));
        assert_eq!(planned("on"), [(Processing, NOW), (Completed, NOW)]);
        assert_eq!(planned("drop"), []);
        assert_eq!(planned("duplicate,drop"), []);
        assert_eq!(planned("delay"), [(Processing, late), (Completed, late)]);
        assert_eq!(planned("reorder"), [(Processing, late), (Completed, NOW)]);
        assert_eq!(
            planned("delay, duplicate, reorder"),
            [(Processing, latest), (Processing, latest), (Completed, late), (Completed, late)]
        );
        for wrong in ["", "off", "twice", "on,drop", "drop,,delay"] {
            assert!(wrong.parse::<Callbacks>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_changed_body_is_rejected(body in proptest::collection::vec(any::<u8>(), 0..80)) {
            prop_assume!(body != BODY);
            prop_assert_eq!(verify(&keys(), &headers(BODY, NOW), &body, NOW), Err(InvalidWebhook("bad_signature")));
        }
    }
}
