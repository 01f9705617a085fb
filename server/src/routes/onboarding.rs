//! Onboarding: signup, traffic profile, KYB, card verification, and compliance intakes.

use super::tags;
use api::auth::Who::{Anyone, Customer, SignedIn};
use api::endpoint::{Endpoint, delete, get, patch, post, put};
use api::problem::Code::{AccountNotActive, NotFound, StateConflict, ValidationFailed};
use billing::card_check;
use identity::{compliance, kyb, onboarding};
use platform::limits::Limit;

#[rustfmt::skip]
pub fn rows() -> Vec<Endpoint> {
    vec![
        post("/signup", onboarding::signup, "requestAccess", "Request access to the private beta")
            .about("Registers an email, a company and its expected volume for the private beta. The team reviews it \
                    and mails a magic link on approval; an address that already has an account gets the same response. \
                    No token needed.")
            .who(Anyone).limit(Limit::Signup).audit("account.signup").under(tags::ONBOARDING),
        post("/beta/signup", onboarding::beta_signup, "signUp", "Sign up for the private beta")
            .about("Creates an account and its first user with a password. The user can sign in at once to complete \
                    onboarding; an address that already has an account gets the same response and a mail. No token \
                    needed.")
            .who(Anyone).limit(Limit::Signup).audit("account.signup").under(tags::ONBOARDING),
        get("/me/account", onboarding::my_account, "getBetaAccount", "Get beta account and status")
            .about("Returns the account's signup details, its beta status and its waitlist position. Open to any \
                    signed-in user.")
            .who(SignedIn).limit(Limit::Reads).problems(&[NotFound]).under(tags::ONBOARDING),
        patch("/me/account", onboarding::update_my_account, "updateBetaAccount", "Update beta account details")
            .about("Changes country, trading name, contact name or contact phone. A known country can change only \
                    until KYB is submitted. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("account.update")
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::ONBOARDING),
        get("/me/waitlist", onboarding::my_waitlist, "getWaitlistPosition", "Get waitlist position")
            .about("Returns the account's waitlist position, null while it is not waiting, and the number of accounts \
                    on the waitlist. Open to any signed-in user.")
            .who(SignedIn).limit(Limit::Reads).problems(&[NotFound]).under(tags::ONBOARDING),
        get("/me/traffic-profile", onboarding::traffic_profile, "getTrafficProfile", "Get traffic profile")
            .about("Returns the traffic that the account plans to send; 404 until it has been set. Open to customers.")
            .who(Customer).limit(Limit::Reads).problems(&[NotFound]).under(tags::ONBOARDING),
        put("/me/traffic-profile", onboarding::set_traffic_profile, "setTrafficProfile", "Set traffic profile")
            .about("Creates or replaces the traffic profile: minutes per month, target countries and traffic types. \
                    With a verified card and a submitted KYB intake, the account joins the waitlist. Open to \
                    customers.")
            .who(Customer).limit(Limit::Writes).audit("traffic_profile.update")
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::ONBOARDING),
        get("/me/kyb", kyb::show, "getKybIntake", "Get KYB intake")
            .about("Returns the account's KYB intake with its required and uploaded documents. The first request opens \
                    the intake, and a request after a rejection opens a new one. Open to customers.")
            .who(Customer).limit(Limit::Reads).problems(&[NotFound]).under(tags::ONBOARDING),
        post("/me/kyb/documents", kyb::upload, "uploadKybDocument", "Upload KYB document")
            .about("Adds a document (PDF, JPEG or PNG, at most 16 MiB, 20 per intake) to the open KYB intake. Submit \
                    the intake once every required document is uploaded. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("kyb.upload")
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::ONBOARDING),
        delete("/me/kyb/documents/{id}", kyb::delete_document, "deleteKybDocument", "Delete KYB document")
            .about("Deletes a document of the KYB intake while the intake is open. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("kyb.remove").problems(&[AccountNotActive, StateConflict])
            .under(tags::ONBOARDING),
        post("/me/kyb/submit", kyb::submit, "submitKybIntake", "Submit KYB intake")
            .about("Submits the KYB intake for review; a 422 names the documents that are missing. The customer gets \
                    the team's decision by notification and mail. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("kyb.submit")
            .problems(&[NotFound, AccountNotActive, StateConflict, ValidationFailed]).under(tags::ONBOARDING),
        post("/me/card-setup", card_check::start, "startCardVerification", "Start card verification")
            .about("Opens a checkout at the payment provider where the customer enters a card; nothing is charged. \
                    Redirect to `checkout_url`, then poll `GET /me/payment-method`. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("card.setup").idempotent()
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::ONBOARDING),
        get("/me/payment-method", card_check::show, "getCardVerification", "Get card verification status")
            .about("Returns the newest verified card, or the status of the latest verification if none is verified; \
                    404 before the first card setup. Open to customers.")
            .who(Customer).limit(Limit::Reads).problems(&[NotFound]).under(tags::ONBOARDING),

        get("/compliance/intakes", compliance::list, "listComplianceIntakes", "List compliance intakes")
            .about("Lists the account's compliance intakes, for KYB and for number orders, newest first. Open to \
                    customers.")
            .who(Customer).limit(Limit::Reads).under(tags::COMPLIANCE),
        get("/compliance/intakes/{id}", compliance::show, "getComplianceIntake", "Get compliance intake")
            .about("Returns a compliance intake with its documents and the reviewer's note. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::COMPLIANCE),
        post("/compliance/intakes/{id}/documents", compliance::upload,
             "uploadComplianceDocument", "Upload compliance document")
            .about("Adds a document (PDF, JPEG or PNG, at most 16 MiB, 20 per intake) to an intake in `draft` or \
                    `more_info_requested`. Submit the intake once every required document is uploaded. Open to \
                    customers.")
            .who(Customer).limit(Limit::Writes).audit("compliance.upload").problems(&[AccountNotActive, StateConflict])
            .under(tags::COMPLIANCE),
        delete("/compliance/intakes/{id}/documents/{doc_id}", compliance::delete_document,
               "deleteComplianceDocument", "Delete compliance document")
            .about("Deletes a document of an intake in `draft` or `more_info_requested`. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("compliance.remove").problems(&[AccountNotActive, StateConflict])
            .under(tags::COMPLIANCE),
        post("/compliance/intakes/{id}/submit", compliance::submit,
             "submitComplianceIntake", "Submit compliance intake")
            .about("Submits an intake for review; a 422 names the documents that are missing. The team approves it, \
                    rejects it or requests more documents, and the customer is told by mail. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("compliance.submit")
            .problems(&[AccountNotActive, StateConflict, ValidationFailed]).under(tags::COMPLIANCE),
    ]
}
