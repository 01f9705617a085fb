//! Status checks of a KYB intake; the error names the status, the one that is needed and what to do.

use super::types::KybStatus;

/// The customer may change and submit the intake.
pub fn require_open(status: KybStatus) -> Result<(), String> {
    let next = match status {
        KybStatus::Open => return Ok(()),
        KybStatus::Submitted => "The team is reviewing it and will ask if it needs more.",
        KybStatus::Approved => "Nothing more is needed.",
        KybStatus::Rejected => "GET /v1/me/kyb opens a new one.",
    };
    Err(format!("The KYB intake is {status}; it can be changed and submitted only while it is open. {next}"))
}

/// The team may decide about the intake.
pub fn require_submitted(status: KybStatus) -> Result<(), String> {
    let next = match status {
        KybStatus::Submitted => return Ok(()),
        KybStatus::Open => "The customer has not submitted it yet.",
        KybStatus::Approved | KybStatus::Rejected => "The decision is final.",
    };
    Err(format!("The KYB intake is {status}; it can be approved or rejected only while it is submitted. {next}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_names_the_current_and_the_required_status() {
        for &status in KybStatus::ALL {
            for (outcome, allowed) in
                [(require_open(status), KybStatus::Open), (require_submitted(status), KybStatus::Submitted)]
            {
                assert_eq!(outcome.is_ok(), status == allowed);
                if let Err(detail) = outcome {
                    assert!(detail.contains(status.as_str()) && detail.contains(allowed.as_str()), "{detail}");
                }
            }
        }
    }
}
