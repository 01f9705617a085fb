//! Who may use the protected paths of the operations port.

use std::net::IpAddr;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use data_encoding::BASE64;
use hyper::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Value, json};

use api::api_keys;
use api::auth::Principal;
use api::problem::Problem;
use api::scopes::Scope;
use platform::app::App;
use platform::audit::{self, Actor, Outcome};
use platform::crypto::switches::Switch;
use platform::limits::Limit;
use values::Role;

/// The switch that sent the request. Its secret is a bearer token, or the password of the user `switch`.
pub fn identify_switch(app: &App, headers: &HeaderMap) -> Result<Switch, Problem> {
    app.switch_secrets.identify(&given(headers)).ok_or_else(|| {
        Problem::token_invalid(
            "Send the switch secret as a bearer token, or as the password of the user switch (basic authentication).",
        )
    })
}

/// The API key that the request came with, if it came with one.
pub fn key_in(headers: &HeaderMap) -> Option<String> {
    String::from_utf8(given(headers)).ok().filter(|token| api_keys::is_key(token))
}

/// The caller behind an API key, which must have this scope.
pub async fn identify_key(app: &App, token: &str, ip: IpAddr, scope: Scope) -> Result<Principal, Problem> {
    let now = app.clock.now();
    let principal = api_keys::authenticate(&mut *app.db.read().await?, token, ip).await?;
    let Some(key) = &principal.key else { return Err(Problem::scope_required(scope)) };
    if key.is_touch_due(now) {
        api_keys::touch(app, key.id, ip, now).await;
    }
    match app.limits.take(Limit::Writes, principal.limit_subject(), now).await? {
        Some(verdict) if !verdict.allowed => return Err(Problem::rate_limited(verdict.reset_seconds)),
        _ => {}
    }
    // No key of a customer has such a scope; this does not depend on it.
    if !key.has(scope) || !principal.roles.has(Role::Admin) {
        return Err(Problem::scope_required(scope));
    }
    Ok(principal)
}

/// Writes the audit row of what a key did here.
pub async fn audit_key(app: &App, caller: Principal, ip: IpAddr, action: &'static str) -> Result<(), Problem> {
    let key = caller.key.as_ref().map(|key| json!({"id": key.id, "name": key.name}));
    let entry = audit::Entry {
        action,
        account_id: Some(caller.account_id),
        user_id: Some(caller.user_id),
        actor: Some(Actor::Admin),
        ip: Some(ip),
        user_agent: None,
        outcome: Outcome::Success,
        reason: None,
        meta: key.map(|key| ("api_key".to_owned(), key)).into_iter().collect(),
    };
    let work = (app.clone(), entry);
    Ok(app.db.tx(work, |conn, (app, entry)| Box::pin(audit::append(conn, &app.keys, entry))).await?)
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
