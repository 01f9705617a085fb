//! Every endpoint, in the order of the API reference.

use api::auth::Who::{Admin, Anyone, Customer, Holder, SignedIn, Team};
use api::endpoint::{Endpoint, delete, get, patch, post, put};
use api::problem::Code::{
    AccountNotActive, BalanceInsufficient, Forbidden, InvalidCredentials, InventoryExhausted, NotFound, ResourceInUse,
    StateConflict, TokenExpired, TokenInvalid, UpstreamUnavailable, ValidationFailed,
};
use backoffice::{account_managers, audit_log, beta, customers, dashboards, notes, notices, staff, tickets};
use billing::card_check;
use billing::low_balance;
use billing::{dunning, invoices, payments, recharge, vat, webhooks};
use identity::{
    accounts, balance, bootstrap, compliance, downloads, kyb, notifications, onboarding, sessions, two_factor,
};
use numbers::rented;
use numbers::{inventory, orders, trunks};
use platform::limits::Limit;
use voice::{calls, cdrs, decks, fraud_caps, fx, rates, upstreams};

#[rustfmt::skip]
pub fn table() -> Vec<Endpoint> {
    vec![
        // Sign-in
        post("/auth/sign-in", sessions::sign_in, "Sign in with email and password")
            .who(Anyone).limit(Limit::SignIn).audit("session.sign_in").problems(&[InvalidCredentials]).under("Sign-in"),
        post("/admin/2fa/verify", sessions::verify_second_factor, "Finish signing in with a second factor")
            .who(Anyone).limit(Limit::SignIn).audit("session.second_factor")
            .problems(&[InvalidCredentials, TokenInvalid, TokenExpired, StateConflict]).under("Sign-in"),
        post("/auth/refresh", sessions::refresh, "Exchange a refresh token for new tokens")
            .who(Anyone).limit(Limit::Refresh).audit("session.refresh").problems(&[TokenInvalid]).under("Sign-in"),
        post("/auth/sign-out", sessions::sign_out, "Sign out of a session")
            .who(SignedIn).limit(Limit::Writes).audit("session.sign_out").problems(&[NotFound]).under("Sign-in"),
        post("/auth/forgot-password", sessions::forgot_password, "Ask for a link to choose a new password")
            .who(Anyone).limit(Limit::SignIn).audit("password.forgot").under("Sign-in"),
        post("/auth/reset-password", sessions::reset_password, "Choose a new password with the link from the mail")
            .who(Anyone).limit(Limit::SignIn).audit("password.reset").problems(&[TokenInvalid, TokenExpired]).under("Sign-in"),
        post("/auth/first-login", sessions::first_login, "Sign in for the first time with a magic link")
            .who(Anyone).limit(Limit::SignIn).audit("session.first_login")
            .problems(&[TokenInvalid, TokenExpired, Forbidden]).under("Sign-in"),
        post("/auth/magic-link/redeem", sessions::redeem_magic_link, "Exchange a magic link for tokens")
            .who(Anyone).limit(Limit::SignIn).audit("session.magic_link")
            .problems(&[TokenInvalid, TokenExpired, Forbidden]).under("Sign-in"),

        // Signing up
        post("/signup", onboarding::signup, "Ask to join the private beta")
            .who(Anyone).limit(Limit::Signup).audit("account.signup").under("Onboarding"),
        post("/beta/signup", onboarding::beta_signup, "Sign up for the private beta")
            .who(Anyone).limit(Limit::Signup).audit("account.signup").under("Onboarding"),
        get("/me/account", onboarding::my_account, "Your place in the private beta")
            .who(SignedIn).limit(Limit::Reads).problems(&[NotFound]).under("Onboarding"),
        patch("/me/account", onboarding::change_my_account, "Say who and where you are, if your signup did not")
            .who(Customer).limit(Limit::Writes).audit("account.update")
            .problems(&[NotFound, AccountNotActive, StateConflict]).under("Onboarding"),
        get("/me/waitlist", onboarding::my_waitlist, "Your position on the waitlist")
            .who(SignedIn).limit(Limit::Reads).problems(&[NotFound]).under("Onboarding"),
        get("/me/traffic-profile", onboarding::traffic_profile, "What you mean to send")
            .who(Customer).limit(Limit::Reads).problems(&[NotFound]).under("Onboarding"),
        put("/me/traffic-profile", onboarding::put_traffic_profile, "Tell what you mean to send")
            .who(Customer).limit(Limit::Writes).audit("traffic_profile.update")
            .problems(&[NotFound, AccountNotActive, StateConflict]).under("Onboarding"),

        get("/me/kyb", kyb::show, "Your business verification, opened when you first look")
            .who(Customer).limit(Limit::Reads).problems(&[NotFound]).under("Onboarding"),
        post("/me/kyb/documents", kyb::upload, "Hand in a document")
            .who(Customer).limit(Limit::Writes).audit("kyb.upload")
            .problems(&[NotFound, AccountNotActive, StateConflict]).under("Onboarding"),
        delete("/me/kyb/documents/{id}", kyb::remove, "Take a document away again")
            .who(Customer).limit(Limit::Writes).audit("kyb.remove")
            .problems(&[AccountNotActive, StateConflict]).under("Onboarding"),
        post("/me/kyb/submit", kyb::submit, "Submit your business verification")
            .who(Customer).limit(Limit::Writes).audit("kyb.submit")
            .problems(&[NotFound, AccountNotActive, StateConflict, ValidationFailed]).under("Onboarding"),
        post("/me/card-setup", card_check::set_up, "Begin to verify a card")
            .who(Customer).limit(Limit::Writes).audit("card.setup").idempotent()
            .problems(&[NotFound, AccountNotActive, StateConflict]).under("Onboarding"),
        get("/me/payment-method", card_check::payment_method, "Your card and how far its verification is")
            .who(Customer).limit(Limit::Reads).problems(&[NotFound]).under("Onboarding"),

        // Compliance
        get("/compliance/intakes", compliance::list, "Your collections of documents under review")
            .who(Customer).limit(Limit::Reads).under("Compliance"),
        get("/compliance/intakes/{id}", compliance::show, "A collection of documents")
            .who(Customer).limit(Limit::Reads).under("Compliance"),
        post("/compliance/intakes/{id}/documents", compliance::upload, "Hand in a document")
            .who(Customer).limit(Limit::Writes).audit("compliance.upload")
            .problems(&[AccountNotActive, StateConflict]).under("Compliance"),
        delete("/compliance/intakes/{id}/documents/{doc_id}", compliance::take_away, "Take a document away again")
            .who(Customer).limit(Limit::Writes).audit("compliance.remove")
            .problems(&[AccountNotActive, StateConflict]).under("Compliance"),
        post("/compliance/intakes/{id}/submit", compliance::hand_in, "Submit a collection of documents")
            .who(Customer).limit(Limit::Writes).audit("compliance.submit")
            .problems(&[AccountNotActive, StateConflict, ValidationFailed]).under("Compliance"),

        // The signed-in user
        get("/me", sessions::me, "The signed-in user and its account")
            .who(SignedIn).limit(Limit::Reads).problems(&[NotFound]).under("You"),
        get("/me/sessions", sessions::list_devices, "The devices you are signed in on")
            .who(SignedIn).limit(Limit::Reads).under("You"),
        delete("/me/sessions/{id}", sessions::end_device, "Sign a device out")
            .who(SignedIn).limit(Limit::Writes).audit("session.end").under("You"),
        post("/me/2fa/enroll", two_factor::enroll, "Begin to set up a second factor")
            .who(SignedIn).limit(Limit::Writes).audit("two_factor.enroll").problems(&[StateConflict, NotFound]).under("You"),
        post("/me/2fa/confirm", two_factor::confirm, "Confirm the second factor with its first code")
            .who(SignedIn).limit(Limit::SignIn).audit("two_factor.confirm")
            .problems(&[InvalidCredentials, StateConflict]).under("You"),
        post("/me/2fa/recovery-codes", two_factor::renew_recovery_codes, "A fresh set of recovery codes")
            .who(SignedIn).limit(Limit::SignIn).audit("two_factor.recovery_codes")
            .problems(&[InvalidCredentials, StateConflict]).under("You"),
        post("/me/2fa/disable", two_factor::disable, "Sign in without a second factor again")
            .who(SignedIn).limit(Limit::SignIn).audit("two_factor.disable")
            .problems(&[InvalidCredentials, StateConflict]).under("You"),

        // The account
        get("/account", accounts::show, "Your account")
            .who(SignedIn).limit(Limit::Reads).problems(&[NotFound]).under("Account"),
        patch("/account", accounts::update, "Change your account")
            .who(Holder).limit(Limit::Writes).audit("account.update").problems(&[NotFound, AccountNotActive])
            .under("Account"),

        // Money
        get("/account/balance", balance::show, "Your balance")
            .who(Customer).limit(Limit::Reads).under("Money"),
        get("/account/ledger", balance::lines, "Every movement of your balance")
            .who(Customer).limit(Limit::Reads).under("Money"),
        get("/account/auto-recharge", recharge::show, "Whether your balance refills itself")
            .who(Customer).limit(Limit::Reads).under("Money"),
        put("/account/auto-recharge", recharge::change, "Let your balance refill itself, or not")
            .who(Customer).limit(Limit::Writes).audit("auto_recharge.update").idempotent()
            .problems(&[NotFound, AccountNotActive]).under("Money"),
        get("/account/low-balance-notify", low_balance::show, "When you hear of a low balance")
            .who(Customer).limit(Limit::Reads).under("Money"),
        put("/account/low-balance-notify", low_balance::change, "Choose when you hear of a low balance")
            .who(Customer).limit(Limit::Writes).audit("low_balance_notify.update").under("Money"),

        // Notifications
        get("/notifications", notifications::list, "What you are told of")
            .who(Customer).limit(Limit::Reads).under("Notifications"),
        get("/notifications/unread-count", notifications::unread_count, "How many notifications are unread")
            .who(Customer).limit(Limit::Reads).under("Notifications"),
        post("/notifications/{id}/read", notifications::mark_read, "Mark a notification as read")
            .who(Customer).limit(Limit::Writes).unaudited("it changes nothing but what the reader knows")
            .under("Notifications"),
        post("/notifications/read-all", notifications::mark_all_read, "Mark every notification as read")
            .who(Customer).limit(Limit::Writes).unaudited("it changes nothing but what the reader knows")
            .under("Notifications"),

        get("/notification-codes", notifications::codes, "Every code of a notification, with what it carries")
            .who(SignedIn).limit(Limit::Reads).under("Notifications"),

        // Support
        get("/tickets", tickets::list, "Your tickets")
            .who(Customer).limit(Limit::Reads).under("Support"),
        post("/tickets", tickets::create, "Write to support")
            .who(Customer).limit(Limit::Writes).audit("ticket.create").problems(&[StateConflict]).under("Support"),
        get("/tickets/{id}", tickets::show, "A ticket and its messages")
            .who(Customer).limit(Limit::Reads).under("Support"),
        post("/tickets/{id}/messages", tickets::write, "Write on in a ticket")
            .who(Customer).limit(Limit::Writes).audit("ticket.write").problems(&[StateConflict]).under("Support"),
        post("/tickets/{id}/close", tickets::close, "Close a ticket")
            .who(Customer).limit(Limit::Writes).audit("ticket.close").problems(&[StateConflict]).under("Support"),
        get("/notices", notices::list, "What is announced to everybody now")
            .who(SignedIn).limit(Limit::Reads).under("Support"),

        // Payments
        post("/payments/topups", payments::top_up, "Begin to top up")
            .who(Customer).limit(Limit::Writes).audit("topup.create").idempotent()
            .problems(&[NotFound, AccountNotActive, StateConflict]).under("Payments"),
        get("/payments/topups", payments::list_topups, "Your top-ups")
            .who(Customer).limit(Limit::Reads).under("Payments"),
        get("/payments/topups/{id}", payments::show_topup, "A top-up, by its own id or the provider's")
            .who(Customer).limit(Limit::Reads).under("Payments"),
        get("/payments/methods", payments::list_methods, "Your saved cards")
            .who(Customer).limit(Limit::Reads).under("Payments"),
        post("/payments/methods", payments::add_method, "Begin to save a card")
            .who(Customer).limit(Limit::Writes).audit("payment_method.create").idempotent()
            .problems(&[NotFound, AccountNotActive, StateConflict]).under("Payments"),
        patch("/payments/methods/{id}", payments::update_method, "Make a card the default")
            .who(Customer).limit(Limit::Writes).audit("payment_method.update").idempotent()
            .problems(&[AccountNotActive, StateConflict]).under("Payments"),
        delete("/payments/methods/{id}", payments::remove_method, "Remove a card")
            .who(Customer).limit(Limit::Writes).audit("payment_method.remove").idempotent()
            .problems(&[AccountNotActive, ResourceInUse]).under("Payments"),

        // VAT
        get("/account/vat", vat::show, "What is known of your VAT id")
            .who(Customer).limit(Limit::Reads).problems(&[NotFound]).under("VAT"),
        post("/account/vat/check", vat::check, "Have your VAT id checked")
            .who(Customer).limit(Limit::Writes).audit("vat.check").problems(&[NotFound, StateConflict]).under("VAT"),
        post("/account/vat/proof-documents", vat::upload_proof, "Hand in a paper about your VAT")
            .who(Customer).limit(Limit::Writes).audit("vat.upload_proof").problems(&[NotFound, StateConflict]).under("VAT"),

        // Invoices
        get("/invoices", invoices::list, "Your invoices")
            .who(Customer).limit(Limit::Reads).under("Invoices"),
        get("/invoices/{id}", invoices::show, "An invoice")
            .who(Customer).limit(Limit::Reads).under("Invoices"),
        get("/invoices/{id}/pdf", invoices::pdf, "A fresh link to an invoice's document")
            .who(Customer).limit(Limit::Reads).under("Invoices"),

        // Trunks
        get("/trunks", trunks::list, "Your trunks")
            .who(Customer).limit(Limit::Reads).under("Trunks"),
        post("/trunks", trunks::create, "Add a trunk")
            .who(Customer).limit(Limit::Writes).audit("trunk.create").idempotent()
            .problems(&[NotFound, AccountNotActive, StateConflict]).under("Trunks"),
        get("/trunks/{id}", trunks::show, "A trunk")
            .who(Customer).limit(Limit::Reads).under("Trunks"),
        patch("/trunks/{id}", trunks::change, "Change a trunk")
            .who(Customer).limit(Limit::Writes).audit("trunk.update").idempotent()
            .problems(&[AccountNotActive, StateConflict]).under("Trunks"),
        delete("/trunks/{id}", trunks::remove, "Remove a trunk")
            .who(Customer).limit(Limit::Writes).audit("trunk.remove").idempotent()
            .problems(&[AccountNotActive, ResourceInUse]).under("Trunks"),
        get("/trunks/{id}/ip-allow-list", trunks::list_allowed, "The networks that a trunk's calls come from")
            .who(Customer).limit(Limit::Reads).under("Trunks"),
        post("/trunks/{id}/ip-allow-list", trunks::allow, "Take a trunk's calls from a network")
            .who(Customer).limit(Limit::Writes).audit("ip_allow_list.add").idempotent()
            .problems(&[AccountNotActive, StateConflict, ResourceInUse]).under("Trunks"),
        delete("/trunks/{id}/ip-allow-list/{entry_id}", trunks::disallow, "Take a trunk's calls from a network no more")
            .who(Customer).limit(Limit::Writes).audit("ip_allow_list.remove").idempotent()
            .problems(&[AccountNotActive]).under("Trunks"),
        get("/fraud-caps", fraud_caps::show, "What calls may cost at most")
            .who(Customer).limit(Limit::Reads).under("Trunks"),
        put("/fraud-caps", fraud_caps::change, "Choose what calls may cost at most")
            .who(Customer).limit(Limit::Writes).audit("fraud_caps.update")
            .problems(&[NotFound, AccountNotActive]).under("Trunks"),

        // Numbers
        get("/numbers", rented::list, "Your numbers")
            .who(Customer).limit(Limit::Reads).under("Numbers"),
        get("/numbers/{id}", rented::show, "A number")
            .who(Customer).limit(Limit::Reads).under("Numbers"),
        patch("/numbers/{id}", rented::change, "Send a number's calls to another trunk")
            .who(Customer).limit(Limit::Writes).audit("number.update").idempotent()
            .problems(&[AccountNotActive]).under("Numbers"),
        delete("/numbers/{id}", rented::remove, "Give a number back")
            .who(Customer).limit(Limit::Writes).audit("number.release").idempotent()
            .problems(&[AccountNotActive]).under("Numbers"),
        get("/trunks/{id}/dids", rented::list_of_trunk, "The numbers of a trunk")
            .who(Customer).limit(Limit::Reads).under("Numbers"),
        get("/numbers/inventory", inventory::list, "Numbers you can order, in groups")
            .who(Customer).limit(Limit::Reads).under("Numbers"),
        get("/numbers/inventory/{id}", inventory::show, "A group of numbers")
            .who(Customer).limit(Limit::Reads).under("Numbers"),
        get("/numbers/orders", orders::list, "Your orders of numbers")
            .who(Customer).limit(Limit::Reads).under("Numbers"),
        post("/numbers/orders", orders::create, "Order a number of a group")
            .who(Customer).limit(Limit::Writes).audit("number_order.create").idempotent()
            .problems(&[NotFound, AccountNotActive, BalanceInsufficient, InventoryExhausted, StateConflict, UpstreamUnavailable])
            .under("Numbers"),
        get("/numbers/orders/{id}", orders::show, "An order and its history")
            .who(Customer).limit(Limit::Reads).under("Numbers"),
        post("/numbers/orders/{id}/cancel", orders::cancel, "Take back an order that waits for documents")
            .who(Customer).limit(Limit::Writes).audit("number_order.cancel").idempotent()
            .problems(&[AccountNotActive, StateConflict]).under("Numbers"),
        post("/numbers/order", orders::create_in_area, "Order any number of an area")
            .who(Customer).limit(Limit::Writes).audit("number_order.create").idempotent()
            .problems(&[NotFound, AccountNotActive, BalanceInsufficient, InventoryExhausted, StateConflict, UpstreamUnavailable])
            .under("Numbers"),

        // Rates
        get("/rates", rates::list, "What calls cost, by prefix")
            .who(Customer).limit(Limit::Reads).under("Rates"),
        get("/rates/lookup", rates::lookup, "What calls to a number cost")
            .who(Customer).limit(Limit::Reads).problems(&[NotFound]).under("Rates"),
        get("/rates/diff", rates::diff, "What costs more or less at one moment than at another")
            .who(Customer).limit(Limit::Reads).under("Rates"),
        get("/rates/export", rates::export, "All rates as CSV")
            .who(Customer).limit(Limit::Reads).under("Rates"),

        // Calls
        get("/cdrs", cdrs::list, "Your calls")
            .who(Customer).limit(Limit::Reads).under("Calls"),
        get("/cdrs/summary", cdrs::summary, "What the calls of a day came to, by destination")
            .who(Customer).limit(Limit::Reads).under("Calls"),
        get("/cdrs/exports", cdrs::list_exports, "Your calls as files")
            .who(Customer).limit(Limit::Reads).under("Calls"),
        post("/cdrs/exports", cdrs::create_export, "Ask for your calls as a file")
            .who(Customer).limit(Limit::Writes).audit("cdr_export.create").under("Calls"),
        get("/cdrs/exports/{id}", cdrs::show_export, "Your calls as a file, with a link to it once it is there")
            .who(Customer).limit(Limit::Reads).under("Calls"),
        get("/cdrs/{id}", cdrs::show, "A call, and why it cost what it cost")
            .who(Customer).limit(Limit::Reads).under("Calls"),
        get("/asr-acd", cdrs::asr_acd, "How many calls are answered, and how long they last")
            .who(Customer).limit(Limit::Reads).under("Calls"),
        get("/capacity", cdrs::capacity, "How many calls went on at once")
            .who(Customer).limit(Limit::Reads).under("Calls"),
        get("/quotas", cdrs::quotas, "How many calls at once you may have, and have, in each zone")
            .who(Customer).limit(Limit::Reads).under("Calls"),

        // Files
        get("/files/{token}", downloads::download, "Download a file by its signed link")
            .who(Anyone).limit(Limit::None).under("Files"),

        // Providers
        post("/webhooks/payments/{provider}", webhooks::payment, "What a payment provider has to tell")
            .who(Anyone).limit(Limit::Callbacks).audit("payment.callback").under("Webhooks"),

        // The carrier's team
        post("/admin/bootstrap", bootstrap::bootstrap, "Make the first admin")
            .who(Anyone).limit(Limit::SignIn).audit("admin.bootstrap").problems(&[StateConflict]).under("Admin"),
        get("/admin/customers", customers::list, "Customers, or those that a search finds")
            .who(Team).limit(Limit::Reads).under("Customers"),
        get("/admin/customers/{id}", customers::show, "A customer")
            .who(Team).limit(Limit::Reads).under("Customers"),
        patch("/admin/customers/{id}", customers::change, "Suspend or reinstate a customer, or change its terms")
            .who(Admin).limit(Limit::Writes).audit("customer.update").problems(&[StateConflict]).under("Customers"),
        post("/admin/customers/{id}/impersonate", sessions::impersonate, "Read as a customer for a quarter of an hour")
            .who(Admin).limit(Limit::Writes).audit("customer.impersonate").problems(&[StateConflict]).under("Customers"),
        get("/admin/customers/{id}/notes", notes::list, "What the team has written down about a customer")
            .who(Team).limit(Limit::Reads).under("Customers"),
        post("/admin/customers/{id}/notes", notes::create, "Write something down about a customer")
            .who(Team).limit(Limit::Writes).audit("note.create").under("Customers"),
        get("/admin/customers/{id}/users", staff::list_of_customer, "Who signs in for a customer")
            .who(Team).limit(Limit::Reads).under("Customers"),
        get("/admin/customers/{id}/vat/proof-documents", vat::show_proofs, "Links to a customer's papers about its VAT")
            .who(Team).limit(Limit::Reads).audited_read("vat.documents_shown").under("Customers"),
        get("/admin/onboarding", customers::list_unapproved, "Customers whose business is still to be verified")
            .who(Team).limit(Limit::Reads).under("Customers"),
        get("/admin/account-managers", account_managers::list, "The people who look after customers")
            .who(Team).limit(Limit::Reads).under("Customers"),
        post("/admin/account-managers", account_managers::create, "Add an account manager")
            .who(Admin).limit(Limit::Writes).audit("account_manager.create").problems(&[ResourceInUse]).under("Customers"),
        patch("/admin/account-managers/{id}", account_managers::change, "Change an account manager")
            .who(Admin).limit(Limit::Writes).audit("account_manager.update").problems(&[ResourceInUse]).under("Customers"),
        get("/admin/tickets", tickets::list_all, "Everybody's tickets")
            .who(Team).limit(Limit::Reads).under("Admin support"),
        get("/admin/tickets/{id}", tickets::show_to_team, "A ticket and its messages")
            .who(Team).limit(Limit::Reads).under("Admin support"),
        patch("/admin/tickets/{id}", tickets::change, "Resolve or close a ticket, or change its priority")
            .who(Admin).limit(Limit::Writes).audit("ticket.update").problems(&[StateConflict]).under("Admin support"),
        post("/admin/tickets/{id}/messages", tickets::answer, "Answer a ticket")
            .who(Team).limit(Limit::Writes).audit("ticket.answer").problems(&[StateConflict]).under("Admin support"),
        get("/admin/notices", notices::list_all, "Every notice, in force or not")
            .who(Team).limit(Limit::Reads).under("Admin support"),
        post("/admin/notices", notices::create, "Announce something")
            .who(Admin).limit(Limit::Writes).audit("notice.create").under("Admin support"),
        patch("/admin/notices/{id}", notices::change, "Change a notice")
            .who(Admin).limit(Limit::Writes).audit("notice.update").under("Admin support"),
        delete("/admin/notices/{id}", notices::remove, "Take a notice down")
            .who(Admin).limit(Limit::Writes).audit("notice.remove").under("Admin support"),
        get("/admin/users", staff::list, "The team")
            .who(Team).limit(Limit::Reads).under("Team"),
        post("/admin/users", staff::create, "Invite somebody to the team")
            .who(Admin).limit(Limit::Writes).audit("staff.create").problems(&[ResourceInUse]).under("Team"),
        patch("/admin/users/{id}", staff::change, "Change what a member of the team may do")
            .who(Admin).limit(Limit::Writes).audit("staff.update").problems(&[StateConflict]).under("Team"),
        post("/admin/users/{id}/2fa-reset", staff::reset_second_factor, "Take away a second factor that was lost, a colleague's or a customer's")
            .who(Admin).limit(Limit::Writes).audit("two_factor.reset").under("Team"),
        get("/admin/audit-log", audit_log::list, "Who did what, and how it ended")
            .who(Team).limit(Limit::Reads).under("Team"),
        get("/admin/beta", beta::list, "Everyone who signed up for the private beta")
            .who(Team).limit(Limit::Reads).under("Beta queue"),
        get("/admin/beta/stats", beta::stats, "The beta queue in numbers")
            .who(Team).limit(Limit::Reads).under("Beta queue"),
        get("/admin/beta/{id}", beta::detail, "A prospect with everything it has given")
            .who(Team).limit(Limit::Reads).under("Beta queue"),
        post("/admin/beta/{id}/approve", beta::approve, "Let a prospect in")
            .who(Admin).limit(Limit::Writes).audit("beta.approve").problems(&[StateConflict]).under("Beta queue"),
        post("/admin/beta/{id}/decline", beta::decline, "Turn a prospect down")
            .who(Admin).limit(Limit::Writes).audit("beta.decline").problems(&[StateConflict]).under("Beta queue"),
        get("/admin/kyb", kyb::list, "Business verifications")
            .who(Team).limit(Limit::Reads).under("KYB review"),
        get("/admin/kyb/{id}", kyb::detail, "A business verification with links to its documents")
            .who(Team).limit(Limit::Reads).audited_read("kyb.documents_shown").under("KYB review"),
        post("/admin/kyb/{id}/approve", kyb::approve, "Approve a business verification")
            .who(Admin).limit(Limit::Writes).audit("kyb.approve").problems(&[StateConflict]).under("KYB review"),
        post("/admin/kyb/{id}/reject", kyb::reject, "Reject a business verification")
            .who(Admin).limit(Limit::Writes).audit("kyb.reject").problems(&[StateConflict]).under("KYB review"),
        get("/admin/compliance/intakes", compliance::list_all, "Collections of documents")
            .who(Team).limit(Limit::Reads).under("Compliance review"),
        get("/admin/compliance/intakes/{id}", compliance::show_to_team, "A collection of documents")
            .who(Team).limit(Limit::Reads).under("Compliance review"),
        get("/admin/compliance/intakes/{id}/documents", compliance::show_documents, "Links to the documents of a collection")
            .who(Team).limit(Limit::Reads).audited_read("compliance.documents_shown").under("Compliance review"),
        post("/admin/compliance/intakes/{id}/review", compliance::review, "Begin to review a collection")
            .who(Admin).limit(Limit::Writes).audit("compliance.review").problems(&[StateConflict])
            .under("Compliance review"),
        post("/admin/compliance/intakes/{id}/approve", compliance::approve, "Approve a collection")
            .who(Admin).limit(Limit::Writes).audit("compliance.approve").problems(&[StateConflict])
            .under("Compliance review"),
        post("/admin/compliance/intakes/{id}/reject", compliance::reject, "Reject a collection")
            .who(Admin).limit(Limit::Writes).audit("compliance.reject").problems(&[StateConflict])
            .under("Compliance review"),
        post("/admin/compliance/intakes/{id}/request-more", compliance::request_more, "Ask for more documents")
            .who(Admin).limit(Limit::Writes).audit("compliance.request_more").problems(&[StateConflict])
            .under("Compliance review"),
        patch("/admin/compliance/intakes/{id}/documents/{doc_id}", compliance::judge_document,
              "Accept or reject a document")
            .who(Admin).limit(Limit::Writes).audit("compliance.judge_document").problems(&[StateConflict])
            .under("Compliance review"),
        post("/admin/credits", balance::credit, "Give a customer money, or take it back")
            .who(Admin).limit(Limit::Writes).audit("credit.create").idempotent()
            .problems(&[BalanceInsufficient, StateConflict]).under("Billing"),
        get("/admin/customers/{id}/balance-limits", balance::limits, "What a customer must leave on its balance")
            .who(Team).limit(Limit::Reads).under("Billing"),
        put("/admin/customers/{id}/balance-limits", balance::set_limits, "Set what a customer must leave on its balance")
            .who(Admin).limit(Limit::Writes).audit("balance_limits.update").problems(&[StateConflict]).under("Billing"),
        get("/admin/customers/{id}/quotas", calls::quotas, "How many calls at once a customer may have in each zone")
            .who(Team).limit(Limit::Reads).under("Calls"),
        put("/admin/customers/{id}/quotas", calls::set_quotas, "Set how many calls at once a customer may have")
            .who(Admin).limit(Limit::Writes).audit("quotas.update").under("Calls"),
        get("/admin/calls", calls::list_live, "Calls that are going on")
            .who(Team).limit(Limit::Reads).under("Calls"),
        post("/admin/calls/{id}/hangup", calls::hang_up, "Have a call ended")
            .who(Admin).limit(Limit::Writes).audit("call.hang_up").problems(&[StateConflict]).under("Calls"),
        get("/admin/dunning", dunning::list, "Customers to speak to about money")
            .who(Team).limit(Limit::Reads).under("Billing"),
        get("/admin/fx-rates", fx::show, "Exchange rates")
            .who(Team).limit(Limit::Reads).under("Billing"),
        put("/admin/fx-rates", fx::change, "Set the exchange rates of a day")
            .who(Admin).limit(Limit::Writes).audit("fx_rates.update").idempotent().under("Billing"),
        get("/admin/upstreams", upstreams::list, "Carriers that take our calls")
            .who(Team).limit(Limit::Reads).under("Upstreams"),
        post("/admin/upstreams", upstreams::create, "Add an upstream")
            .who(Admin).limit(Limit::Writes).audit("upstream.create").idempotent().problems(&[ResourceInUse]).under("Upstreams"),
        get("/admin/upstreams/{id}", upstreams::show, "An upstream")
            .who(Team).limit(Limit::Reads).under("Upstreams"),
        patch("/admin/upstreams/{id}", upstreams::change, "Change an upstream")
            .who(Admin).limit(Limit::Writes).audit("upstream.update").idempotent().under("Upstreams"),
        delete("/admin/upstreams/{id}", upstreams::remove, "Remove an upstream that never sold anything")
            .who(Admin).limit(Limit::Writes).audit("upstream.remove").idempotent().problems(&[ResourceInUse]).under("Upstreams"),
        post("/admin/upstreams/{id}/rates/import", decks::import, "Import a rate deck, or have it pulled")
            .who(Admin).limit(Limit::Writes).audit("deck.import").idempotent().problems(&[StateConflict]).under("Upstreams"),
        get("/admin/upstreams/{id}/imports", decks::list, "The imports of an upstream")
            .who(Team).limit(Limit::Reads).under("Upstreams"),
        get("/admin/upstreams/{id}/imports/{import_id}", decks::show, "An import and what it found")
            .who(Team).limit(Limit::Reads).under("Upstreams"),
        get("/admin/did-inventory", inventory::list_all, "Every number we may let")
            .who(Team).limit(Limit::Reads).under("Number stock"),
        post("/admin/did-inventory/import", inventory::import, "Import numbers")
            .who(Admin).limit(Limit::Writes).audit("did_inventory.import").idempotent().problems(&[StateConflict])
            .under("Number stock"),
        get("/admin/did-inventory/imports/{import_id}", inventory::show_import, "An import of numbers and what it found")
            .who(Team).limit(Limit::Reads).under("Number stock"),
        patch("/admin/did-inventory/{id}", inventory::change, "Withdraw a number, or say whether it needs documents")
            .who(Admin).limit(Limit::Writes).audit("did_inventory.update").idempotent().under("Number stock"),
        get("/admin/rates", rates::list_all, "What upstreams charge, by prefix")
            .who(Team).limit(Limit::Reads).under("Upstreams"),
        get("/admin/routes", rates::routes, "Who would carry a call to a number, and why")
            .who(Team).limit(Limit::Reads).under("Upstreams"),
        get("/admin/dashboard/operational", dashboards::operational, "How the service is doing")
            .who(Team).limit(Limit::Reads).under("Dashboards"),
        get("/admin/dashboard/security", dashboards::security, "Who tries what they should not")
            .who(Team).limit(Limit::Reads).under("Dashboards"),
        get("/admin/cdrs", cdrs::list_all, "Everybody's calls, with cost and margin")
            .who(Team).limit(Limit::Reads).under("Admin calls"),
        get("/admin/cdrs/{id}", cdrs::show_to_team, "A call, and where its price comes from")
            .who(Team).limit(Limit::Reads).under("Admin calls"),
        get("/admin/payments", payments::list_payments, "Payments of all customers")
            .who(Team).limit(Limit::Reads).under("Admin payments"),
        post("/admin/payments/{id}/refund", payments::refund, "Send a payment back, or a part of it")
            .who(Admin).limit(Limit::Writes).audit("payment.refund").idempotent()
            .problems(&[BalanceInsufficient, StateConflict]).under("Admin payments"),
        get("/admin/invoices", invoices::list_all, "Everybody's invoices")
            .who(Team).limit(Limit::Reads).under("Billing"),
        post("/admin/invoices/{id}/void", invoices::void, "Declare an unpaid invoice void")
            .who(Admin).limit(Limit::Writes).audit("invoice.void").idempotent().problems(&[StateConflict]).under("Billing"),
        post("/admin/invoices/{id}/credit", invoices::credit, "Take an invoice back with a credit note")
            .who(Admin).limit(Limit::Writes).audit("invoice.credit").idempotent().problems(&[StateConflict]).under("Billing"),
        post("/admin/2fa/enroll", two_factor::enroll, "Begin to set up a second factor")
            .who(Admin).limit(Limit::Writes).audit("two_factor.enroll").problems(&[StateConflict, NotFound]).under("Admin"),
        post("/admin/2fa/confirm", two_factor::confirm, "Confirm the second factor with its first code")
            .who(Admin).limit(Limit::SignIn).audit("two_factor.confirm")
            .problems(&[InvalidCredentials, StateConflict]).under("Admin"),
        post("/admin/2fa/recovery-codes", two_factor::renew_recovery_codes, "A fresh set of recovery codes")
            .who(Admin).limit(Limit::SignIn).audit("two_factor.recovery_codes")
            .problems(&[InvalidCredentials, StateConflict]).under("Admin"),
        post("/admin/2fa/disable", two_factor::disable, "Sign in without a second factor again")
            .who(Admin).limit(Limit::SignIn).audit("two_factor.disable")
            .problems(&[InvalidCredentials, StateConflict]).under("Admin"),
    ]
}
