//! Every endpoint of this crate: who may call it, what it counts against, what the audit log calls it.

use api::auth::Who::{Admin, Anyone, Customer, Team};
use api::endpoint::{Endpoint, delete, get, patch, post, put};
use api::problem::Code::{AccountNotActive, BalanceInsufficient, NotFound, ResourceInUse, StateConflict};
use api::scopes::Scope::{AdminRead, BillingRead, BillingWrite};
use api::tags;
use platform::limits::Limit;
use values::AccountRole::{Billing, Owner, Viewer};

use crate::payments::{auto_recharge, chargebacks};
use crate::{card_check, checkouts, dunning, invoices, low_balance, payments, vat, webhooks};

#[rustfmt::skip]
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        post("/me/card-setup", card_check::start, "startCardVerification", "Start card verification")
            .about("Opens a checkout at the payment provider where the customer enters a card; nothing is charged. \
                    Redirect to `checkout_url`, then poll `GET /me/payment-method`. Open to customers.")
            .who(Customer).account_role(Billing).limit(Limit::Writes).audit("card.setup").idempotent()
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::ONBOARDING),
        get("/me/payment-method", card_check::show, "getCardVerification", "Get card verification status")
            .about("Returns the newest verified card, or the status of the latest verification if none is verified; \
                    404 before the first card setup. Open to customers.")
            .who(Customer).account_role(Viewer).limit(Limit::Reads).problems(&[NotFound]).under(tags::ONBOARDING),

        get("/account/auto-recharge", auto_recharge::show, "getAutoRecharge", "Get auto-recharge settings")
            .about("Returns whether, below which balance, by how much and from which card the balance is recharged. \
                    Open to customers.")
            .who(Customer).account_role(Viewer).scope(BillingRead).limit(Limit::Reads).under(tags::BALANCE),
        put("/account/auto-recharge", auto_recharge::update, "setAutoRecharge", "Set auto-recharge settings")
            .about("While enabled, charges a saved card when the balance falls below `threshold`, at most three times \
                    a UTC day. A decline sends `recharge.failed`; the second in a row disables auto-recharge until it \
                    is set again. Open to customers.")
            .who(Customer).account_role(Billing).scope(BillingWrite).limit(Limit::Writes).audit("auto_recharge.update").idempotent()
            .problems(&[NotFound, AccountNotActive]).under(tags::BALANCE),
        get("/account/low-balance-notify", low_balance::show, "getLowBalanceAlert", "Get low-balance alert settings")
            .about("Returns whether the low-balance alert is on and its threshold in percent of the last 30 days' \
                    spend. Open to customers.")
            .who(Customer).account_role(Viewer).scope(BillingRead).limit(Limit::Reads).under(tags::BALANCE),
        put("/account/low-balance-notify", low_balance::update, "setLowBalanceAlert", "Set low-balance alert settings")
            .about("Sets the share of the last 30 days' spend below which the account is alerted, by `balance.low` \
                    notification and mail. The alert is sent once each time the balance falls below it. Open to \
                    customers.")
            .who(Customer).account_role(Billing).scope(BillingWrite).limit(Limit::Writes).audit("low_balance_notify.update").under(tags::BALANCE),

        post("/payments/topups", payments::create_topup, "createTopup", "Create top-up")
            .about("Opens a checkout at the payment provider that is valid for 24 hours. Redirect to `checkout_url`, \
                    then poll `GET /payments/topups/{id}` or wait for `topup.completed`. Open to customers in \
                    `beta_approved` or `live`.")
            .who(Customer).account_role(Billing).scope(BillingWrite).limit(Limit::Writes).audit("topup.create").idempotent()
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::PAYMENTS),
        get("/payments/topups", payments::list_topups, "listTopups", "List top-ups")
            .about("Lists the account's top-ups, including those by auto-recharge, newest first. Open to customers.")
            .who(Customer).account_role(Viewer).scope(BillingRead).limit(Limit::Reads).under(tags::PAYMENTS),
        get("/payments/topups/{id}", payments::show_topup, "getTopup", "Get top-up")
            .about("Returns a top-up by its own id or by the provider's `topup_id`. Open to customers.")
            .who(Customer).account_role(Viewer).scope(BillingRead).limit(Limit::Reads).under(tags::PAYMENTS),
        get("/payments/methods", payments::list_methods, "listPaymentMethods", "List payment methods")
            .about("Lists the account's saved cards, newest first. Open to customers.")
            .who(Customer).account_role(Viewer).scope(BillingRead).limit(Limit::Reads).under(tags::PAYMENTS),
        post("/payments/methods", payments::create_method, "startPaymentMethodSetup", "Start saving a card")
            .about("Opens a checkout at the payment provider that saves a card without charging it and then redirects \
                    to `return_url`. The card appears in `GET /payments/methods` once the provider confirms it. Open \
                    to customers.")
            .who(Customer).account_role(Billing).scope(BillingWrite).limit(Limit::Writes).audit("payment_method.create").idempotent()
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::PAYMENTS),
        patch("/payments/methods/{id}", payments::update_method, "updatePaymentMethod", "Update payment method")
            .about("Makes a saved card the default with `is_default: true`. The default cannot be unset; make another \
                    card the default. Open to customers.")
            .who(Customer).account_role(Billing).scope(BillingWrite).limit(Limit::Writes).audit("payment_method.update").idempotent()
            .problems(&[AccountNotActive, StateConflict]).under(tags::PAYMENTS),
        delete("/payments/methods/{id}", payments::delete_method, "deletePaymentMethod", "Delete payment method")
            .about("Deletes a saved card, unless it is the default among several, auto-recharge uses it, or it is \
                    being charged. Open to customers.")
            .who(Customer).account_role(Billing).scope(BillingWrite).limit(Limit::Writes).audit("payment_method.remove").idempotent().recent_sign_in()
            .problems(&[AccountNotActive, ResourceInUse]).under(tags::PAYMENTS),

        get("/sandbox/checkouts/{order_id}", checkouts::show, "getSandboxCheckout", "Get sandbox checkout")
            .about("Returns what there is to pay at a checkout of the sandbox payment provider, and its test cards; 404 \
                    with any other provider. No token needed: whoever has the order's id may pay.")
            .who(Anyone).limit(Limit::Reads).under(tags::PAYMENTS),
        post("/sandbox/checkouts/{order_id}", checkouts::submit, "submitSandboxCheckout", "Submit sandbox checkout")
            .about("Pays with a test card or cancels, once, and returns where to send the payer; a card that is declined \
                    ends the checkout, too. The provider's webhook follows. No token needed.")
            .who(Anyone).limit(Limit::Writes).unaudited("the provider's webhook is audited").under(tags::PAYMENTS),

        get("/account/vat", vat::show, "getVatStatus", "Get VAT status")
            .about("Returns the account's VAT id and status, when the id was last checked, and the ids of its VAT \
                    evidence. Open to customers.")
            .who(Customer).account_role(Viewer).scope(BillingRead).limit(Limit::Reads).problems(&[NotFound]).under(tags::VAT),
        post("/account/vat/check", vat::check, "requestVatCheck", "Request a VAT id check")
            .about("Queues a check of the account's VAT id; the status is `pending` until it is done, unless it is \
                    `valid` already. The result arrives as `vat.valid` or `vat.invalid`. Open to customers.")
            .who(Customer).account_role(Owner).limit(Limit::Writes).audit("vat.check").problems(&[NotFound, StateConflict])
            .under(tags::VAT),
        post("/account/vat/proof-documents", vat::upload_evidence, "uploadVatEvidence", "Upload VAT evidence")
            .about("Adds a document (PDF, JPEG or PNG, at most 16 MiB) about the account's VAT; a status of \
                    `not_verified` or `invalid` becomes `pending`. The team reviews it and sets the VAT status. Open \
                    to customers.")
            .who(Customer).account_role(Owner).limit(Limit::Writes).audit("vat.upload_proof").problems(&[NotFound, StateConflict])
            .under(tags::VAT),

        get("/invoices", invoices::list, "listInvoices", "List invoices")
            .about("Lists the account's issued invoices with their credit notes, newest first. Open to customers.")
            .who(Customer).account_role(Viewer).scope(BillingRead).limit(Limit::Reads).under(tags::INVOICES),
        get("/invoices/{id}", invoices::show, "getInvoice", "Get invoice")
            .about("Returns an invoice; when its `pdf_url` has expired, get a new one from `GET /invoices/{id}/pdf`. \
                    Open to customers.")
            .who(Customer).account_role(Viewer).scope(BillingRead).limit(Limit::Reads).under(tags::INVOICES),
        get("/invoices/{id}/pdf", invoices::pdf, "getInvoicePdfLink", "Get invoice PDF link")
            .about("Returns a new signed link to the invoice's PDF, valid for 15 minutes. Open to customers.")
            .who(Customer).account_role(Viewer).scope(BillingRead).limit(Limit::Reads).under(tags::INVOICES),

        post("/webhooks/payments/{provider}", webhooks::receive,
             "receivePaymentWebhook", "Receive payment provider webhook")
            .about("Accepts a signed webhook of the payment provider; the state of its order or dispute is then fetched \
                    from the provider. Repeated webhooks are accepted once, and a bad signature is a 401 with `ok: false`. No \
                    token needed.")
            .who(Anyone).limit(Limit::Webhooks).audit("payment.callback").under(tags::WEBHOOKS),

        get("/admin/customers/{id}/vat/proof-documents", vat::list_evidence,
            "listCustomerVatEvidence", "List VAT evidence of a customer")
            .about("Lists a customer's VAT evidence with download links valid for 5 minutes; the audit log records who \
                    asked. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).audited_read("vat.documents_shown").under(tags::CUSTOMERS),

        get("/admin/dunning", dunning::list, "listAccountsInDunning", "List accounts in dunning")
            .about("Lists the customers with a negative balance, an unpaid invoice or a failed recharge, newest \
                    customer first. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_BILLING),

        get("/admin/customers/{id}/auto-recharge", auto_recharge::show_of_customer,
            "getAutoRechargeOfCustomer", "Get auto-recharge settings of a customer")
            .about("Returns whether, below which balance, by how much and from which card a customer's balance is \
                    recharged. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_PAYMENTS),
        get("/admin/payments", payments::list_payments, "listPayments", "List payments of all customers")
            .about("Lists the payments of all customers, top-ups and auto-recharges, newest first. Open to the team \
                    (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_PAYMENTS),
        get("/admin/payments/{id}", payments::show_payment, "getPayment", "Get payment of any customer")
            .about("Returns a payment of any customer, a top-up or an auto-recharge, with what was refunded of it. Open to \
                    the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_PAYMENTS),
        post("/admin/payments/{id}/refund", payments::refund, "refundPayment", "Refund payment")
            .about("Sends a payment, or part of it, back through the payment provider, at most what is left of it and \
                    what the customer has unless `allow_negative` is true; not while it is disputed. After a 503 repeat \
                    with the same `Idempotency-Key`. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("payment.refund").recent_sign_in().idempotent()
            .problems(&[BalanceInsufficient, StateConflict]).under(tags::ADMIN_PAYMENTS),
        get("/admin/chargebacks", chargebacks::list, "listChargebacks", "List chargebacks")
            .about("Lists the payments that a card's bank disputes or disputed, newest first, with the filters \
                    `status` and `customer_id`. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_PAYMENTS),
        get("/admin/chargebacks/{id}", chargebacks::show, "getChargeback", "Get chargeback")
            .about("Returns a chargeback. Its dispute is answered at the payment provider. Open to the team (admin or \
                    support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_PAYMENTS),

        get("/admin/invoices", invoices::list_all, "adminListInvoices", "List invoices of all customers")
            .about("Lists the invoices of all customers with their credit notes, newest first. Open to the team (admin \
                    or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_BILLING),
        get("/admin/invoices/{id}", invoices::admin_show, "adminGetInvoice", "Get invoice of any customer")
            .about("Returns an invoice of any customer with its lines and a link to its PDF, valid for at least 15 \
                    minutes. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_BILLING),
        post("/admin/invoices/{id}/void", invoices::void, "voidInvoice", "Void invoice")
            .about("Voids an invoice in `issued` and returns its VAT to the balance. The invoice keeps its number, and \
                    its PDF says that it is void. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("invoice.void").recent_sign_in().idempotent()
            .problems(&[StateConflict])
            .under(tags::ADMIN_BILLING),
        post("/admin/invoices/{id}/credit", invoices::credit, "creditInvoice", "Credit invoice")
            .about("Issues a credit note for all of an invoice that was not refunded before, and posts the amount to \
                    the balance. The invoice must be `issued` or `paid`. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("invoice.credit").recent_sign_in().idempotent()
            .problems(&[StateConflict])
            .under(tags::ADMIN_BILLING),
    ]
}
