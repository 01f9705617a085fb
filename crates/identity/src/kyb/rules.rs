//! What stands in the way of a move, in the words of a business verification: what it is, and what would do.

use super::types::KybStatus;

/// Whether the customer may change and submit it.
pub fn must_be_open(status: KybStatus) -> Result<(), String> {
    let way_out = match status {
        KybStatus::Open => return Ok(()),
        KybStatus::Submitted => "we are looking at it, and tell you should we need more",
        KybStatus::Approved => "nothing more is needed",
        KybStatus::Rejected => "GET /v1/me/kyb opens another one",
    };
    Err(format!("The business verification is {status}, and documents are taken only while it is open: {way_out}."))
}

/// Whether the team may decide on it.
pub fn must_be_submitted(status: KybStatus) -> Result<(), String> {
    let way_out = match status {
        KybStatus::Submitted => return Ok(()),
        KybStatus::Open => "the customer has yet to submit it",
        KybStatus::Approved | KybStatus::Rejected => "that decision is final",
    };
    Err(format!("The business verification is {status}, and is decided on only while it is submitted: {way_out}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_names_the_state_and_the_one_that_would_do() {
        for &status in KybStatus::ALL {
            for (outcome, allowed) in
                [(must_be_open(status), KybStatus::Open), (must_be_submitted(status), KybStatus::Submitted)]
            {
                assert_eq!(outcome.is_ok(), status == allowed);
                if let Err(words) = outcome {
                    assert!(words.contains(status.as_str()) && words.contains(allowed.as_str()), "{words}");
                }
            }
        }
    }
}
