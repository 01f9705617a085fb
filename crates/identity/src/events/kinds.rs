//! The types of events.

use values::text_enum;

text_enum! {
    /// Type of an event: what happened.
    pub enum EventType {
        BalanceLow = "balance.low",
        BalanceExhausted = "balance.exhausted",
        TopupCreated = "topup.created",
        TopupCompleted = "topup.completed",
        TopupFailed = "topup.failed",
        RechargeFailed = "recharge.failed",
        InvoiceIssued = "invoice.issued",
        InvoicePaid = "invoice.paid",
        InvoiceVoided = "invoice.voided",
        NumberOrdered = "number.ordered",
        NumberActive = "number.active",
        NumberFailed = "number.failed",
        NumberRenewalAhead = "number.renewal_ahead",
        NumberRenewalFailed = "number.renewal_failed",
        NumberReleased = "number.released",
        TrunkCreated = "trunk.created",
        TrunkUpdated = "trunk.updated",
        TrunkDeleted = "trunk.deleted",
        FraudCapReached = "fraud.cap_reached",
        SpendJump = "fraud.spend_jump",
        QualityLowAsr = "quality.low_asr",
        ExportReady = "export.ready",
        VatValid = "vat.valid",
        VatInvalid = "vat.invalid",
        RatesChanged = "rates.changed",
        KybApproved = "kyb.approved",
        KybRejected = "kyb.rejected",
        ComplianceMoreInfo = "compliance.more_info",
        TicketReplied = "ticket.replied",
        AccountStatusChanged = "account.status_changed",
        AccountSuspended = "account.suspended",
        AccountReinstated = "account.reinstated",
        PaymentDisputed = "payment.disputed",
        PaymentDisputeWon = "payment.dispute_won",
        PaymentDisputeLost = "payment.dispute_lost",
        AllowListEntryRemoved = "allow_list.entry_removed",
        WebhookDisabled = "webhook.disabled",
        RouteBreakerOpened = "route.breaker_opened",
        RouteBreakerClosed = "route.breaker_closed",
        CallsEnded = "calls.ended",
        WebhookTest = "webhook.test",
    }
}

impl EventType {
    /// Whether lists and streams show events of this type, and `*` selects them. Calls go only to endpoints that name
    /// them, and a test only to its own endpoint.
    pub const fn is_listed(self) -> bool {
        !matches!(self, EventType::CallsEnded | EventType::WebhookTest)
    }
}
