//! State table of an intake, and which documents it accepts.

use super::types::{DocumentStatus, IntakeStatus, Purpose};
use values::DocKind;

/// Documents of one intake.
pub const MAX_DOCUMENTS: usize = 20;

/// Kinds that a KYB intake accepts in addition to the required ones.
const KYB_KINDS: [&str; 6] =
    ["company_registration", "proof_of_address", "director_id", "ubo_declaration", "tax_certificate", "other"];

/// What the customer or the team does with an intake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// By the customer; the other actions are the team's.
    Submit,
    StartReview,
    Approve,
    Reject,
    RequestMore,
}

/// The status of the intake does not allow the action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidTransition {
    pub current: IntakeStatus,
    pub allowed: &'static [IntakeStatus],
}

impl std::fmt::Display for InvalidTransition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let allowed: Vec<&str> = self.allowed.iter().map(|status| status.as_str()).collect();
        write!(f, "The intake is {}; this is allowed only while it is {}.", self.current, allowed.join(" or "))
    }
}

/// The customer can change and submit the intake.
const OPEN: &[IntakeStatus] = &[IntakeStatus::Draft, IntakeStatus::MoreInfoRequested];
/// The team can decide.
const IN_REVIEW: &[IntakeStatus] = &[IntakeStatus::Submitted, IntakeStatus::UnderReview];

/// The status after an action.
pub fn next_status(current: IntakeStatus, action: Action) -> Result<IntakeStatus, InvalidTransition> {
    let (allowed, to) = match action {
        Action::Submit => (OPEN, IntakeStatus::Submitted),
        Action::StartReview => (&[IntakeStatus::Submitted][..], IntakeStatus::UnderReview),
        Action::Approve => (IN_REVIEW, IntakeStatus::Approved),
        Action::Reject => (IN_REVIEW, IntakeStatus::Rejected),
        Action::RequestMore => (IN_REVIEW, IntakeStatus::MoreInfoRequested),
    };
    require_status(current, allowed).map(|()| to)
}

/// Documents may be uploaded and deleted.
pub fn check_editable(current: IntakeStatus) -> Result<(), InvalidTransition> {
    require_status(current, OPEN)
}

/// The team may accept and reject documents.
pub fn check_reviewable(current: IntakeStatus) -> Result<(), InvalidTransition> {
    require_status(current, IN_REVIEW)
}

fn require_status(current: IntakeStatus, allowed: &'static [IntakeStatus]) -> Result<(), InvalidTransition> {
    if allowed.contains(&current) { Ok(()) } else { Err(InvalidTransition { current, allowed }) }
}

/// Whether an intake accepts a document of this kind.
pub fn accepts_kind(purpose: Purpose, required: &[DocKind], kind: &DocKind) -> bool {
    let always: &[&str] = match purpose {
        Purpose::Kyb => &KYB_KINDS,
        Purpose::RegulatoryDid => &["other"],
    };
    required.contains(kind) || always.contains(&kind.as_str())
}

/// Required kinds that have a document which was not rejected.
pub fn uploaded_kinds(required: &[DocKind], documents: &[(&DocKind, DocumentStatus)]) -> Vec<DocKind> {
    let has_document =
        |kind: &DocKind| documents.iter().any(|(one, status)| *one == kind && *status != DocumentStatus::Rejected);
    required.iter().filter(|kind| has_document(kind)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table a second time, written by hand.
    fn expected(from: IntakeStatus, action: Action) -> Option<IntakeStatus> {
        use IntakeStatus::*;
        match (from, action) {
            (Draft | MoreInfoRequested, Action::Submit) => Some(Submitted),
            (Submitted, Action::StartReview) => Some(UnderReview),
            (Submitted | UnderReview, Action::Approve) => Some(Approved),
            (Submitted | UnderReview, Action::Reject) => Some(Rejected),
            (Submitted | UnderReview, Action::RequestMore) => Some(MoreInfoRequested),
            _ => None,
        }
    }

    #[test]
    fn actions_lead_where_the_table_says_and_nowhere_else() {
        for &from in IntakeStatus::ALL {
            for action in [Action::Submit, Action::StartReview, Action::Approve, Action::Reject, Action::RequestMore] {
                assert_eq!(next_status(from, action).ok(), expected(from, action), "{from} {action:?}");
            }
        }
    }

    #[test]
    fn a_decided_intake_cannot_change() {
        for status in [IntakeStatus::Approved, IntakeStatus::Rejected] {
            assert!(check_editable(status).is_err() && check_reviewable(status).is_err());
        }
        let refusal = next_status(IntakeStatus::Approved, Action::Reject).err().map(|error| error.to_string());
        let sentence = "The intake is approved; this is allowed only while it is submitted or under_review.";
        assert_eq!(refusal.as_deref(), Some(sentence));
    }

    #[test]
    fn an_intake_is_never_open_to_customer_and_team_together() {
        for &status in IntakeStatus::ALL {
            assert!(check_editable(status).is_err() || check_reviewable(status).is_err(), "{status}");
        }
    }

    #[test]
    fn a_kind_is_uploaded_once_it_has_a_document_that_was_not_rejected() {
        let [a, b, c] = ["a", "b", "c"].map(DocKind::named);
        let documents = [(&a, DocumentStatus::Rejected), (&b, DocumentStatus::Rejected), (&b, DocumentStatus::Pending)];
        assert_eq!(uploaded_kinds(&[a.clone(), b.clone(), c.clone()], &documents), [b]);
        assert_eq!(uploaded_kinds(&[c], &[(&a, DocumentStatus::Accepted)]), []);
    }

    #[test]
    fn an_intake_accepts_required_kinds_and_the_usual_ones() {
        let [tax, licence] = ["tax_certificate", "licence"].map(DocKind::named);
        assert!(accepts_kind(Purpose::Kyb, &[], &tax));
        assert!(!accepts_kind(Purpose::Kyb, &[], &licence));
        assert!(accepts_kind(Purpose::RegulatoryDid, std::slice::from_ref(&licence), &licence));
        assert!(!accepts_kind(Purpose::RegulatoryDid, &[licence], &tax));
    }
}
