//! Who may use the protected paths of the operations port.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use data_encoding::BASE64;
use hyper::header::{AUTHORIZATION, HeaderMap};
use serde_json::Value;

use api::problem::Problem;
use platform::app::App;
use platform::crypto::switches::Switch;

/// The switch that sent the request. Its secret is a bearer token, or the password of the user `switch`.
pub fn identify_switch(app: &App, headers: &HeaderMap) -> Result<Switch, Problem> {
    app.switch_secrets.identify(&given(headers)).ok_or_else(|| {
        Problem::token_invalid(
            "Send the switch secret as a bearer token, or as the password of the user switch (basic authentication).",
        )
    })
}

/// Whether the request may move the test clock.
pub fn check_clock_secret(app: &App, headers: &HeaderMap) -> Result<(), Problem> {
    let given = given(headers);
    let is_clock_secret =
        app.clock_secret.as_ref().is_some_and(|secret| verify_slices_are_equal(&given, secret.as_bytes()).is_ok());
    if is_clock_secret || (app.settings.lab.is_lab && app.switch_secrets.identify(&given).is_some()) {
        return Ok(());
    }
    Err(Problem::token_invalid("Send TRUNKLINE_CLOCK_SECRET as a bearer token. In a lab the switch secret will do."))
}

fn given(headers: &HeaderMap) -> Vec<u8> {
    let text = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let secret = text.and_then(|text| {
        let (scheme, rest) = text.split_once(' ')?;
        if scheme.eq_ignore_ascii_case("bearer") {
            return Some(rest.as_bytes().to_vec());
        }
        let decoded = BASE64.decode(rest.trim().as_bytes()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
        decoded.strip_prefix(b"switch:").map(<[u8]>::to_vec)
    });
    secret.unwrap_or_default()
}

/// Refuses a body that names another edge than the one whose secret was sent, itself or in an event. What is not JSON,
/// its endpoint refuses.
pub fn check_edge(switch: &Switch, body: &[u8]) -> Result<(), Problem> {
    if switch.edge.is_none() {
        return Ok(());
    }
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return Ok(()) };
    let events = body["events"].as_array().into_iter().flatten();
    let mut named = events.chain([&body]).filter_map(|named| named["edge_id"].as_str());
    if named.all(|edge| switch.may_speak_for(edge)) {
        return Ok(());
    }
    Err(Problem::forbidden("This secret belongs to another edge than the one that the request names."))
}
