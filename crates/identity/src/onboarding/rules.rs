//! The state machine of an account: two sets of states that move together, as one pure table.
//!
//! `beta` is the prospect's place in the private beta, `onboarding` what the carrier has checked. An account that is
//! suspended remembers the status it had; what happens meanwhile moves that one.

use crate::accounts::OnboardingStatus;
use values::{Country, text_enum};

text_enum! {
    /// Status of an account in the private beta: `beta_signup` (signed up), `beta_card_pending` (card verification has
    /// started), `beta_waitlist` (waits for approval), `beta_approved` (may top up), `beta_declined`, or `live` (KYB is
    /// approved and the account has topped up).
    pub enum AccountStatus {
        BetaSignup = "beta_signup",
        BetaCardPending = "beta_card_pending",
        BetaWaitlist = "beta_waitlist",
        BetaApproved = "beta_approved",
        BetaDeclined = "beta_declined",
        Live = "live",
    }
}

/// What can happen to an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The traffic profile was given.
    Profiled,
    KybOpened,
    KybSubmitted,
    KybApproved,
    KybRejected,
    CardStarted,
    CardVerified,
    CardFailed,
    /// The team lets the prospect in.
    Approved,
    Declined,
    /// A top-up was completed.
    ToppedUp,
    Suspended,
    Reinstated,
}

/// What must be true beside the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub card_verified: bool,
    pub kyb_submitted: bool,
    pub profiled: bool,
    pub topped_up: bool,
}

impl Facts {
    fn ready_to_wait(self) -> bool {
        self.card_verified && self.kyb_submitted && self.profiled
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub beta: AccountStatus,
    pub onboarding: OnboardingStatus,
    /// The status to return to; present exactly while suspended.
    pub suspended_from: Option<OnboardingStatus>,
}

/// A move that the table does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub current: &'static str,
    pub allowed: Vec<&'static str>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "The account is {}; this is allowed only while it is {}.", self.current, self.allowed.join(" or "))
    }
}

/// The beta moves: from one of these, by this, to that.
fn beta_move(event: Event) -> Option<(&'static [AccountStatus], AccountStatus)> {
    use AccountStatus::{BetaApproved, BetaCardPending, BetaDeclined, BetaSignup, BetaWaitlist};
    match event {
        Event::CardStarted => Some((&[BetaSignup, BetaCardPending], BetaCardPending)),
        Event::Approved => Some((&[BetaSignup, BetaCardPending, BetaWaitlist, BetaDeclined], BetaApproved)),
        Event::Declined => Some((&[BetaSignup, BetaCardPending, BetaWaitlist], BetaDeclined)),
        _ => None,
    }
}

/// The onboarding moves.
fn onboarding_move(event: Event) -> Option<(&'static [OnboardingStatus], OnboardingStatus)> {
    use OnboardingStatus::{Approved, DocsRequested, UnderReview};
    match event {
        Event::KybSubmitted => Some((&[DocsRequested], UnderReview)),
        Event::KybApproved => Some((&[UnderReview], Approved)),
        Event::KybRejected => Some((&[UnderReview], DocsRequested)),
        _ => None,
    }
}

/// What the event makes of the account.
pub fn apply(standing: Standing, event: Event, facts: Facts) -> Result<Standing, Refusal> {
    let mut next = standing;
    if let Some((from, to)) = beta_move(event) {
        next.beta = moved(standing.beta, from, to, AccountStatus::as_str)?;
    }
    match event {
        Event::Suspended => return suspend(standing),
        Event::Reinstated => return reinstate(standing),
        _ => {}
    }
    let mut checked = standing.suspended_from.unwrap_or(standing.onboarding);
    if let Some((from, to)) = onboarding_move(event) {
        checked = moved(checked, from, to, OnboardingStatus::as_str)?;
    }
    if matches!(event, Event::KybOpened | Event::Approved) && checked == OnboardingStatus::SignupPending {
        checked = OnboardingStatus::DocsRequested;
    }
    // Whichever of the conditions comes last takes the account on.
    if matches!(next.beta, AccountStatus::BetaSignup | AccountStatus::BetaCardPending) && facts.ready_to_wait() {
        next.beta = AccountStatus::BetaWaitlist;
    }
    if next.beta == AccountStatus::BetaApproved && checked == OnboardingStatus::Approved && facts.topped_up {
        next.beta = AccountStatus::Live;
    }
    match next.suspended_from {
        Some(_) => next.suspended_from = Some(checked),
        None => next.onboarding = checked,
    }
    Ok(next)
}

/// Whether a company may still say that it is elsewhere: until its papers are submitted, or while nobody knows where.
pub fn may_move_country(known: Country, onboarding: OnboardingStatus) -> Result<(), Refusal> {
    use OnboardingStatus::{DocsRequested, SignupPending};
    if known == Country::UNKNOWN {
        return Ok(());
    }
    moved(onboarding, &[SignupPending, DocsRequested], onboarding, OnboardingStatus::as_str).map(|_| ())
}

fn moved<S: Copy + PartialEq>(current: S, from: &[S], to: S, name: fn(S) -> &'static str) -> Result<S, Refusal> {
    if from.contains(&current) {
        return Ok(to);
    }
    Err(Refusal { current: name(current), allowed: from.iter().map(|state| name(*state)).collect() })
}

fn suspend(standing: Standing) -> Result<Standing, Refusal> {
    match standing.suspended_from {
        Some(_) => Err(Refusal { current: "suspended", allowed: vec!["not suspended"] }),
        None => Ok(Standing {
            onboarding: OnboardingStatus::Suspended,
            suspended_from: Some(standing.onboarding),
            ..standing
        }),
    }
}

fn reinstate(standing: Standing) -> Result<Standing, Refusal> {
    match standing.suspended_from {
        Some(before) => Ok(Standing { onboarding: before, suspended_from: None, ..standing }),
        None => Err(Refusal { current: standing.onboarding.as_str(), allowed: vec!["suspended"] }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EVENTS: [Event; 13] = [
        Event::Profiled,
        Event::KybOpened,
        Event::KybSubmitted,
        Event::KybApproved,
        Event::KybRejected,
        Event::CardStarted,
        Event::CardVerified,
        Event::CardFailed,
        Event::Approved,
        Event::Declined,
        Event::ToppedUp,
        Event::Suspended,
        Event::Reinstated,
    ];

    const BORN: Standing =
        Standing { beta: AccountStatus::BetaSignup, onboarding: OnboardingStatus::SignupPending, suspended_from: None };

    /// Every pair of beta states that the product allows, written down a second time and by hand.
    fn beta_may_become(from: AccountStatus, to: AccountStatus) -> bool {
        use AccountStatus::*;
        from == to
            || matches!(
                (from, to),
                (BetaSignup, BetaCardPending | BetaWaitlist | BetaApproved | BetaDeclined)
                    | (BetaCardPending, BetaWaitlist | BetaApproved | BetaDeclined)
                    | (BetaWaitlist, BetaApproved | BetaDeclined)
                    | (BetaDeclined, BetaApproved)
                    | (BetaApproved, Live)
                    // Approval of an account that is paid up and checked already.
                    | (BetaSignup | BetaCardPending | BetaWaitlist | BetaDeclined, Live)
            )
    }

    fn onboarding_may_become(from: OnboardingStatus, to: OnboardingStatus) -> bool {
        use OnboardingStatus::*;
        from == to
            || to == Suspended
            || from == Suspended
            || matches!(
                (from, to),
                (SignupPending, DocsRequested) | (DocsRequested, UnderReview) | (UnderReview, Approved | DocsRequested)
            )
    }

    /// Facts as they follow from what happened.
    fn after(facts: Facts, event: Event) -> Facts {
        match event {
            Event::Profiled => Facts { profiled: true, ..facts },
            Event::KybSubmitted => Facts { kyb_submitted: true, ..facts },
            Event::KybRejected => Facts { kyb_submitted: false, ..facts },
            Event::CardVerified => Facts { card_verified: true, ..facts },
            Event::ToppedUp => Facts { topped_up: true, ..facts },
            _ => facts,
        }
    }

    proptest! {
        #[test]
        fn no_sequence_of_events_reaches_a_state_that_is_not_allowed(
            events in proptest::collection::vec(proptest::sample::select(&EVENTS[..]), 0..60),
        ) {
            let mut standing = BORN;
            let mut facts = Facts { card_verified: false, kyb_submitted: false, profiled: false, topped_up: false };
            for event in events {
                let known = after(facts, event);
                match apply(standing, event, known) {
                    Ok(next) => {
                        prop_assert!(beta_may_become(standing.beta, next.beta), "{standing:?} {event:?} {next:?}");
                        prop_assert!(onboarding_may_become(standing.onboarding, next.onboarding));
                        prop_assert_eq!(next.suspended_from.is_some(), next.onboarding == OnboardingStatus::Suspended);
                        prop_assert_ne!(next.suspended_from, Some(OnboardingStatus::Suspended));
                        if next.beta == AccountStatus::BetaWaitlist && standing.beta != next.beta {
                            prop_assert!(known.ready_to_wait());
                        }
                        if next.beta == AccountStatus::Live {
                            prop_assert!(known.topped_up);
                        }
                        (standing, facts) = (next, known);
                    }
                    Err(refusal) => {
                        prop_assert!(!refusal.allowed.is_empty());
                        prop_assert!(!refusal.allowed.contains(&refusal.current));
                    }
                }
            }
        }
    }

    #[test]
    fn a_refusal_names_where_the_account_is_and_where_it_would_have_to_be() {
        let facts = Facts { card_verified: false, kyb_submitted: false, profiled: false, topped_up: false };
        let live = Standing { beta: AccountStatus::Live, onboarding: OnboardingStatus::Approved, suspended_from: None };
        let refusal = apply(live, Event::Declined, facts).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "The account is live; this is allowed only while it is beta_signup or beta_card_pending or beta_waitlist."
        );
    }

    #[test]
    fn the_last_of_three_conditions_opens_the_waitlist_whichever_it_is() {
        for last in [Event::Profiled, Event::CardVerified] {
            let all = Facts { card_verified: true, kyb_submitted: true, profiled: true, topped_up: false };
            assert_eq!(apply(BORN, last, all).map(|next| next.beta), Ok(AccountStatus::BetaWaitlist));
        }
    }

    #[test]
    fn what_happens_while_suspended_is_not_lost() {
        let facts = Facts { card_verified: false, kyb_submitted: true, profiled: false, topped_up: false };
        let step = |standing, event| apply(standing, event, facts).ok();
        let suspended = step(BORN, Event::KybOpened).and_then(|s| step(s, Event::Suspended));
        let reinstated = suspended.and_then(|s| step(s, Event::KybSubmitted)).and_then(|s| step(s, Event::Reinstated));
        assert_eq!(reinstated.map(|s| s.onboarding), Some(OnboardingStatus::UnderReview));
    }
}
