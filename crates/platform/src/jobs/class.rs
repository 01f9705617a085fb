//! The classes of jobs. Each has slots of its own on every node, so that what hangs in one class delays no other.

use values::text_enum;

text_enum! {
    /// What a job waits for, and who waits for the job.
    pub enum Class {
        /// Moves money and waits for no other service: holds, calls, renewals, paid invoices.
        Money = "money",
        /// Waits for the payment provider: charges, refunds, orders, disputes.
        Payments = "payments",
        /// Sends mail, or is what a mail waits for.
        Mail = "mail",
        /// Waits for another service: VIES, the DID supplier, the FX feed, rate decks.
        Outside = "outside",
        /// Sends events to the endpoints of customers and the team.
        Webhooks = "webhooks",
        /// Long work and maintenance that nobody waits for: imports, exports, purges.
        Bulk = "bulk",
    }
}

/// The class and its number of slots on each node.
pub(super) const SLOTS: [(Class, u32); 6] = [
    (Class::Money, 4),
    (Class::Payments, 4),
    (Class::Mail, 4),
    (Class::Outside, 4),
    (Class::Webhooks, 64),
    (Class::Bulk, 2),
];

impl Class {
    /// Whether a backlog of this class makes the service unready. The others depend on services that may be down for
    /// hours, or are long by nature.
    pub const fn decides_readiness(self) -> bool {
        matches!(self, Class::Money | Class::Mail)
    }
}
