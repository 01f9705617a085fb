//! The states of a call.
//!
//! | State | Where it is stored | Next |
//! |---|---|---|
//! | live | `live_calls` | provisional or final when an end is reported; provisional when its events stop |
//! | provisional | `cdrs` and `open_ends` | final when both end and answer are known |
//! | final | `cdrs` | none: events change nothing any more |

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallState {
    Live,
    /// Over and charged, but late events may amend its CDR.
    Provisional,
    Final,
}

/// What all events of a call so far say.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub is_end_reported: bool,
    /// Whether the call was answered is known, either way.
    pub is_answer_known: bool,
}

impl CallState {
    /// The state after events.
    pub fn next(self, known: Known) -> CallState {
        match (self, known.is_end_reported, known.is_answer_known) {
            (CallState::Final, ..) | (_, true, true) => CallState::Final,
            (CallState::Live, true, false) | (CallState::Provisional, ..) => CallState::Provisional,
            (CallState::Live, false, _) => CallState::Live,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn states() -> impl Strategy<Value = CallState> {
        prop_oneof![Just(CallState::Live), Just(CallState::Provisional), Just(CallState::Final)]
    }

    proptest! {
        #[test]
        fn a_call_never_returns_to_an_earlier_state(
            state in states(), events in prop::collection::vec((any::<bool>(), any::<bool>()), 0..8)
        ) {
            let mut state = state;
            for (is_end_reported, is_answer_known) in events {
                let next = state.next(Known { is_end_reported, is_answer_known });
                prop_assert!(next >= state);
                let is_complete = is_end_reported && is_answer_known;
                prop_assert_eq!(next == CallState::Final, state == CallState::Final || is_complete);
                prop_assert!(next != CallState::Live || !is_end_reported);
                state = next;
            }
        }
    }
}
