//! The operator's books and the kinds of transactions.

use values::text_enum;

text_enum! {
    /// Book of the operator: the other side of what is posted to a customer's balance.
    pub enum Book {
        /// Money at payment providers; negative by what customers have paid in.
        Clearing = "clearing",
        Calls = "calls",
        NumberSetup = "number_setup",
        NumberRental = "number_rental",
        /// VAT owed to the tax office.
        Vat = "vat",
        /// Credits granted by the operator.
        Credits = "credits",
        /// Refunded charges, separate so that revenue stays what was sold.
        Refunds = "refunds",
        /// Payments that a card's bank disputes, frozen until it has decided.
        Disputes = "disputes",
    }
}

text_enum! {
    /// Kind of a ledger transaction. Kind and reference name one event, which is posted once.
    pub enum Kind {
        /// A payment of the customer.
        Topup = "topup",
        /// A payment that was refunded.
        Refund = "refund",
        /// A disputed payment: its amount leaves the balance until the card's bank has decided.
        Dispute = "dispute",
        /// The end of a dispute: the amount returns to the balance.
        DisputeRelease = "dispute_release",
        /// A lost dispute: the payment went back to the card.
        Chargeback = "chargeback",
        /// A credit granted by the operator.
        Credit = "credit",
        /// A correction by a team member.
        Correction = "correction",
        Call = "call",
        /// Setup and the first month of a number.
        NumberOrder = "number_order",
        NumberRenewal = "number_renewal",
        /// The refund of a failed or cancelled number order.
        NumberRefund = "number_refund",
        /// The credit of a call that the customer disputed.
        CallCredit = "call_credit",
        /// The VAT of an invoice, charged when it is issued.
        InvoiceVat = "invoice_vat",
        InvoiceVoid = "invoice_void",
        CreditNote = "credit_note",
    }
}

impl Kind {
    /// Whether it counts as spend: usage of the service, less what was refunded of it.
    pub const fn is_usage(self) -> bool {
        matches!(self, Kind::Call | Kind::NumberOrder | Kind::NumberRenewal | Kind::NumberRefund | Kind::CallCredit)
    }
}
