//! Money as the team handles it: credits, limits, dunning, exchange rates, payments, invoices.

use super::tags;
use api::auth::Who::{Admin, Team};
use api::endpoint::{Endpoint, get, post, put};
use api::problem::Code::{BalanceInsufficient, StateConflict};
use billing::{dunning, invoices, payments};
use identity::balance;
use platform::limits::Limit;
use voice::fx;

#[rustfmt::skip]
pub fn balances() -> Vec<Endpoint> {
    vec![
        post("/admin/credits", balance::credit, "createCredit", "Credit or correct a customer's balance")
            .about("Posts a credit to a customer's balance or, with a negative amount, a correction of at most what is \
                    available. Returns the ledger entry. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("credit.create").idempotent()
            .problems(&[BalanceInsufficient, StateConflict]).under(tags::ADMIN_BILLING),
        get("/admin/customers/{id}/balance-limits", balance::limits,
            "getCustomerBalanceLimits", "Get balance limits of a customer")
            .about("Returns the minimum that must stay on a customer's balance and the threshold of its portal's \
                    warning. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::ADMIN_BILLING),
        put("/admin/customers/{id}/balance-limits", balance::set_limits,
            "setCustomerBalanceLimits", "Set balance limits of a customer")
            .about("Sets the minimum that must stay on a customer's balance and the threshold of its portal's warning. \
                    A minimum below zero gives credit. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("balance_limits.update").problems(&[StateConflict])
            .under(tags::ADMIN_BILLING),
    ]
}

#[rustfmt::skip]
pub fn dunning_and_fx() -> Vec<Endpoint> {
    vec![
        get("/admin/dunning", dunning::list, "listAccountsInDunning", "List accounts in dunning")
            .about("Lists the customers with a negative balance, an unpaid invoice or a failed recharge, newest \
                    customer first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::ADMIN_BILLING),
        get("/admin/fx-rates", fx::show, "getFxRates", "Get exchange rates")
            .about("Returns the newest exchange rates of the euro on or before a date, today by default. Open to the \
                    team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::ADMIN_BILLING),
        put("/admin/fx-rates", fx::update, "setFxRates", "Set exchange rates of a day")
            .about("Replaces the exchange rates of a day. The rates of the newest day convert what upstreams charge \
                    into sell rates. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("fx_rates.update").idempotent().under(tags::ADMIN_BILLING),
    ]
}

#[rustfmt::skip]
pub fn payments_and_invoices() -> Vec<Endpoint> {
    vec![
        get("/admin/payments", payments::list_payments, "listPayments", "List payments of all customers")
            .about("Lists the payments of all customers, top-ups and auto-recharges, newest first. Open to the team \
                    (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::ADMIN_PAYMENTS),
        post("/admin/payments/{id}/refund", payments::refund, "refundPayment", "Refund payment")
            .about("Sends a payment, or part of it, back through the payment provider, at most what is left of it and \
                    what the customer has unless `allow_negative` is true. After a 503 repeat with the same \
                    `Idempotency-Key`. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("payment.refund").idempotent()
            .problems(&[BalanceInsufficient, StateConflict]).under(tags::ADMIN_PAYMENTS),

        get("/admin/invoices", invoices::list_all, "adminListInvoices", "List invoices of all customers")
            .about("Lists the invoices of all customers with their credit notes, newest first. Open to the team (admin \
                    or support).")
            .who(Team).limit(Limit::Reads).under(tags::ADMIN_BILLING),
        post("/admin/invoices/{id}/void", invoices::void, "voidInvoice", "Void invoice")
            .about("Voids an invoice in `issued` and returns its VAT to the balance. The invoice keeps its number, and \
                    its PDF says that it is void. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("invoice.void").idempotent().problems(&[StateConflict])
            .under(tags::ADMIN_BILLING),
        post("/admin/invoices/{id}/credit", invoices::credit, "creditInvoice", "Credit invoice")
            .about("Issues a credit note for all of an invoice that was not refunded before, and posts the amount to \
                    the balance. The invoice must be `issued` or `paid`. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("invoice.credit").idempotent().problems(&[StateConflict])
            .under(tags::ADMIN_BILLING),
    ]
}
