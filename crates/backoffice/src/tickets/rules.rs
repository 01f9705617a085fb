//! The states of a ticket, as one pure table.

use values::text_enum;

text_enum! {
    /// Status of a ticket: `open` (the team has not replied yet), `pending_customer` or `pending_team` (whose reply is
    /// next), `resolved` (a message from the customer reopens it) or `closed` (final).
    pub enum TicketStatus {
        /// Nobody has answered yet.
        Open = "open",
        PendingCustomer = "pending_customer",
        PendingTeam = "pending_team",
        /// The team takes it to be over; the customer may say otherwise.
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

/// What somebody does with a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    CustomerWrites,
    TeamWrites,
    Resolve,
    Close,
}

/// What the move makes of a ticket; nothing if it is closed, which is final.
pub fn apply(status: TicketStatus, step: Move) -> Option<TicketStatus> {
    use TicketStatus::{Closed, PendingCustomer, PendingTeam, Resolved};
    match (status, step) {
        (Closed, _) => None,
        (_, Move::CustomerWrites) => Some(PendingTeam),
        (_, Move::TeamWrites) => Some(PendingCustomer),
        (_, Move::Resolve) => Some(Resolved),
        (_, Move::Close) => Some(Closed),
    }
}

/// The move by which the team gets a ticket there, if there is one.
pub fn leading_to(status: TicketStatus) -> Option<Move> {
    match status {
        TicketStatus::Resolved => Some(Move::Resolve),
        TicketStatus::Closed => Some(Move::Close),
        TicketStatus::Open | TicketStatus::PendingCustomer | TicketStatus::PendingTeam => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOVES: [Move; 4] = [Move::CustomerWrites, Move::TeamWrites, Move::Resolve, Move::Close];

    #[test]
    fn whoever_writes_passes_the_turn_and_a_customer_reopens_what_was_resolved() {
        for status in
            [TicketStatus::Open, TicketStatus::PendingCustomer, TicketStatus::PendingTeam, TicketStatus::Resolved]
        {
            assert_eq!(apply(status, Move::CustomerWrites), Some(TicketStatus::PendingTeam));
            assert_eq!(apply(status, Move::TeamWrites), Some(TicketStatus::PendingCustomer));
            assert_eq!(apply(status, Move::Resolve), Some(TicketStatus::Resolved));
            assert_eq!(apply(status, Move::Close), Some(TicketStatus::Closed));
        }
    }

    #[test]
    fn closed_is_final_and_nothing_becomes_open_again() {
        for step in MOVES {
            assert_eq!(apply(TicketStatus::Closed, step), None);
            for status in TicketStatus::ALL {
                assert_ne!(apply(*status, step), Some(TicketStatus::Open));
            }
        }
    }
}
