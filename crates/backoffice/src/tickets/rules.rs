//! State table of a ticket.

use values::text_enum;

text_enum! {
    /// Status of a ticket: `open` (the team has not replied yet), `pending_customer` or `pending_team` (whose reply is
    /// next), `resolved` (a message from the customer reopens it) or `closed` (final).
    pub enum TicketStatus {
        Open = "open",
        PendingCustomer = "pending_customer",
        PendingTeam = "pending_team",
        Resolved = "resolved",
        Closed = "closed",
    }
}

text_enum! {
    /// Priority of a ticket: `low`, `normal` or `high`.
    pub enum Priority {
        Low = "low",
        Normal = "normal",
        High = "high",
    }
}

/// What the customer or the team does with a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    CustomerReply,
    TeamReply,
    Resolve,
    Close,
}

/// The status after an action; none if the ticket is closed, which is final.
pub fn next_status(status: TicketStatus, action: Action) -> Option<TicketStatus> {
    use TicketStatus::{Closed, PendingCustomer, PendingTeam, Resolved};
    match (status, action) {
        (Closed, _) => None,
        (_, Action::CustomerReply) => Some(PendingTeam),
        (_, Action::TeamReply) => Some(PendingCustomer),
        (_, Action::Resolve) => Some(Resolved),
        (_, Action::Close) => Some(Closed),
    }
}

/// The action with which the team sets this status; the other statuses follow from messages.
pub fn action_for(status: TicketStatus) -> Option<Action> {
    match status {
        TicketStatus::Resolved => Some(Action::Resolve),
        TicketStatus::Closed => Some(Action::Close),
        TicketStatus::Open | TicketStatus::PendingCustomer | TicketStatus::PendingTeam => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTIONS: [Action; 4] = [Action::CustomerReply, Action::TeamReply, Action::Resolve, Action::Close];

    #[test]
    fn a_reply_passes_the_turn_and_a_customer_reopens_a_resolved_ticket() {
        for status in
            [TicketStatus::Open, TicketStatus::PendingCustomer, TicketStatus::PendingTeam, TicketStatus::Resolved]
        {
            assert_eq!(next_status(status, Action::CustomerReply), Some(TicketStatus::PendingTeam));
            assert_eq!(next_status(status, Action::TeamReply), Some(TicketStatus::PendingCustomer));
            assert_eq!(next_status(status, Action::Resolve), Some(TicketStatus::Resolved));
            assert_eq!(next_status(status, Action::Close), Some(TicketStatus::Closed));
        }
    }

    #[test]
    fn closed_is_final_and_no_ticket_becomes_open_again() {
        for action in ACTIONS {
            assert_eq!(next_status(TicketStatus::Closed, action), None);
            for status in TicketStatus::ALL {
                assert_ne!(next_status(*status, action), Some(TicketStatus::Open));
            }
        }
    }
}
