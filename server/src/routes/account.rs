//! The current user and its account: sessions, second factor, balance, notifications.

use super::tags;
use api::auth::Who::{Customer, Holder, SignedIn};
use api::endpoint::{Endpoint, delete, get, patch, post, put};
use api::problem::Code::{AccountNotActive, InvalidCredentials, NotFound, StateConflict};
use billing::{auto_recharge, low_balance};
use identity::{accounts, balance, notifications, sessions, two_factor};
use platform::limits::Limit;

#[rustfmt::skip]
pub fn rows() -> Vec<Endpoint> {
    vec![
        get("/me", sessions::me, "getCurrentUser", "Get current user and account")
            .about("Returns the signed-in user and its account. Open to any signed-in user.")
            .who(SignedIn).limit(Limit::Reads).problems(&[NotFound]).under(tags::CURRENT_USER),
        get("/me/sessions", sessions::list_devices, "listSessions", "List sessions")
            .about("Lists the user's active sessions, one per signed-in device, newest first; `current` marks the \
                    session of the request. Open to any signed-in user.")
            .who(SignedIn).limit(Limit::Reads).under(tags::CURRENT_USER),
        delete("/me/sessions/{id}", sessions::delete_device, "deleteSession", "Delete session")
            .about("Signs a device out: ends one of the user's sessions and revokes its access tokens at once. Open to \
                    any signed-in user.")
            .who(SignedIn).limit(Limit::Writes).audit("session.end").under(tags::CURRENT_USER),
        post("/me/2fa/enroll", two_factor::enroll, "enrollSecondFactor", "Enroll a second factor")
            .about("Creates a TOTP secret and returns it as text, `otpauth` URL and QR code. Sign-in does not change \
                    until the secret is confirmed with `POST /me/2fa/confirm`. Open to any signed-in user.")
            .who(SignedIn).limit(Limit::Writes).audit("two_factor.enroll").problems(&[StateConflict, NotFound])
            .under(tags::CURRENT_USER),
        post("/me/2fa/confirm", two_factor::confirm, "confirmSecondFactor", "Confirm the second factor")
            .about("Activates the enrolled second factor with its first code and returns ten recovery codes, shown \
                    only once. From then on sign-in requires a code. Open to any signed-in user.")
            .who(SignedIn).limit(Limit::SignIn).audit("two_factor.confirm")
            .problems(&[InvalidCredentials, StateConflict]).under(tags::CURRENT_USER),
        post("/me/2fa/recovery-codes", two_factor::regenerate_recovery_codes,
             "regenerateRecoveryCodes", "Regenerate recovery codes")
            .about("Replaces the recovery codes with ten new ones, shown only once. Requires a one-time or recovery \
                    code. Open to any signed-in user.")
            .who(SignedIn).limit(Limit::SignIn).audit("two_factor.recovery_codes")
            .problems(&[InvalidCredentials, StateConflict]).under(tags::CURRENT_USER),
        post("/me/2fa/disable", two_factor::disable, "disableSecondFactor", "Disable the second factor")
            .about("Removes the second factor, so that sign-in needs the password only. Requires a one-time or \
                    recovery code. Open to any signed-in user.")
            .who(SignedIn).limit(Limit::SignIn).audit("two_factor.disable")
            .problems(&[InvalidCredentials, StateConflict]).under(tags::CURRENT_USER),

        get("/account", accounts::show, "getAccount", "Get account")
            .about("Returns the account's company name, addresses, VAT id, onboarding status and account manager. Open \
                    to any signed-in user.")
            .who(SignedIn).limit(Limit::Reads).problems(&[NotFound]).under(tags::ACCOUNT),
        patch("/account", accounts::update, "updateAccount", "Update account")
            .about("Changes company name, locale, addresses or VAT id; fields left out keep their value. A new VAT id \
                    resets the VAT status. Open to customers, and to admins for the operator's account.")
            .who(Holder).limit(Limit::Writes).audit("account.update").problems(&[NotFound, AccountNotActive])
            .under(tags::ACCOUNT),

        get("/account/balance", balance::show, "getBalance", "Get balance")
            .about("Returns the prepaid balance, the minimum that must stay on it, and the threshold of the portal's \
                    warning. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::BALANCE),
        get("/account/ledger", balance::list_ledger, "listLedgerEntries", "List ledger entries")
            .about("Lists every movement of the balance with the balance after it, newest first. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::BALANCE),
        get("/account/auto-recharge", auto_recharge::show, "getAutoRecharge", "Get auto-recharge settings")
            .about("Returns whether, below which balance, by how much and from which card the balance is recharged. \
                    Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::BALANCE),
        put("/account/auto-recharge", auto_recharge::update, "setAutoRecharge", "Set auto-recharge settings")
            .about("While enabled, charges a saved card when the balance falls below `threshold`, at most three times \
                    a UTC day. A decline sends `recharge.failed`; the second in a row disables auto-recharge until it \
                    is set again. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("auto_recharge.update").idempotent()
            .problems(&[NotFound, AccountNotActive]).under(tags::BALANCE),
        get("/account/low-balance-notify", low_balance::show, "getLowBalanceAlert", "Get low-balance alert settings")
            .about("Returns whether the low-balance alert is on and its threshold in percent of the last 30 days' \
                    spend. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::BALANCE),
        put("/account/low-balance-notify", low_balance::update, "setLowBalanceAlert", "Set low-balance alert settings")
            .about("Sets the share of the last 30 days' spend below which the account is alerted, by `balance.low` \
                    notification and mail. The alert is sent once each time the balance falls below it. Open to \
                    customers.")
            .who(Customer).limit(Limit::Writes).audit("low_balance_notify.update").under(tags::BALANCE),

        get("/notifications", notifications::list, "listNotifications", "List notifications")
            .about("Lists the account's notifications, newest first; all users of the account share one list. Open to \
                    customers.")
            .who(Customer).limit(Limit::Reads).under(tags::NOTIFICATIONS),
        get("/notifications/unread-count", notifications::unread_count,
            "getUnreadNotificationCount", "Get unread notification count")
            .about("Returns the number of unread notifications, counted up to 1000. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::NOTIFICATIONS),
        post("/notifications/{id}/read", notifications::mark_read, "markNotificationRead", "Mark notification as read")
            .about("Marks a notification as read for all users of the account. Open to customers.")
            .who(Customer).limit(Limit::Writes).unaudited("it changes nothing but what the reader knows")
            .under(tags::NOTIFICATIONS),
        post("/notifications/read-all", notifications::mark_all_read,
             "markAllNotificationsRead", "Mark all notifications as read")
            .about("Marks all notifications of the account as read and returns how many were unread. Open to \
                    customers.")
            .who(Customer).limit(Limit::Writes).unaudited("it changes nothing but what the reader knows")
            .under(tags::NOTIFICATIONS),
        get("/notification-codes", notifications::codes, "listNotificationCodes", "List notification codes")
            .about("Lists every notification code with its severity and the JSON schema of its payload. Open to any \
                    signed-in user.")
            .who(SignedIn).limit(Limit::Reads).under(tags::NOTIFICATIONS),
    ]
}
