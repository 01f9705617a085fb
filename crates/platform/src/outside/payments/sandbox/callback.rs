//! How the sandbox tells the merchant that an order has changed, and how the merchant knows it is the sandbox.

use std::str::FromStr;
use std::time::Duration;

use data_encoding::HEXLOWER_PERMISSIVE;
use hyper::header::HeaderMap;
use serde_json::{Value, json};

use super::super::callback::{self, signed};
use super::super::{Forged, Notice, OrderState};
use super::Sandbox;
use crate::crypto::keys::{Keys, Purpose};
use crate::jobs::{JobError, Kind};
use values::Time;

pub const CALL_BACK: Kind = Kind::new("sandbox.call_back");

const SIGNATURE: &str = "sandbox-signature";
const TIMESTAMP: &str = "sandbox-request-timestamp";
/// How long the merchant may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long a callback is held back that comes late or is overtaken.
const HELD_BACK: Duration = Duration::from_secs(5 * 60);

/// What goes wrong with callbacks, for trying out what then happens. Nothing does by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Callbacks {
    /// None is sent at all.
    pub drop: bool,
    /// Each is sent twice.
    pub duplicate: bool,
    /// Each is sent late.
    pub delay: bool,
    /// What happened last is told first.
    pub reorder: bool,
}

impl FromStr for Callbacks {
    type Err = ();

    /// `on`, or what goes wrong, separated by commas.
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
    /// When to tell the merchant of which state, when an order went through these just now.
    pub(super) fn plan(self, states: &[OrderState], now: Time) -> Vec<(OrderState, Time)> {
        let copies = match self {
            Callbacks { drop: true, .. } => 0,
            Callbacks { duplicate: true, .. } => 2,
            _ => 1,
        };
        let last = states.len().saturating_sub(1);
        let mut plan = Vec::new();
        for (index, state) in states.iter().enumerate() {
            let overtaken = self.reorder && index < last;
            let holds = u32::from(self.delay) + u32::from(overtaken);
            plan.extend(std::iter::repeat_n((*state, now.plus(HELD_BACK * holds)), copies));
        }
        plan
    }
}

/// The headers that vouch for a body sent at this moment.
pub fn sign(keys: &Keys, body: &[u8], at: Time) -> [(&'static str, String); 2] {
    let tag = keys.mac(Purpose::SandboxCallback, &signed(&at.millis().to_string(), body));
    [(SIGNATURE, format!("v1={}", HEXLOWER_PERMISSIVE.encode(&tag))), (TIMESTAMP, at.millis().to_string())]
}

pub(super) fn read(keys: &Keys, headers: &HeaderMap, body: &[u8], now: Time) -> Result<Notice, Forged> {
    let vouch = |message: &[u8], tag: &[u8]| keys.mac_matches(Purpose::SandboxCallback, message, tag);
    callback::read((SIGNATURE, TIMESTAMP), headers, body, now, vouch)
}

/// What the job that calls back has to know.
pub(super) fn payload(order_id: &str, state: OrderState) -> Value {
    json!({"event": format!("order_{}", state.as_str()), "order_id": order_id})
}

pub(super) async fn send(sandbox: &Sandbox, body: String) -> Result<(), JobError> {
    let url = format!("{}/v1/webhooks/payments/sandbox", sandbox.public_url);
    let mut request = sandbox.http.post(url).timeout(TIMEOUT).header("content-type", "application/json");
    for (name, value) in sign(&sandbox.keys, body.as_bytes(), sandbox.clock.now()) {
        request = request.header(name, value);
    }
    let answer = request.body(body).send().await.map_err(|error| JobError::Failed(error.to_string()))?;
    match answer.status() {
        status if status.is_success() => Ok(()),
        status => Err(JobError::Failed(format!("the merchant answered {status}"))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::super::super::callback::TOLERANCE;
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
    fn a_callback_of_now_is_believed_and_an_old_or_early_one_is_not() {
        let sent = |at| read(&keys(), &headers(BODY, at), BODY, NOW);
        assert_eq!(sent(NOW), Ok(Notice { order_id: "abc".into(), event: "order_completed".into() }));
        assert!(sent(NOW.minus(TOLERANCE)).is_ok() && sent(NOW.plus(TOLERANCE)).is_ok());
        let beyond = TOLERANCE + Duration::from_millis(1);
        assert_eq!(sent(NOW.minus(beyond)), Err(Forged("stale")));
        assert_eq!(sent(NOW.plus(beyond)), Err(Forged("stale")));
    }

    #[test]
    fn one_good_signature_among_others_is_enough() {
        let mut headers = headers(BODY, NOW);
        let both = format!("v1=00,{}", headers[SIGNATURE].to_str().unwrap());
        headers.insert(SIGNATURE, both.parse().unwrap());
        assert!(read(&keys(), &headers, BODY, NOW).is_ok());
        headers.remove(SIGNATURE);
        assert_eq!(read(&keys(), &headers, BODY, NOW), Err(Forged("unsigned")));
    }

    #[test]
    fn callbacks_go_out_at_once_and_in_order_unless_told_otherwise() {
        use OrderState::{Completed, Processing};
        let planned = |text: &str| text.parse::<Callbacks>().unwrap().plan(&[Processing, Completed], NOW);
        let (late, latest) = (NOW.plus(HELD_BACK), NOW.plus(HELD_BACK * 2));
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
        fn a_changed_body_is_never_believed(body in proptest::collection::vec(any::<u8>(), 0..80)) {
            prop_assume!(body != BODY);
            prop_assert_eq!(read(&keys(), &headers(BODY, NOW), &body, NOW), Err(Forged("bad_signature")));
        }
    }
}
