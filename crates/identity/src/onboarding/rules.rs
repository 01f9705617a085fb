//! State machine of an account, as a pure function.
//!
//! `beta` is the status in the private beta, `onboarding` the status of KYB. A suspended account keeps the onboarding
//! status it had in `suspended_from`, and events change that one meanwhile.

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

/// Events that change the state of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The traffic profile was saved.
    Profiled,
    KybOpened,
    KybSubmitted,
    KybApproved,
    KybRejected,
    CardStarted,
    CardVerified,
    CardFailed,
    /// The team approved the account for the private beta.
    Approved,
    Declined,
    /// A top-up was completed.
    ToppedUp,
    Suspended,
    Reinstated,
}

/// Facts that transitions depend on beside the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub card_verified: bool,
    pub kyb_submitted: bool,
    pub profiled: bool,
    pub topped_up: bool,
}

impl Facts {
    fn is_ready_for_waitlist(self) -> bool {
        self.card_verified && self.kyb_submitted && self.profiled
    }
}

/// Beta and onboarding status of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountState {
    pub beta: AccountStatus,
    pub onboarding: OnboardingStatus,
    /// The status to return to; present exactly while suspended.
    pub suspended_from: Option<OnboardingStatus>,
}

/// The state of the account does not allow the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidTransition {
    pub current: &'static str,
    pub allowed: Vec<&'static str>,
}

impl std::fmt::Display for InvalidTransition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "The account is {}; this is allowed only while it is {}.", self.current, self.allowed.join(" or "))
    }
}

/// Beta transition of an event: the statuses it is allowed in, and the next one.
fn beta_transition(event: Event) -> Option<(&'static [AccountStatus], AccountStatus)> {
    use AccountStatus::{BetaApproved, BetaCardPending, BetaDeclined, BetaSignup, BetaWaitlist};
    match event {
        Event::CardStarted => Some((&[BetaSignup, BetaCardPending], BetaCardPending)),
        Event::Approved => Some((&[BetaSignup, BetaCardPending, BetaWaitlist, BetaDeclined], BetaApproved)),
        Event::Declined => Some((&[BetaSignup, BetaCardPending, BetaWaitlist], BetaDeclined)),
        _ => None,
    }
}

/// Onboarding transition of an event: the statuses it is allowed in, and the next one.
fn onboarding_transition(event: Event) -> Option<(&'static [OnboardingStatus], OnboardingStatus)> {
    use OnboardingStatus::{Approved, DocsRequested, UnderReview};
    match event {
        Event::KybSubmitted => Some((&[DocsRequested], UnderReview)),
        Event::KybApproved => Some((&[UnderReview], Approved)),
        Event::KybRejected => Some((&[UnderReview], DocsRequested)),
        _ => None,
    }
}

/// The state after an event.
pub fn apply(state: AccountState, event: Event, facts: Facts) -> Result<AccountState, InvalidTransition> {
    let mut next = state;
    if let Some((from, to)) = beta_transition(event) {
        next.beta = transition(state.beta, from, to, AccountStatus::as_str)?;
    }
    match event {
        Event::Suspended => return suspend(state),
        Event::Reinstated => return reinstate(state),
        _ => {}
    }
    let mut onboarding = state.suspended_from.unwrap_or(state.onboarding);
    if let Some((from, to)) = onboarding_transition(event) {
        onboarding = transition(onboarding, from, to, OnboardingStatus::as_str)?;
    }
    if matches!(event, Event::KybOpened | Event::Approved) && onboarding == OnboardingStatus::SignupPending {
        onboarding = OnboardingStatus::DocsRequested;
    }
    // Card, KYB and traffic profile may come in any order; the last of them puts the account on the waitlist.
    if matches!(next.beta, AccountStatus::BetaSignup | AccountStatus::BetaCardPending) && facts.is_ready_for_waitlist()
    {
        next.beta = AccountStatus::BetaWaitlist;
    }
    if next.beta == AccountStatus::BetaApproved && onboarding == OnboardingStatus::Approved && facts.topped_up {
        next.beta = AccountStatus::Live;
    }
    match next.suspended_from {
        Some(_) => next.suspended_from = Some(onboarding),
        None => next.onboarding = onboarding,
    }
    Ok(next)
}

/// The country of a company may change until KYB is submitted; one that is unknown may be set until KYB is approved, so
/// that the team sees it.
pub fn check_country_change(known: Country, onboarding: OnboardingStatus) -> Result<(), InvalidTransition> {
    use OnboardingStatus::{DocsRequested, SignupPending, UnderReview};
    let allowed: &[OnboardingStatus] = match known {
        Country::UNKNOWN => &[SignupPending, DocsRequested, UnderReview],
        _ => &[SignupPending, DocsRequested],
    };
    transition(onboarding, allowed, onboarding, OnboardingStatus::as_str).map(|_| ())
}

fn transition<S: Copy + PartialEq>(
    current: S,
    from: &[S],
    to: S,
    name: fn(S) -> &'static str,
) -> Result<S, InvalidTransition> {
    if from.contains(&current) {
        return Ok(to);
    }
    Err(InvalidTransition { current: name(current), allowed: from.iter().map(|state| name(*state)).collect() })
}

fn suspend(state: AccountState) -> Result<AccountState, InvalidTransition> {
    match state.suspended_from {
        Some(_) => Err(InvalidTransition { current: "suspended", allowed: vec!["not suspended"] }),
        None => Ok(AccountState {
            onboarding: OnboardingStatus::Suspended,
            suspended_from: Some(state.onboarding),
            ..state
        }),
    }
}

fn reinstate(state: AccountState) -> Result<AccountState, InvalidTransition> {
    match state.suspended_from {
        Some(before) => Ok(AccountState { onboarding: before, suspended_from: None, ..state }),
        None => Err(InvalidTransition { current: state.onboarding.as_str(), allowed: vec!["suspended"] }),
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

    const NEW: AccountState = AccountState {
        beta: AccountStatus::BetaSignup,
        onboarding: OnboardingStatus::SignupPending,
        suspended_from: None,
    };

    /// Every pair of beta statuses that the product allows, written a second time by hand.
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
                    // Approval of an account that has topped up and passed KYB already.
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

    /// Facts after an event.
    fn facts_after(facts: Facts, event: Event) -> Facts {
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
            let mut state = NEW;
            let mut facts = Facts { card_verified: false, kyb_submitted: false, profiled: false, topped_up: false };
            for event in events {
                let known = facts_after(facts, event);
                match apply(state, event, known) {
                    Ok(next) => {
                        prop_assert!(beta_may_become(state.beta, next.beta), "{state:?} {event:?} {next:?}");
                        prop_assert!(onboarding_may_become(state.onboarding, next.onboarding));
                        prop_assert_eq!(next.suspended_from.is_some(), next.onboarding == OnboardingStatus::Suspended);
                        prop_assert_ne!(next.suspended_from, Some(OnboardingStatus::Suspended));
                        if next.beta == AccountStatus::BetaWaitlist && state.beta != next.beta {
                            prop_assert!(known.is_ready_for_waitlist());
                        }
                        if next.beta == AccountStatus::Live {
                            prop_assert!(known.topped_up);
                        }
                        (state, facts) = (next, known);
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
    fn an_invalid_transition_names_the_current_and_the_allowed_statuses() {
        let facts = Facts { card_verified: false, kyb_submitted: false, profiled: false, topped_up: false };
        let live =
            AccountState { beta: AccountStatus::Live, onboarding: OnboardingStatus::Approved, suspended_from: None };
        let refusal = apply(live, Event::Declined, facts).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "The account is live; this is allowed only while it is beta_signup or beta_card_pending or beta_waitlist."
        );
    }

    #[test]
    fn the_last_of_three_conditions_puts_the_account_on_the_waitlist() {
        for last in [Event::Profiled, Event::CardVerified] {
            let all = Facts { card_verified: true, kyb_submitted: true, profiled: true, topped_up: false };
            assert_eq!(apply(NEW, last, all).map(|next| next.beta), Ok(AccountStatus::BetaWaitlist));
        }
    }

    #[test]
    fn events_during_a_suspension_are_not_lost() {
        let facts = Facts { card_verified: false, kyb_submitted: true, profiled: false, topped_up: false };
        let step = |state, event| apply(state, event, facts).ok();
        let suspended = step(NEW, Event::KybOpened).and_then(|s| step(s, Event::Suspended));
        let reinstated = suspended.and_then(|s| step(s, Event::KybSubmitted)).and_then(|s| step(s, Event::Reinstated));
        assert_eq!(reinstated.map(|s| s.onboarding), Some(OnboardingStatus::UnderReview));
    }
}
