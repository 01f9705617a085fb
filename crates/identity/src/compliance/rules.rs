//! The states of an intake as one pure table, and what may be handed in when.

use super::types::{DocumentStatus, IntakeStatus, Purpose};
use values::DocKind;

/// How many documents an intake holds at most.
pub const DOCUMENTS_AT_MOST: usize = 20;

/// Kinds that a business verification takes beside those it asks for.
const KYB_KINDS: [&str; 6] =
    ["company_registration", "proof_of_address", "director_id", "ubo_declaration", "tax_certificate", "other"];

/// What somebody does with an intake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// The customer hands it in.
    Submit,
    /// The team begins to look at it.
    Review,
    Approve,
    Reject,
    RequestMore,
}

/// A move, or a change of its documents, that an intake's state does not allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub current: IntakeStatus,
    pub allowed: &'static [IntakeStatus],
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let allowed: Vec<&str> = self.allowed.iter().map(|status| status.as_str()).collect();
        write!(f, "The intake is {}; this is allowed only while it is {}.", self.current, allowed.join(" or "))
    }
}

/// While the customer has it.
const OPEN: &[IntakeStatus] = &[IntakeStatus::Draft, IntakeStatus::MoreInfoRequested];
/// While the team has it.
const HANDED_IN: &[IntakeStatus] = &[IntakeStatus::Submitted, IntakeStatus::UnderReview];

/// Where a move leads.
pub fn apply(current: IntakeStatus, step: Move) -> Result<IntakeStatus, Refusal> {
    let (allowed, to) = match step {
        Move::Submit => (OPEN, IntakeStatus::Submitted),
        Move::Review => (&[IntakeStatus::Submitted][..], IntakeStatus::UnderReview),
        Move::Approve => (HANDED_IN, IntakeStatus::Approved),
        Move::Reject => (HANDED_IN, IntakeStatus::Rejected),
        Move::RequestMore => (HANDED_IN, IntakeStatus::MoreInfoRequested),
    };
    within(current, allowed).map(|()| to)
}

/// Whether documents may be added and taken away.
pub fn admit_documents(current: IntakeStatus) -> Result<(), Refusal> {
    within(current, OPEN)
}

/// Whether the team may accept and reject documents.
pub fn admit_verdicts(current: IntakeStatus) -> Result<(), Refusal> {
    within(current, HANDED_IN)
}

fn within(current: IntakeStatus, allowed: &'static [IntakeStatus]) -> Result<(), Refusal> {
    if allowed.contains(&current) { Ok(()) } else { Err(Refusal { current, allowed }) }
}

/// Whether a document of this kind belongs here.
pub fn takes(purpose: Purpose, required: &[DocKind], kind: &DocKind) -> bool {
    let always: &[&str] = match purpose {
        Purpose::Kyb => &KYB_KINDS,
        Purpose::RegulatoryDid => &["other"],
    };
    required.contains(kind) || always.contains(&kind.as_str())
}

/// Which of the required kinds there are; a rejected document counts for nothing.
pub fn uploaded(required: &[DocKind], documents: &[(&DocKind, DocumentStatus)]) -> Vec<DocKind> {
    let counts =
        |kind: &DocKind| documents.iter().any(|(one, status)| *one == kind && *status != DocumentStatus::Rejected);
    required.iter().filter(|kind| counts(kind)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table once more, by hand.
    fn may(from: IntakeStatus, step: Move) -> Option<IntakeStatus> {
        use IntakeStatus::*;
        match (from, step) {
            (Draft | MoreInfoRequested, Move::Submit) => Some(Submitted),
            (Submitted, Move::Review) => Some(UnderReview),
            (Submitted | UnderReview, Move::Approve) => Some(Approved),
            (Submitted | UnderReview, Move::Reject) => Some(Rejected),
            (Submitted | UnderReview, Move::RequestMore) => Some(MoreInfoRequested),
            _ => None,
        }
    }

    #[test]
    fn every_move_leads_where_the_table_says_and_nowhere_else() {
        for &from in IntakeStatus::ALL {
            for step in [Move::Submit, Move::Review, Move::Approve, Move::Reject, Move::RequestMore] {
                assert_eq!(apply(from, step).ok(), may(from, step), "{from} {step:?}");
            }
        }
    }

    #[test]
    fn a_decided_intake_stays_as_it_is() {
        for status in [IntakeStatus::Approved, IntakeStatus::Rejected] {
            assert!(admit_documents(status).is_err() && admit_verdicts(status).is_err());
        }
        let refusal = apply(IntakeStatus::Approved, Move::Reject).err().map(|refusal| refusal.to_string());
        let sentence = "The intake is approved; this is allowed only while it is submitted or under_review.";
        assert_eq!(refusal.as_deref(), Some(sentence));
    }

    #[test]
    fn customer_and_team_never_have_an_intake_at_once() {
        for &status in IntakeStatus::ALL {
            assert!(admit_documents(status).is_err() || admit_verdicts(status).is_err(), "{status}");
        }
    }

    #[test]
    fn a_kind_counts_once_it_has_a_document_that_was_not_rejected() {
        let [a, b, c] = ["a", "b", "c"].map(DocKind::named);
        let documents = [(&a, DocumentStatus::Rejected), (&b, DocumentStatus::Rejected), (&b, DocumentStatus::Pending)];
        assert_eq!(uploaded(&[a.clone(), b.clone(), c.clone()], &documents), [b]);
        assert_eq!(uploaded(&[c], &[(&a, DocumentStatus::Accepted)]), []);
    }

    #[test]
    fn an_intake_takes_what_it_asks_for_and_the_usual() {
        let [tax, licence] = ["tax_certificate", "licence"].map(DocKind::named);
        assert!(takes(Purpose::Kyb, &[], &tax));
        assert!(!takes(Purpose::Kyb, &[], &licence));
        assert!(takes(Purpose::RegulatoryDid, std::slice::from_ref(&licence), &licence));
        assert!(!takes(Purpose::RegulatoryDid, &[licence], &tax));
    }
}
