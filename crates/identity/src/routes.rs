//! Every endpoint of this crate: who may call it, what it counts against, what the audit log calls it.

mod members;

use api::auth::Who::{Admin, Anyone, Customer, Holder, SignedIn, Team};
use api::endpoint::{Endpoint, delete, get, patch, post, put};
use api::problem::Code::{
    AccountNotActive, BalanceInsufficient, Forbidden, InvalidCredentials, NotFound, ResourceInUse, StateConflict,
    TokenExpired, TokenInvalid, ValidationFailed,
};
use api::scopes::Scope::{AccountRead, AdminRead, BillingRead};
use api::tags;
use platform::limits::Limit;
use values::AccountRole::{Owner, Technical, Viewer};

use crate::balance::credits;
use crate::{
    accounts, balance, bootstrap, compliance, downloads, kyb, notifications, onboarding, passkeys, portal, sessions,
    two_factor,
};

#[rustfmt::skip]
pub fn endpoints() -> Vec<Endpoint> {
    let mut endpoints = vec![
        post("/auth/sign-in", sessions::sign_in, "signIn", "Sign in with email and password")
            .about("Exchanges email and password for an access token and a refresh token. For a user with a second \
                    factor the response is `2fa_required` with a `tmp_token`; within 5 minutes send it with a code to \
                    `POST /admin/2fa/verify`, or with a passkey to `POST /auth/passkey`. No token needed.")
            .who(Anyone).limit(Limit::SignIn).audit("session.sign_in").problems(&[InvalidCredentials])
            .under(tags::AUTHENTICATION),
        post("/admin/2fa/verify", sessions::verify_second_factor,
             "verifySecondFactor", "Verify the second factor of a sign-in")
            .about("Completes the sign-in of a customer or a team member with the `tmp_token` and a one-time or \
                    recovery code. Returns the tokens of the new session; after five tries or 5 minutes sign in again. \
                    No token needed other than `tmp_token`.")
            .who(Anyone).limit(Limit::SignIn).audit("session.second_factor")
            .problems(&[InvalidCredentials, TokenInvalid, TokenExpired, StateConflict]).under(tags::AUTHENTICATION),
        post("/auth/passkey/challenge", sessions::passkey_challenge,
             "requestPasskeyChallenge", "Request a passkey challenge")
            .about("Returns the options for `navigator.credentials.get`, with a challenge for `POST /auth/passkey` or \
                    `POST /auth/reauthenticate` that works once within 5 minutes. With a `tmp_token` the passkey \
                    follows a password; without one it signs in alone. No token needed.")
            .who(Anyone).limit(Limit::SignIn).unaudited("nothing changes").problems(&[TokenInvalid, TokenExpired])
            .under(tags::AUTHENTICATION),
        post("/auth/passkey", sessions::sign_in_with_passkey, "signInWithPasskey", "Sign in with a passkey")
            .about("Exchanges a passkey's answer to a challenge for the tokens of a new session: in place of password \
                    and code if the authenticator checked its user, or with a `tmp_token` in place of a code. No token \
                    needed.")
            .who(Anyone).limit(Limit::SignIn).audit("session.passkey")
            .problems(&[InvalidCredentials, TokenInvalid, TokenExpired]).under(tags::AUTHENTICATION),
        post("/auth/refresh", sessions::refresh, "refreshToken", "Refresh an access token")
            .about("Exchanges a refresh token for a new access token and a new refresh token; the old one stops \
                    working at once. Reusing a spent token ends the session and mails the user, unless it is a lost \
                    response: within 10 seconds, successor unused. No token needed.")
            .who(Anyone).limit(Limit::Refresh).audit("session.refresh").problems(&[TokenInvalid])
            .under(tags::AUTHENTICATION),
        post("/auth/reauthenticate", sessions::reauthenticate, "verifyIdentity", "Verify identity again")
            .about("Proves in the middle of a session that the caller is its user, which endpoints marked \
                    `x-recent-sign-in` require every 15 minutes. Send a code or a passkey if you have a second \
                    factor, otherwise the password. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::SignIn).audit("session.reauthenticate").before_enrollment()
            .problems(&[InvalidCredentials, ValidationFailed]).under(tags::AUTHENTICATION),
        post("/auth/sign-out", sessions::sign_out, "signOut", "Sign out")
            .about("Ends the session that the refresh token belongs to. Access tokens already issued work until they \
                    expire, at most 15 minutes; `DELETE /me/sessions/{id}` revokes them at once. Open to any signed-in \
                    user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Writes).audit("session.sign_out").before_enrollment().problems(&[NotFound])
            .under(tags::AUTHENTICATION),
        post("/auth/forgot-password", sessions::forgot_password,
             "requestPasswordReset", "Request a password reset link")
            .about("Mails a password reset link, valid for 1 hour, if the address belongs to a user. The response is \
                    the same for known and unknown addresses. No token needed.")
            .who(Anyone).limit(Limit::SignIn).audit("password.forgot").under(tags::AUTHENTICATION),
        post("/auth/reset-password", sessions::reset_password, "resetPassword", "Reset a password with a mailed link")
            .about("Sets a new password with the token of the reset link, which works once. Ends all sessions of the \
                    user and confirms the change by mail. No token needed.")
            .who(Anyone).limit(Limit::SignIn).audit("password.reset")
            .problems(&[TokenInvalid, TokenExpired, NotFound, ValidationFailed])
            .under(tags::AUTHENTICATION),
        post("/auth/first-login", sessions::first_login, "signInWithMagicLink", "Sign in with a magic link")
            .about("Exchanges the token of a magic link for a session. The link works once within 72 hours, and not \
                    for a user with a second factor, who signs in with password and code. No token needed.")
            .who(Anyone).limit(Limit::SignIn).audit("session.first_login")
            .problems(&[TokenInvalid, TokenExpired, Forbidden]).under(tags::AUTHENTICATION),
        post("/auth/magic-link/redeem", sessions::redeem_magic_link,
             "redeemMagicLink", "Redeem a magic link for tokens")
            .about("Exchanges the token of a magic link for an access token and a refresh token. Works like `POST \
                    /auth/first-login`, but returns `expires_in` in seconds and no user. No token needed.")
            .who(Anyone).limit(Limit::SignIn).audit("session.magic_link")
            .problems(&[TokenInvalid, TokenExpired, Forbidden]).under(tags::AUTHENTICATION),
        post("/auth/verify-email", sessions::verify_email, "verifyEmail", "Verify an email address with a mailed link")
            .about("Verifies the address of the link's user. Without the password, the first verification removes the \
                    password, the second factor and all sessions that were set before, since whoever signed up may \
                    have been somebody else; the user then signs in with a password reset. No token needed.")
            .who(Anyone).limit(Limit::SignIn).audit("email.verify")
            .problems(&[InvalidCredentials, TokenInvalid, TokenExpired]).under(tags::AUTHENTICATION),

        post("/auth/cookie", sessions::set_cookie, "startBrowserSession", "Start a browser session")
            .about("Exchanges a refresh token for its successor, which is set as a cookie that scripts cannot read; the \
                    token in the request stops working. For pages of this service only: a request with another \
                    `Sec-Fetch-Site` than `same-origin`, or without it another `Origin`, is a 403. No token needed.")
            .who(Anyone).same_origin().limit(Limit::Refresh).audit("session.cookie").problems(&[TokenInvalid])
            .under(tags::AUTHENTICATION),
        post("/auth/cookie/refresh", sessions::refresh_cookie,
             "refreshBrowserSession", "Refresh a browser session")
            .about("Exchanges the refresh token in the cookie for an access token, and sets its successor as the cookie. \
                    Reusing a spent one ends the session, as with `POST /auth/refresh`. For pages of this service only; \
                    no token needed.")
            .who(Anyone).same_origin().limit(Limit::Refresh).audit("session.cookie_refresh").problems(&[TokenInvalid])
            .under(tags::AUTHENTICATION),
        delete("/auth/cookie", sessions::clear_cookie, "deleteBrowserSession", "Delete a browser session")
            .about("Signs out: ends the session of the cookie, revokes its access tokens and clears the cookie. Works \
                    after the access token has expired. For pages of this service only; no token needed.")
            .who(Anyone).same_origin().limit(Limit::Refresh).audit("session.cookie_end").problems(&[TokenInvalid])
            .under(tags::AUTHENTICATION),
        get("/portal", portal::show, "getPortal", "Get sign-in page settings")
            .about("Returns what a sign-in page shows: the operator's name, the zones, whether this is a lab and payments \
                    are a sandbox, whether the first admin is missing, and the users of a demo. No token needed.")
            .who(Anyone).limit(Limit::Reads).under(tags::AUTHENTICATION),

        post("/signup", onboarding::signup, "requestAccess", "Request access to the private beta")
            .about("Registers an email, a company and its expected volume for the private beta. The team reviews it \
                    and mails a magic link on approval; an address that already has an account gets the same response. \
                    No token needed.")
            .who(Anyone).limit(Limit::Signup).audit("account.signup").under(tags::ONBOARDING),
        post("/beta/signup", onboarding::beta_signup, "signUp", "Sign up for the private beta")
            .about("Creates an account and its first user with a password, and mails a link that verifies the \
                    address. The user can sign in at once to complete onboarding; an address that already has an account gets the same response and a mail. No token \
                    needed.")
            .who(Anyone).limit(Limit::Signup).audit("account.signup").under(tags::ONBOARDING),
        get("/me/account", onboarding::my_account, "getBetaAccount", "Get beta account and status")
            .about("Returns the account's signup details, its beta status and its waitlist position. Open to any \
                    signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Reads).problems(&[NotFound]).under(tags::ONBOARDING),
        patch("/me/account", onboarding::update_my_account, "updateBetaAccount", "Update beta account details")
            .about("Changes country, trading name, contact name or contact phone. A known country can change only \
                    until KYB is submitted. Open to customers.")
            .who(Customer).account_role(Owner).limit(Limit::Writes).audit("account.update")
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::ONBOARDING),
        get("/me/waitlist", onboarding::my_waitlist, "getWaitlistPosition", "Get waitlist position")
            .about("Returns the account's waitlist position, null while it is not waiting, and the number of accounts \
                    on the waitlist. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Reads).problems(&[NotFound]).under(tags::ONBOARDING),
        get("/me/traffic-profile", onboarding::traffic_profile, "getTrafficProfile", "Get traffic profile")
            .about("Returns the traffic that the account plans to send; 404 until it has been set. Open to customers.")
            .who(Customer).account_role(Viewer).limit(Limit::Reads).problems(&[NotFound]).under(tags::ONBOARDING),
        put("/me/traffic-profile", onboarding::set_traffic_profile, "setTrafficProfile", "Set traffic profile")
            .about("Creates or replaces the traffic profile: minutes per month, target countries and traffic types. \
                    With a verified card and a submitted KYB intake, the account joins the waitlist. Open to \
                    customers.")
            .who(Customer).account_role(Owner).limit(Limit::Writes).audit("traffic_profile.update")
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::ONBOARDING),
        get("/me/kyb", kyb::show, "getKybIntake", "Get KYB intake")
            .about("Returns the account's KYB intake with its required and uploaded documents. The first request opens \
                    the intake, and a request after a rejection opens a new one. Open to customers.")
            .who(Customer).account_role(Viewer).limit(Limit::Reads).problems(&[NotFound]).under(tags::ONBOARDING),
        post("/me/kyb/documents", kyb::upload, "uploadKybDocument", "Upload KYB document")
            .about("Adds a document (PDF, JPEG or PNG, at most 16 MiB, 20 per intake) to the open KYB intake. Submit \
                    the intake once every required document is uploaded. Open to customers.")
            .who(Customer).account_role(Owner).limit(Limit::Writes).audit("kyb.upload")
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::ONBOARDING),
        delete("/me/kyb/documents/{id}", kyb::delete_document, "deleteKybDocument", "Delete KYB document")
            .about("Deletes a document of the KYB intake while the intake is open. Open to customers.")
            .who(Customer).account_role(Owner).limit(Limit::Writes).audit("kyb.remove").problems(&[AccountNotActive, StateConflict])
            .under(tags::ONBOARDING),
        post("/me/kyb/submit", kyb::submit, "submitKybIntake", "Submit KYB intake")
            .about("Submits the KYB intake for review; a 422 names the documents that are missing. The customer gets \
                    the team's decision by notification and mail. Open to customers.")
            .who(Customer).account_role(Owner).limit(Limit::Writes).audit("kyb.submit")
            .problems(&[NotFound, AccountNotActive, StateConflict, ValidationFailed]).under(tags::ONBOARDING),

        get("/compliance/intakes", compliance::list, "listComplianceIntakes", "List compliance intakes")
            .about("Lists the account's compliance intakes, for KYB and for number orders, newest first. Open to \
                    customers.")
            .who(Customer).account_role(Viewer).limit(Limit::Reads).under(tags::COMPLIANCE),
        get("/compliance/intakes/{id}", compliance::show, "getComplianceIntake", "Get compliance intake")
            .about("Returns a compliance intake with its documents and the reviewer's note. Open to customers.")
            .who(Customer).account_role(Viewer).limit(Limit::Reads).under(tags::COMPLIANCE),
        post("/compliance/intakes/{id}/documents", compliance::upload,
             "uploadComplianceDocument", "Upload compliance document")
            .about("Adds a document (PDF, JPEG or PNG, at most 16 MiB, 20 per intake) to an intake in `draft` or \
                    `more_info_requested`. Submit the intake once every required document is uploaded. Open to \
                    customers.")
            .who(Customer).account_role(Technical).limit(Limit::Writes).audit("compliance.upload").problems(&[AccountNotActive, StateConflict])
            .under(tags::COMPLIANCE),
        delete("/compliance/intakes/{id}/documents/{doc_id}", compliance::delete_document,
               "deleteComplianceDocument", "Delete compliance document")
            .about("Deletes a document of an intake in `draft` or `more_info_requested`. Open to customers.")
            .who(Customer).account_role(Technical).limit(Limit::Writes).audit("compliance.remove").problems(&[AccountNotActive, StateConflict])
            .under(tags::COMPLIANCE),
        post("/compliance/intakes/{id}/submit", compliance::submit,
             "submitComplianceIntake", "Submit compliance intake")
            .about("Submits an intake for review; a 422 names the documents that are missing. The team approves it, \
                    rejects it or requests more documents, and the customer is notified by mail. Open to customers.")
            .who(Customer).account_role(Technical).limit(Limit::Writes).audit("compliance.submit")
            .problems(&[AccountNotActive, StateConflict, ValidationFailed]).under(tags::COMPLIANCE),

        get("/me", sessions::me, "getCurrentUser", "Get current user and account")
            .about("Returns the signed-in user with its second factors, and its account. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Reads).before_enrollment().problems(&[NotFound]).under(tags::CURRENT_USER),
        get("/me/sessions", sessions::list_devices, "listSessions", "List sessions")
            .about("Lists the user's active sessions, one per signed-in device, newest first; `current` marks the \
                    session of the request. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Reads).before_enrollment().under(tags::CURRENT_USER),
        delete("/me/sessions/{id}", sessions::delete_device, "deleteSession", "Delete session")
            .about("Signs a device out: ends one of the user's sessions and revokes its access tokens at once. Open to \
                    any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Writes).audit("session.end").before_enrollment().under(tags::CURRENT_USER),
        delete("/me/sessions", sessions::delete_other_devices, "deleteOtherSessions", "Delete all other sessions")
            .about("Signs all other devices out: ends every session of the user except the one of the request, for \
                    example after a change of the second factor. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Writes).audit("session.end_others").under(tags::CURRENT_USER),
        post("/me/password", sessions::change_password, "changePassword", "Change password")
            .about("Replaces the user's password, or sets the first one, for which `current_password` is left out. Ends \
                    the user's other sessions and confirms the change by mail. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::SignIn).audit("password.change").before_enrollment()
            .problems(&[InvalidCredentials, NotFound, ValidationFailed]).under(tags::CURRENT_USER),
        post("/me/email-verification", sessions::request_verification,
             "requestEmailVerification", "Request an email verification link")
            .about("Mails the user a link that verifies its address, valid for 72 hours; earlier ones stop working. \
                    KYB, card setup and approval need a verified address. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Writes).audit("email.request_verification")
            .problems(&[StateConflict, NotFound]).under(tags::CURRENT_USER),
        post("/me/2fa/enroll", two_factor::enroll, "enrollSecondFactor", "Enroll a second factor")
            .about("Creates a TOTP secret and returns it as text, `otpauth` URL and QR code. Sign-in does not change \
                    until the secret is confirmed with `POST /me/2fa/confirm`. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Writes).audit("two_factor.enroll").recent_sign_in().before_enrollment()
            .problems(&[StateConflict, NotFound])
            .under(tags::CURRENT_USER),
        post("/me/2fa/confirm", two_factor::confirm, "confirmSecondFactor", "Confirm the second factor")
            .about("Activates the enrolled second factor with its first code and returns ten recovery codes, shown \
                    only once. From then on sign-in requires a code. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::SignIn).audit("two_factor.confirm").recent_sign_in().before_enrollment()
            .problems(&[InvalidCredentials, StateConflict]).under(tags::CURRENT_USER),
        post("/me/2fa/recovery-codes", two_factor::regenerate_recovery_codes,
             "regenerateRecoveryCodes", "Regenerate recovery codes")
            .about("Replaces the recovery codes with ten new ones, shown only once. Requires a one-time or recovery \
                    code. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::SignIn).audit("two_factor.recovery_codes").recent_sign_in()
            .problems(&[InvalidCredentials, StateConflict]).under(tags::CURRENT_USER),
        post("/me/2fa/disable", two_factor::disable, "disableSecondFactor", "Disable the second factor")
            .about("Removes the second factor, so that sign-in needs the password only. Requires a one-time or \
                    recovery code. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::SignIn).audit("two_factor.disable").recent_sign_in()
            .problems(&[InvalidCredentials, StateConflict]).under(tags::CURRENT_USER),

        get("/me/passkeys", passkeys::list, "listPasskeys", "List passkeys")
            .about("Lists the user's passkeys, newest first. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Reads).before_enrollment().under(tags::CURRENT_USER),
        post("/me/passkeys/registration", passkeys::begin_registration,
             "startPasskeyRegistration", "Start registration of a passkey")
            .about("Returns the options for `navigator.credentials.create`, with a challenge that works once within 5 \
                    minutes. Send the browser's answer to `POST /me/passkeys`. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Writes).unaudited("nothing changes").recent_sign_in().before_enrollment()
            .problems(&[NotFound]).under(tags::CURRENT_USER),
        post("/me/passkeys", passkeys::create, "createPasskey", "Create passkey")
            .about("Registers a passkey, at most 20 per user. From then on sign-in requires a second factor; if it is \
                    the user's first, ten recovery codes are returned, shown only once. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Writes).audit("passkey.create").recent_sign_in().before_enrollment()
            .problems(&[InvalidCredentials, ValidationFailed, StateConflict, ResourceInUse]).under(tags::CURRENT_USER),
        delete("/me/passkeys/{id}", passkeys::delete, "deletePasskey", "Delete passkey")
            .about("Removes a passkey. With the last second factor the recovery codes go too, and the password is \
                    enough to sign in. Open to any signed-in user.")
            .who(SignedIn).account_role(Viewer).limit(Limit::Writes).audit("passkey.remove").recent_sign_in().under(tags::CURRENT_USER),

        get("/account", accounts::show, "getAccount", "Get account")
            .about("Returns the account's company name, addresses, VAT id, onboarding status and account manager. Open \
                    to any signed-in user.")
            .who(SignedIn).account_role(Viewer).scope(AccountRead).limit(Limit::Reads).problems(&[NotFound]).under(tags::ACCOUNT),
        patch("/account", accounts::update, "updateAccount", "Update account")
            .about("Changes company name, locale, addresses or VAT id; fields left out keep their value. A new VAT id \
                    resets the VAT status. Open to customers, and to admins for the operator's account.")
            .who(Holder).account_role(Owner).limit(Limit::Writes).audit("account.update").problems(&[NotFound, AccountNotActive])
            .under(tags::ACCOUNT),

        get("/account/balance", balance::show, "getBalance", "Get balance")
            .about("Returns the prepaid balance, what of it is held and available, how long it lasts, the minimum that \
                    must stay on it, and the threshold of the portal's warning. Open to customers.")
            .who(Customer).account_role(Viewer).scope(BillingRead).limit(Limit::Reads).under(tags::BALANCE),
        get("/account/balance/history", balance::show_history, "getBalanceHistory", "Get balance history")
            .about("Returns the balance at the end of each UTC day, by default of the last 30. Open to customers.")
            .who(Customer).account_role(Viewer).scope(BillingRead).limit(Limit::Reads).under(tags::BALANCE),
        get("/account/ledger", balance::list_ledger, "listLedgerEntries", "List ledger entries")
            .about("Lists every movement of the balance with the balance after it, newest first; by kind or time if asked. \
                    Open to customers.")
            .who(Customer).account_role(Viewer).scope(BillingRead).limit(Limit::Reads).under(tags::BALANCE),

        get("/notifications", notifications::list, "listNotifications", "List notifications")
            .about("Lists the account's notifications, newest first; all users of the account share one list. Open to \
                    customers.")
            .who(Customer).account_role(Viewer).scope(AccountRead).limit(Limit::Reads).under(tags::NOTIFICATIONS),
        get("/notifications/unread-count", notifications::unread_count,
            "getUnreadNotificationCount", "Get unread notification count")
            .about("Returns the number of unread notifications, counted up to 1000. Open to customers.")
            .who(Customer).account_role(Viewer).scope(AccountRead).limit(Limit::Reads).under(tags::NOTIFICATIONS),
        post("/notifications/{id}/read", notifications::mark_read, "markNotificationRead", "Mark notification as read")
            .about("Marks a notification as read for all users of the account. Open to customers.")
            .who(Customer).account_role(Viewer).limit(Limit::Writes).unaudited("it changes nothing but what the reader knows")
            .under(tags::NOTIFICATIONS),
        post("/notifications/read-all", notifications::mark_all_read,
             "markAllNotificationsRead", "Mark all notifications as read")
            .about("Marks all notifications of the account as read and returns how many were unread. Open to \
                    customers.")
            .who(Customer).account_role(Viewer).limit(Limit::Writes).unaudited("it changes nothing but what the reader knows")
            .under(tags::NOTIFICATIONS),
        get("/notification-codes", notifications::codes, "listNotificationCodes", "List notification codes")
            .about("Lists every notification code with its severity and the JSON schema of its payload. Open to any \
                    signed-in user.")
            .who(SignedIn).account_role(Viewer).scope(AccountRead).limit(Limit::Reads).under(tags::NOTIFICATIONS),

        get("/me/notification-preferences", notifications::preferences,
            "getNotificationPreferences", "Get notification preferences")
            .about("Returns which urgent notifications the caller gets by mail too. Open to customers.")
            .who(Customer).account_role(Viewer).limit(Limit::Reads).under(tags::NOTIFICATIONS),
        put("/me/notification-preferences", notifications::set_preferences,
            "setNotificationPreferences", "Set notification preferences")
            .about("Sets which urgent notifications the caller gets by mail too; a code that is left out is mailed. Other \
                    users of the account have their own preferences. Open to customers.")
            .who(Customer).account_role(Viewer).limit(Limit::Writes).audit("notification_preferences.set").under(tags::NOTIFICATIONS),

        get("/files/{token}", downloads::download, "downloadFile", "Download file by signed link")
            .about("Streams the file of a signed link, such as an invoice or an export. A link that expired or was \
                    altered is a 404. No token needed.")
            .who(Anyone).limit(Limit::None).under(tags::FILES),

        post("/admin/bootstrap", bootstrap::bootstrap, "createFirstAdmin", "Create the first admin")
            .about("Creates the operator's account and its first admin, once per installation. Needs the bootstrap \
                    token instead of an access token; sign in afterwards and enroll a second factor.")
            .who(Anyone).limit(Limit::SignIn).audit("admin.bootstrap").problems(&[StateConflict])
            .under(tags::ADMIN_ACCESS),

        post("/admin/customers/{id}/impersonate", sessions::impersonate, "impersonateCustomer", "Impersonate customer")
            .about("Returns a read-only access token for the customer's first user, valid for 15 minutes. Every \
                    request made with it is written to the audit log. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("customer.impersonate").problems(&[StateConflict])
            .under(tags::CUSTOMERS),

        get("/admin/kyb", kyb::list_all, "adminListKybIntakes", "List KYB intakes of all customers")
            .about("Lists the KYB intakes of all customers, newest first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::KYB_REVIEW),
        get("/admin/kyb/{id}", kyb::admin_show, "adminGetKybIntake", "Get KYB intake of any customer")
            .about("Returns a KYB intake with download links to its documents, valid for 5 minutes; the audit log \
                    records who asked. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).audited_read("kyb.documents_shown").under(tags::KYB_REVIEW),
        post("/admin/kyb/{id}/approve", kyb::approve, "approveKybIntake", "Approve KYB intake")
            .about("Approves a submitted KYB intake; the account's onboarding status becomes `approved`. The customer \
                    is informed by notification and mail. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("kyb.approve").problems(&[StateConflict]).under(tags::KYB_REVIEW),
        post("/admin/kyb/{id}/reject", kyb::reject, "rejectKybIntake", "Reject KYB intake")
            .about("Rejects a submitted KYB intake; the account's onboarding status returns to `docs_requested`. The \
                    customer is informed by notification and mail, and can open a new intake. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("kyb.reject").problems(&[StateConflict]).under(tags::KYB_REVIEW),

        get("/admin/compliance/intakes", compliance::list_all,
            "adminListComplianceIntakes", "List compliance intakes of all customers")
            .about("Lists the compliance intakes of all customers, newest first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::COMPLIANCE_REVIEW),
        get("/admin/compliance/intakes/{id}", compliance::admin_show,
            "adminGetComplianceIntake", "Get compliance intake of any customer")
            .about("Returns a compliance intake of any customer with its documents, without download links. Open to \
                    the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::COMPLIANCE_REVIEW),
        get("/admin/compliance/intakes/{id}/documents", compliance::list_documents,
            "adminListComplianceDocuments", "List documents of a compliance intake")
            .about("Lists the documents of an intake with download links valid for 5 minutes; the audit log records \
                    who asked. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).audited_read("compliance.documents_shown").under(tags::COMPLIANCE_REVIEW),
        post("/admin/compliance/intakes/{id}/review", compliance::start_review,
             "startComplianceReview", "Start review of a compliance intake")
            .about("Moves a submitted intake to `under_review`; the customer is not notified. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("compliance.review").problems(&[StateConflict])
            .under(tags::COMPLIANCE_REVIEW),
        post("/admin/compliance/intakes/{id}/approve", compliance::approve,
             "approveComplianceIntake", "Approve compliance intake")
            .about("Approves an intake in `submitted` or `under_review`, and with it the account's KYB or the number \
                    order it belongs to. The customer is notified by mail. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("compliance.approve").problems(&[StateConflict])
            .under(tags::COMPLIANCE_REVIEW),
        post("/admin/compliance/intakes/{id}/reject", compliance::reject,
             "rejectComplianceIntake", "Reject compliance intake")
            .about("Rejects an intake in `submitted` or `under_review`; a number order it belongs to fails and is \
                    refunded. The customer is notified by mail. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("compliance.reject").problems(&[StateConflict])
            .under(tags::COMPLIANCE_REVIEW),
        post("/admin/compliance/intakes/{id}/request-more", compliance::request_more,
             "requestMoreDocuments", "Request more documents")
            .about("Returns an intake to the customer as `more_info_requested`. The customer is notified by \
                    `compliance.more_info` notification and mail, and submits the intake again. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("compliance.request_more").problems(&[StateConflict])
            .under(tags::COMPLIANCE_REVIEW),
        patch("/admin/compliance/intakes/{id}/documents/{doc_id}", compliance::review_document,
              "reviewComplianceDocument", "Review compliance document")
            .about("Accepts or rejects a document of an intake in `submitted` or `under_review`. `If-Match` takes the \
                    ETag of the intake. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("compliance.judge_document").problems(&[StateConflict])
            .under(tags::COMPLIANCE_REVIEW),

        post("/admin/credits", credits::create, "createCredit", "Credit or correct a customer's balance")
            .about("Posts a credit to a customer's balance or, with a negative amount, a correction of at most what is \
                    available, and returns the ledger entry. What one admin credits to a customer within 24 hours is \
                    limited (by default to 1000 EUR); for more, make a credit request. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("credit.create").recent_sign_in().idempotent()
            .problems(&[BalanceInsufficient, StateConflict]).under(tags::ADMIN_BILLING),
        get("/admin/credit-requests", credits::list_requests, "listCreditRequests", "List credit requests")
            .about("Lists credit requests, newest first, with those that were approved or rejected. Open to the team \
                    (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_BILLING),
        get("/admin/credit-requests/{id}", credits::show_request, "getCreditRequest", "Get credit request")
            .about("Returns a credit request, decided or not. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_BILLING),
        post("/admin/credit-requests", credits::request, "createCreditRequest", "Create credit request")
            .about("Requests a credit to a customer's balance, of any amount, or a credit line. Another admin approves \
                    or rejects it. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("credit_request.create").recent_sign_in().idempotent()
            .problems(&[StateConflict]).under(tags::ADMIN_BILLING),
        post("/admin/credit-requests/{id}/approve", credits::approve, "approveCreditRequest", "Approve credit request")
            .about("Posts the credit of a pending request to the customer's balance, or sets its credit line. Admins \
                    only, except the one who made the request.")
            .who(Admin).limit(Limit::Writes).audit("credit_request.approve").recent_sign_in().idempotent()
            .problems(&[StateConflict]).under(tags::ADMIN_BILLING),
        post("/admin/credit-requests/{id}/reject", credits::reject, "rejectCreditRequest", "Reject credit request")
            .about("Rejects a pending credit request, or takes one's own back. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("credit_request.reject").idempotent()
            .problems(&[StateConflict]).under(tags::ADMIN_BILLING),
        get("/admin/customers/{id}/balance", balance::show_customer, "getCustomerBalance", "Get balance of a customer")
            .about("Returns a customer's balance as the customer sees it: what of it is held and available, and how long \
                    it lasts. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_BILLING),
        get("/admin/customers/{id}/ledger", balance::list_customer_ledger,
            "listLedgerEntriesOfCustomer", "List ledger entries of a customer")
            .about("Lists every movement of a customer's balance as the customer sees it, newest first. Open to the team \
                    (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_BILLING),
        get("/admin/customers/{id}/balance-limits", balance::show_limits,
            "getCustomerBalanceLimits", "Get balance limits of a customer")
            .about("Returns the minimum that must stay on a customer's balance and the threshold of its portal's \
                    warning. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_BILLING),
        put("/admin/customers/{id}/balance-limits", balance::update_limits,
            "setCustomerBalanceLimits", "Set balance limits of a customer")
            .about("Sets the minimum that must stay on a customer's balance and the threshold of its portal's warning. \
                    A minimum below zero is a credit line; one admin raises it to 1000 EUR at most by default, for \
                    more make a credit request. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("balance_limits.update").recent_sign_in().problems(&[StateConflict])
            .under(tags::ADMIN_BILLING),

        post("/admin/2fa/enroll", two_factor::enroll, "adminEnrollSecondFactor", "Enroll an admin's second factor")
            .about("Creates a TOTP secret and returns it as text, `otpauth` URL and QR code; confirm it with `POST \
                    /admin/2fa/confirm`. Does the same as `POST /me/2fa/enroll`. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("two_factor.enroll").recent_sign_in().before_enrollment()
            .problems(&[StateConflict, NotFound])
            .under(tags::ADMIN_ACCESS),
        post("/admin/2fa/confirm", two_factor::confirm, "adminConfirmSecondFactor", "Confirm an admin's second factor")
            .about("Activates the enrolled second factor with its first code and returns ten recovery codes, shown \
                    only once. Does the same as `POST /me/2fa/confirm`. Admins only.")
            .who(Admin).limit(Limit::SignIn).audit("two_factor.confirm").recent_sign_in().before_enrollment()
            .problems(&[InvalidCredentials, StateConflict])
            .under(tags::ADMIN_ACCESS),
        post("/admin/2fa/recovery-codes", two_factor::regenerate_recovery_codes,
             "adminRegenerateRecoveryCodes", "Regenerate an admin's recovery codes")
            .about("Replaces the recovery codes with ten new ones, shown only once; requires a one-time or recovery \
                    code. Does the same as `POST /me/2fa/recovery-codes`. Admins only.")
            .who(Admin).limit(Limit::SignIn).audit("two_factor.recovery_codes").recent_sign_in()
            .problems(&[InvalidCredentials, StateConflict]).under(tags::ADMIN_ACCESS),
        post("/admin/2fa/disable", two_factor::disable, "adminDisableSecondFactor", "Disable an admin's second factor")
            .about("Removes the second factor; requires a one-time or recovery code. Does the same as `POST \
                    /me/2fa/disable`. Admins only.")
            .who(Admin).limit(Limit::SignIn).audit("two_factor.disable").recent_sign_in()
            .problems(&[InvalidCredentials, StateConflict])
            .under(tags::ADMIN_ACCESS),
    ];
    endpoints.extend(members::endpoints());
    endpoints
}
