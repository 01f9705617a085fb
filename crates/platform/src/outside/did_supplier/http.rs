//! A carrier with an API: `POST /numbers/{e164}/activate` and `/deactivate`, and `GET /numbers/{e164}` for how it stands.
//!
//! Every request carries the token as a bearer, and a change the order's id as its `Idempotency-Key` and in the body.
//! The answer is `{"state": "active" | "pending" | "refused", "reason": …}`. A 404, 409, 410 or 422 means no for good;
//! whatever else is no answer means that the carrier is away.

use std::fmt;
use std::time::Duration;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::{Activation, CarrierAway};
use values::E164;

const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer that is read.
const LIMIT_BYTES: usize = 64 * 1024;
/// The most of a reason that is kept.
const REASON_CHARS: usize = 200;

/// Where the carrier is, and how it knows us.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpCarrierSettings {
    /// Up to, and without, `/numbers`.
    pub url: String,
    pub token: String,
}

impl fmt::Debug for HttpCarrierSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpCarrierSettings").field("url", &self.url).finish_non_exhaustive()
    }
}

#[derive(Clone)]
pub struct HttpCarrier {
    pub http: reqwest::Client,
    pub settings: HttpCarrierSettings,
}

#[derive(Deserialize)]
struct Answer {
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

impl HttpCarrier {
    /// A carrier that has begun before is only asked how far it is.
    pub async fn activate(&self, number: &E164, order: Uuid) -> Result<Activation, CarrierAway> {
        let answer = self.change(number, "activate", order).await?;
        match read(answer)? {
            Activation::Pending => match self.state(number).await? {
                (StatusCode::NOT_FOUND, _) => Ok(Activation::Pending),
                answer => read(answer),
            },
            activation => Ok(activation),
        }
    }

    pub async fn deactivate(&self, number: &E164, order: Uuid) -> Result<(), CarrierAway> {
        match self.change(number, "deactivate", order).await? {
            // A number that the carrier does not know of is as good as deactivated.
            (status, _) if status.is_success() || is_refusal(status) => Ok(()),
            (status, _) => Err(CarrierAway(format!("the carrier answers {status}"))),
        }
    }

    async fn change(&self, number: &E164, what: &str, order: Uuid) -> Result<(StatusCode, Vec<u8>), CarrierAway> {
        let url = format!("{}/numbers/{}/{what}", self.settings.url, number.digits());
        let request = self.http.post(url).header("Idempotency-Key", format!("{order}-{what}"));
        self.send(request.json(&json!({"number": number, "reference": order}))).await
    }

    async fn state(&self, number: &E164) -> Result<(StatusCode, Vec<u8>), CarrierAway> {
        self.send(self.http.get(format!("{}/numbers/{}", self.settings.url, number.digits()))).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<(StatusCode, Vec<u8>), CarrierAway> {
        let away = |error: reqwest::Error| CarrierAway(error.without_url().to_string());
        let mut answer = request.bearer_auth(&self.settings.token).timeout(TIMEOUT).send().await.map_err(away)?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(away)? {
            if body.len() + chunk.len() > LIMIT_BYTES {
                return Err(CarrierAway("the carrier's answer is too long".into()));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((answer.status(), body))
    }
}

fn is_refusal(status: StatusCode) -> bool {
    let refusals = [StatusCode::NOT_FOUND, StatusCode::CONFLICT, StatusCode::GONE, StatusCode::UNPROCESSABLE_ENTITY];
    refusals.contains(&status)
}

fn read((status, body): (StatusCode, Vec<u8>)) -> Result<Activation, CarrierAway> {
    let answer = serde_json::from_slice::<Answer>(&body);
    match answer {
        Ok(answer) if status.is_success() => Ok(match answer.state {
            State::Active => Activation::Active,
            State::Pending => Activation::Pending,
            State::Refused => Activation::Refused(told(answer.reason)),
        }),
        answer if is_refusal(status) => Ok(Activation::Refused(told(answer.ok().and_then(|answer| answer.reason)))),
        Ok(_) => Err(CarrierAway(format!("the carrier answers {status}"))),
        Err(error) => Err(CarrierAway(format!("the carrier answers {status}: {error}"))),
    }
}

fn told(reason: Option<String>) -> String {
    let plain: String = reason.unwrap_or_default().chars().filter(|c| !c.is_control()).take(REASON_CHARS).collect();
    if plain.is_empty() { "the carrier refuses".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn answered(status: u16, body: &str) -> Result<Activation, CarrierAway> {
        read((StatusCode::from_u16(status).unwrap(), body.as_bytes().to_vec()))
    }

    #[test]
    fn an_answer_is_yes_not_yet_or_no() {
        assert_eq!(answered(200, r#"{"state": "active"}"#).unwrap(), Activation::Active);
        assert_eq!(answered(202, r#"{"state": "pending"}"#).unwrap(), Activation::Pending);
        let refused = answered(200, r#"{"state": "refused", "reason": "ported\naway"}"#).unwrap();
        assert_eq!(refused, Activation::Refused("portedaway".into()));
        assert_eq!(answered(409, "").unwrap(), Activation::Refused("the carrier refuses".into()));
    }

    #[test]
    fn whatever_else_it_says_it_is_away() {
        for (status, body) in [(500, r#"{"state": "active"}"#), (200, "<html>"), (401, ""), (429, ""), (302, "")] {
            assert!(answered(status, body).is_err(), "{status} {body}");
        }
    }

    #[test]
    fn the_token_is_never_shown() {
        let settings = HttpCarrierSettings { url: "https://carrier.example".into(), token: "hunter2".into() };
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
