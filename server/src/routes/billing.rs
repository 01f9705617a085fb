//! Payments, VAT and invoices of a customer.

use super::tags;
use api::auth::Who::Customer;
use api::endpoint::{Endpoint, delete, get, patch, post};
use api::problem::Code::{AccountNotActive, NotFound, ResourceInUse, StateConflict};
use billing::{invoices, payments, vat};
use platform::limits::Limit;

#[rustfmt::skip]
pub fn rows() -> Vec<Endpoint> {
    vec![
        post("/payments/topups", payments::create_topup, "createTopup", "Create top-up")
            .about("Opens a checkout at the payment provider that is valid for 24 hours. Redirect to `checkout_url`, \
                    then poll `GET /payments/topups/{id}` or wait for `topup.completed`. Open to customers in \
                    `beta_approved` or `live`.")
            .who(Customer).limit(Limit::Writes).audit("topup.create").idempotent()
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::PAYMENTS),
        get("/payments/topups", payments::list_topups, "listTopups", "List top-ups")
            .about("Lists the account's top-ups, including those by auto-recharge, newest first. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::PAYMENTS),
        get("/payments/topups/{id}", payments::show_topup, "getTopup", "Get top-up")
            .about("Returns a top-up by its own id or by the provider's `topup_id`. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::PAYMENTS),
        get("/payments/methods", payments::list_methods, "listPaymentMethods", "List payment methods")
            .about("Lists the account's saved cards, newest first. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::PAYMENTS),
        post("/payments/methods", payments::create_method, "startPaymentMethodSetup", "Start saving a card")
            .about("Opens a checkout at the payment provider that saves a card without charging it and then redirects \
                    to `return_url`. The card appears in `GET /payments/methods` once the provider confirms it. Open \
                    to customers.")
            .who(Customer).limit(Limit::Writes).audit("payment_method.create").idempotent()
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::PAYMENTS),
        patch("/payments/methods/{id}", payments::update_method, "updatePaymentMethod", "Update payment method")
            .about("Makes a saved card the default with `is_default: true`. The default cannot be unset; make another \
                    card the default. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("payment_method.update").idempotent()
            .problems(&[AccountNotActive, StateConflict]).under(tags::PAYMENTS),
        delete("/payments/methods/{id}", payments::delete_method, "deletePaymentMethod", "Delete payment method")
            .about("Deletes a saved card, unless it is the default among several, auto-recharge uses it, or it is \
                    being charged. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("payment_method.remove").idempotent()
            .problems(&[AccountNotActive, ResourceInUse]).under(tags::PAYMENTS),

        get("/account/vat", vat::show, "getVatStatus", "Get VAT status")
            .about("Returns the account's VAT id and status, when the id was last checked, and the ids of its VAT \
                    evidence. Open to customers.")
            .who(Customer).limit(Limit::Reads).problems(&[NotFound]).under(tags::VAT),
        post("/account/vat/check", vat::check, "requestVatCheck", "Request a VAT id check")
            .about("Queues a check of the account's VAT id; the status is `pending` until it is done, unless it is \
                    `valid` already. The result arrives as `vat.valid` or `vat.invalid`. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("vat.check").problems(&[NotFound, StateConflict])
            .under(tags::VAT),
        post("/account/vat/proof-documents", vat::upload_evidence, "uploadVatEvidence", "Upload VAT evidence")
            .about("Adds a document (PDF, JPEG or PNG, at most 16 MiB) about the account's VAT; a status of \
                    `not_verified` or `invalid` becomes `pending`. The team reviews it and sets the VAT status. Open \
                    to customers.")
            .who(Customer).limit(Limit::Writes).audit("vat.upload_proof").problems(&[NotFound, StateConflict])
            .under(tags::VAT),

        get("/invoices", invoices::list, "listInvoices", "List invoices")
            .about("Lists the account's issued invoices with their credit notes, newest first. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::INVOICES),
        get("/invoices/{id}", invoices::show, "getInvoice", "Get invoice")
            .about("Returns an invoice; when its `pdf_url` has expired, get a new one from `GET /invoices/{id}/pdf`. \
                    Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::INVOICES),
        get("/invoices/{id}/pdf", invoices::pdf, "getInvoicePdfLink", "Get invoice PDF link")
            .about("Returns a new signed link to the invoice's PDF, valid for 15 minutes. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::INVOICES),
    ]
}
