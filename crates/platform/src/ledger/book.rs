//! What the ledger speaks of: books that money is in, and kinds of movements between them.

use values::text_enum;

text_enum! {
    /// Where money is. A posting adds to a book or, when negative, takes from it.
    pub enum Book {
        /// What a customer has with us: a book for each account, and the only kind with a balance row.
        Customer = "customer",
        /// What payment providers owe us falls below zero here, and is what customers have paid in.
        Clearing = "clearing",
        Calls = "calls",
        NumberSetup = "number_setup",
        NumberRental = "number_rental",
        /// What is owed to the tax office.
        Vat = "vat",
        /// What the carrier has given away.
        Credits = "credits",
        /// What was charged and given back, apart from revenue, which so stays what was sold.
        Refunds = "refunds",
    }
}

text_enum! {
    /// Why money moved. With a reference it names one event, which is posted once.
    pub enum Kind {
        /// A customer's payment arrived.
        Topup = "topup",
        /// A payment went back to where it came from.
        Refund = "refund",
        /// A gift of the carrier.
        Credit = "credit",
        /// A person put something right.
        Correction = "correction",
        Call = "call",
        /// Setup and the first month of a number.
        NumberOrder = "number_order",
        NumberRenewal = "number_renewal",
        /// A number order that came to nothing.
        NumberRefund = "number_refund",
        /// The VAT of an invoice, at its issue.
        InvoiceVat = "invoice_vat",
        InvoiceVoid = "invoice_void",
        CreditNote = "credit_note",
    }
}

impl Kind {
    /// Whether it is use of the service: what "spend" adds up, refunded orders taken off.
    pub const fn is_usage(self) -> bool {
        matches!(self, Kind::Call | Kind::NumberOrder | Kind::NumberRenewal | Kind::NumberRefund)
    }
}
