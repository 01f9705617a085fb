//! A DID supplier with an HTTP API: `POST /numbers/{e164}/activate` and `/deactivate`, and `GET /numbers/{e164}` for
//! the current state.
//!
//! Every request carries a bearer token; a change also carries the order's id, in its `Idempotency-Key` and as
//! `reference` in the body. The response is `{"state": "active" | "pending" | "refused", "reason": …}`. The statuses
//! 404, 409, 410 and 422 mean a final refusal; any other response that is not understood is an error to retry.

use std::fmt;
use std::time::Duration;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::{Activation, DidSupplierError};
use crate::http_error;
use values::E164;

const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_RESPONSE_BYTES: usize = 64 * 1024;
/// A longer reason is cut off.
const MAX_REASON_CHARS: usize = 200;

/// Where the supplier's API is, and the token for it.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpDidSupplierSettings {
    /// The base URL: everything before `/numbers`.
    pub url: String,
    pub token: String,
}

impl fmt::Debug for HttpDidSupplierSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpDidSupplierSettings").field("url", &self.url).finish_non_exhaustive()
    }
}

#[derive(Clone)]
pub struct HttpDidSupplier {
    pub http: reqwest::Client,
    pub settings: HttpDidSupplierSettings,
}

#[derive(Deserialize)]
struct Response {
    state: State,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Active,
    Pending,
    Refused,
}

impl HttpDidSupplier {
    /// While the activation is pending, the state says how far it is.
    pub async fn activate(&self, number: &E164, order: Uuid) -> Result<Activation, DidSupplierError> {
        let response = self.change(number, "activate", order).await?;
        match activation(response)? {
            Activation::Pending => match self.state(number).await? {
                (StatusCode::NOT_FOUND, _) => Ok(Activation::Pending),
                response => activation(response),
            },
            other => Ok(other),
        }
    }

    pub async fn deactivate(&self, number: &E164, order: Uuid) -> Result<(), DidSupplierError> {
        match self.change(number, "deactivate", order).await? {
            // A number that the supplier does not know is as good as deactivated.
            (status, _) if status.is_success() || is_refusal(status) => Ok(()),
            (status, _) => Err(DidSupplierError(format!("the DID supplier responded {status}"))),
        }
    }

    async fn change(&self, number: &E164, what: &str, order: Uuid) -> Result<(StatusCode, Vec<u8>), DidSupplierError> {
        let url = format!("{}/numbers/{}/{what}", self.settings.url, number.digits());
        let request = self.http.post(url).header("Idempotency-Key", format!("{order}-{what}"));
        self.send(request.json(&json!({"number": number, "reference": order}))).await
    }

    async fn state(&self, number: &E164) -> Result<(StatusCode, Vec<u8>), DidSupplierError> {
        self.send(self.http.get(format!("{}/numbers/{}", self.settings.url, number.digits()))).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<(StatusCode, Vec<u8>), DidSupplierError> {
        let failed = |error| DidSupplierError(http_error::unreachable("the DID supplier", error));
        let mut response = request.bearer_auth(&self.settings.token).timeout(TIMEOUT).send().await.map_err(failed)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                return Err(DidSupplierError("the DID supplier's response is too large".into()));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((response.status(), body))
    }
}

fn is_refusal(status: StatusCode) -> bool {
    let refusals = [StatusCode::NOT_FOUND, StatusCode::CONFLICT, StatusCode::GONE, StatusCode::UNPROCESSABLE_ENTITY];
    refusals.contains(&status)
}

fn activation((status, body): (StatusCode, Vec<u8>)) -> Result<Activation, DidSupplierError> {
    let response = serde_json::from_slice::<Response>(&body);
    match response {
        Ok(response) if status.is_success() => Ok(match response.state {
            State::Active => Activation::Active,
            State::Pending => Activation::Pending,
            State::Refused => Activation::Refused(reason_text(response.reason)),
        }),
        response if is_refusal(status) => {
            Ok(Activation::Refused(reason_text(response.ok().and_then(|response| response.reason))))
        }
        Ok(_) => Err(DidSupplierError(format!("the DID supplier responded {status}"))),
        Err(error) => Err(DidSupplierError(format!("the DID supplier responded {status}: {error}"))),
    }
}

fn reason_text(reason: Option<String>) -> String {
    let plain: String = reason.unwrap_or_default().chars().filter(|c| !c.is_control()).take(MAX_REASON_CHARS).collect();
    if plain.is_empty() { "the DID supplier refused the number".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn parse(status: u16, body: &str) -> Result<Activation, DidSupplierError> {
        activation((StatusCode::from_u16(status).unwrap(), body.as_bytes().to_vec()))
    }

    #[test]
    fn a_response_is_active_pending_or_refused() {
        assert_eq!(parse(200, r#"{"state": "active"}"#).unwrap(), Activation::Active);
        assert_eq!(parse(202, r#"{"state": "pending"}"#).unwrap(), Activation::Pending);
        let refused = parse(200, r#"{"state": "refused", "reason": "ported\naway"}"#).unwrap();
        assert_eq!(refused, Activation::Refused("portedaway".into()));
        assert_eq!(parse(409, "").unwrap(), Activation::Refused("the DID supplier refused the number".into()));
    }

    #[test]
    fn any_other_response_is_an_error() {
        for (status, body) in [(500, r#"{"state": "active"}"#), (200, "<html>"), (401, ""), (429, ""), (302, "")] {
            assert!(parse(status, body).is_err(), "{status} {body}");
        }
    }

    #[test]
    fn the_token_is_never_shown() {
        let settings = HttpDidSupplierSettings { url: "https://supplier.example".into(), token: "hunter2".into() };
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
