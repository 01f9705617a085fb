//! VIES over its REST interface.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Proof, Verdict};
use values::VatId;

/// The longest answer that is read; a company's name and address fit many times.
const ANSWER_BYTES_AT_MOST: usize = 64 * 1024;
/// The most that is kept of a name, an address or an identifier.
const TEXT_AT_MOST: usize = 500;

#[derive(Clone)]
pub struct Rest {
    pub http: reqwest::Client,
    /// Up to, and without, `/check-vat-number`.
    pub url: String,
    /// Our own id: who says who asks gets a number that proves it.
    pub requester: Option<VatId>,
    pub timeout: Duration,
}

/// A register entry, or the reasons why there is no answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    valid: Option<bool>,
    name: Option<String>,
    address: Option<String>,
    request_identifier: Option<String>,
    #[serde(default)]
    error_wrappers: Vec<Fault>,
}

#[derive(Deserialize)]
struct Fault {
    error: String,
}

impl Rest {
    pub async fn check(&self, id: &VatId) -> Verdict {
        match self.ask(id).await {
            Ok(answer) => read(answer),
            Err(error) => Verdict::Unknown(error.to_string()),
        }
    }

    async fn ask(&self, id: &VatId) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        let url = format!("{}/check-vat-number", self.url);
        let request = self.http.post(url).timeout(self.timeout).json(&question(id, self.requester.as_ref()));
        // Refusals come with any status; what counts is whether the body is an answer.
        let mut response = request.send().await?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await? {
            body.extend_from_slice(&piece);
            if body.len() > ANSWER_BYTES_AT_MOST {
                return Err("VIES answered at too great a length".into());
            }
        }
        serde_json::from_slice(&body).map_err(|error| format!("VIES answered {status}: {error}").into())
    }
}

fn question(id: &VatId, requester: Option<&VatId>) -> Value {
    let mut question = json!({"countryCode": id.prefix(), "vatNumber": id.number()});
    if let Some(requester) = requester {
        question["requesterMemberStateCode"] = requester.prefix().into();
        question["requesterNumber"] = requester.number().into();
    }
    question
}

fn read(answer: Answer) -> Verdict {
    if let Some(fault) = answer.error_wrappers.first() {
        return match fault.error.as_str() {
            "INVALID_INPUT" => Verdict::Invalid,
            error => Verdict::Unknown(format!("VIES answered {error}")),
        };
    }
    match answer.valid {
        Some(true) => Verdict::Valid(Proof {
            request_identifier: told(answer.request_identifier),
            name: told(answer.name),
            address: told(answer.address),
        }),
        Some(false) => Verdict::Invalid,
        None => Verdict::Unknown("VIES answered neither yes nor no".to_owned()),
    }
}

/// What was said, if anything: states that tell nothing send dashes.
fn told(text: Option<String>) -> Option<String> {
    let kept = |c: &char| *c == '\n' || !c.is_control();
    let text: String = text?.trim().chars().filter(kept).take(TEXT_AT_MOST).collect();
    (!text.is_empty() && text != "---").then_some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn verdict(answer: Value) -> Verdict {
        read(serde_json::from_value(answer).unwrap())
    }

    #[test]
    fn an_entry_is_valid_or_not_and_dashes_say_nothing() {
        let entry = json!({
            "countryCode": "DE", "vatNumber": "136695976", "valid": true, "requestIdentifier": "WAPIAAAAY1", "name": "---",
            "address": "Ufer 1\nBerlin\u{0}",
        });
        let proof = Proof {
            request_identifier: Some("WAPIAAAAY1".to_owned()),
            name: None,
            address: Some("Ufer 1\nBerlin".to_owned()),
        };
        assert_eq!(verdict(entry), Verdict::Valid(proof));
        let anonymous = json!({"valid": true, "requestIdentifier": "", "name": "A", "address": "B"});
        assert!(matches!(verdict(anonymous), Verdict::Valid(Proof { request_identifier: None, .. })));
        assert_eq!(verdict(json!({"valid": false, "name": "---"})), Verdict::Invalid);
    }

    #[test]
    fn whatever_goes_wrong_is_unknown_and_only_nonsense_is_invalid() {
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
            assert_eq!(verdict(answer), Verdict::Unknown(format!("VIES answered {error}")));
        }
        let nonsense = json!({"actionSucceed": false, "errorWrappers": [{"error": "INVALID_INPUT"}]});
        assert_eq!(verdict(nonsense), Verdict::Invalid);
        assert!(matches!(verdict(json!({"actionSucceed": false})), Verdict::Unknown(_)));
    }

    #[test]
    fn who_asks_is_said_where_it_is_known() {
        let [greek, dutch] = ["EL094259216", "NL123456782B90"].map(|id| id.parse::<VatId>().unwrap());
        let asked = question(&greek, Some(&dutch));
        let expected = json!({
            "countryCode": "EL", "vatNumber": "094259216", "requesterMemberStateCode": "NL",
            "requesterNumber": "123456782B90",
        });
        assert_eq!(asked, expected);
        assert!(question(&greek, None).get("requesterNumber").is_none());
    }
}
