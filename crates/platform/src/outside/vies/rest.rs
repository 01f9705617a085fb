//! The client of VIES's REST API.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Proof, Verdict};
use crate::http_error;
use values::VatId;

const MAX_RESPONSE_BYTES: usize = 64 * 1024;
/// Longer names, addresses and identifiers are cut off.
const MAX_TEXT_CHARS: usize = 500;

#[derive(Clone)]
pub struct Rest {
    pub http: reqwest::Client,
    /// The base URL: everything before `/check-vat-number`.
    pub url: String,
    /// The operator's own VAT id; VIES returns a consultation number if it is given.
    pub requester: Option<VatId>,
    pub timeout: Duration,
}

/// An entry of the register, or errors.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CheckResponse {
    valid: Option<bool>,
    name: Option<String>,
    address: Option<String>,
    request_identifier: Option<String>,
    #[serde(default)]
    error_wrappers: Vec<ErrorBody>,
}

#[derive(Deserialize)]
struct ErrorBody {
    error: String,
}

impl Rest {
    pub async fn check(&self, id: &VatId) -> Verdict {
        match self.send(id).await {
            Ok(response) => verdict(response),
            Err(error) => Verdict::Unknown(error),
        }
    }

    async fn send(&self, id: &VatId) -> Result<CheckResponse, String> {
        let unreachable = |error| http_error::unreachable("VIES", error);
        let url = format!("{}/check-vat-number", self.url);
        let request = self.http.post(url).timeout(self.timeout).json(&request_body(id, self.requester.as_ref()));
        // Errors come with any status, so only the body counts.
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(unreachable)? {
            body.extend_from_slice(&piece);
            if body.len() > MAX_RESPONSE_BYTES {
                return Err("VIES's response is too large".into());
            }
        }
        serde_json::from_slice(&body).map_err(|error| format!("VIES responded {status}: {error}"))
    }
}

fn request_body(id: &VatId, requester: Option<&VatId>) -> Value {
    let mut body = json!({"countryCode": id.prefix(), "vatNumber": id.number()});
    if let Some(requester) = requester {
        body["requesterMemberStateCode"] = requester.prefix().into();
        body["requesterNumber"] = requester.number().into();
    }
    body
}

fn verdict(response: CheckResponse) -> Verdict {
    if let Some(fault) = response.error_wrappers.first() {
        return match fault.error.as_str() {
            "INVALID_INPUT" => Verdict::Invalid,
            error => Verdict::Unknown(format!("VIES responded {error}")),
        };
    }
    match response.valid {
        Some(true) => Verdict::Valid(Proof {
            request_identifier: clean_text(response.request_identifier),
            name: clean_text(response.name),
            address: clean_text(response.address),
        }),
        Some(false) => Verdict::Invalid,
        None => Verdict::Unknown("VIES responded neither valid nor invalid".to_owned()),
    }
}

/// The text without control characters; `None` if empty. Member states send dashes for what they do not disclose.
fn clean_text(text: Option<String>) -> Option<String> {
    let is_text = |c: &char| *c == '\n' || !c.is_control();
    let text: String = text?.trim().chars().filter(is_text).take(MAX_TEXT_CHARS).collect();
    (!text.is_empty() && text != "---").then_some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn check(answer: Value) -> Verdict {
        verdict(serde_json::from_value(answer).unwrap())
    }

    #[test]
    fn an_entry_is_valid_or_not_and_dashes_are_dropped() {
        let entry = json!({
            "countryCode": "DE", "vatNumber": "136695976", "valid": true, "requestIdentifier": "WAPIAAAAY1", "name": "---",
            "address": "Ufer 1\nBerlin\u{0}",
        });
        let proof = Proof {
            request_identifier: Some("WAPIAAAAY1".to_owned()),
            name: None,
            address: Some("Ufer 1\nBerlin".to_owned()),
        };
        assert_eq!(check(entry), Verdict::Valid(proof));
        let anonymous = json!({"valid": true, "requestIdentifier": "", "name": "A", "address": "B"});
        assert!(matches!(check(anonymous), Verdict::Valid(Proof { request_identifier: None, .. })));
        assert_eq!(check(json!({"valid": false, "name": "---"})), Verdict::Invalid);
    }

    #[test]
    fn an_error_is_unknown_and_malformed_input_is_invalid() {
        for error in [
            "MS_UNAVAILABLE",
            "MS_MAX_CONCURRENT_REQ",
            "GLOBAL_MAX_CONCURRENT_REQ",
            "TIMEOUT",
            "SERVICE_UNAVAILABLE",
            "INVALID_REQUESTER_INFO",
            "VAT_BLOCKED",
            "IP_BLOCKED",
        ] {
            let answer = json!({"actionSucceed": false, "errorWrappers": [{"error": error}]});
            assert_eq!(check(answer), Verdict::Unknown(format!("VIES responded {error}")));
        }
        let nonsense = json!({"actionSucceed": false, "errorWrappers": [{"error": "INVALID_INPUT"}]});
        assert_eq!(check(nonsense), Verdict::Invalid);
        assert!(matches!(check(json!({"actionSucceed": false})), Verdict::Unknown(_)));
    }

    #[test]
    fn the_requester_is_sent_if_it_is_known() {
        let [greek, dutch] = ["EL094259216", "NL123456782B90"].map(|id| id.parse::<VatId>().unwrap());
        let sent = request_body(&greek, Some(&dutch));
        let expected = json!({
            "countryCode": "EL", "vatNumber": "094259216", "requesterMemberStateCode": "NL",
            "requesterNumber": "123456782B90",
        });
        assert_eq!(sent, expected);
        assert!(request_body(&greek, None).get("requesterNumber").is_none());
    }
}
