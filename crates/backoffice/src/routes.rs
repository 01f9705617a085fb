//! Every endpoint of this crate: who may call it, what it counts against, what the audit log calls it.

use api::auth::Who::{Admin, Customer, SignedIn, Team};
use api::endpoint::{Endpoint, delete, get, patch, post};
use api::problem::Code::{RateLimited, ResourceInUse, StateConflict, TokenExpired};
use api::scopes::Scope::{AccountRead, AdminRead, SupportWrite, WebhooksWrite};
use api::tags;
use platform::limits::Limit;
use values::AccountRole::{Technical, Viewer};

use crate::{
    account_managers, audit_log, beta, customers, dashboards, demo_data, disputes, events, inbox, notes, notices,
    search, service, staff, tickets, webhook_endpoints,
};

#[rustfmt::skip]
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/tickets", tickets::list, "listTickets", "List tickets")
            .about("Lists the account's support tickets without their messages, newest first. Open to customers.")
            .who(Customer).account_role(Viewer).scope(SupportWrite).limit(Limit::Reads).under(tags::SUPPORT),
        post("/tickets", tickets::create, "createTicket", "Create ticket")
            .about("Opens a support ticket with a first message; it may refer to a `request_id` and to CDRs of the \
                    account. The team's reply arrives as a `ticket.reply` notification and by mail. Open to customers, \
                    also while suspended.")
            .who(Customer).account_role(Viewer).scope(SupportWrite).limit(Limit::Writes).audit("ticket.create").problems(&[StateConflict]).under(tags::SUPPORT),
        get("/tickets/{id}", tickets::show, "getTicket", "Get ticket")
            .about("Returns a support ticket with its messages. Open to customers.")
            .who(Customer).account_role(Viewer).scope(SupportWrite).limit(Limit::Reads).under(tags::SUPPORT),
        post("/tickets/{id}/messages", tickets::reply, "replyToTicket", "Reply to a ticket")
            .about("Adds a message to a ticket, which then waits for the team (`pending_team`), also after it was \
                    resolved. A closed ticket accepts no messages. Open to customers, also while suspended.")
            .who(Customer).account_role(Viewer).scope(SupportWrite).limit(Limit::Writes).audit("ticket.write").problems(&[StateConflict]).under(tags::SUPPORT),
        post("/tickets/{id}/close", tickets::close, "closeTicket", "Close ticket")
            .about("Closes a ticket for good; open a new one to continue. Open to customers, also while suspended.")
            .who(Customer).account_role(Viewer).scope(SupportWrite).limit(Limit::Writes).audit("ticket.close").problems(&[StateConflict]).under(tags::SUPPORT),
        post("/cdrs/{id}/dispute", disputes::create, "disputeCall", "Dispute the charge of a call")
            .about("Disputes the charge of a call, once, and opens a ticket about it. The team credits the call or \
                    rejects the dispute, and its message arrives as a `ticket.reply` notification and by mail. Open to \
                    customers, also while suspended.")
            .who(Customer).account_role(Viewer).scope(SupportWrite).limit(Limit::Writes).audit("dispute.create").idempotent()
            .problems(&[StateConflict]).under(tags::SUPPORT),
        get("/disputes", disputes::list, "listDisputes", "List call disputes")
            .about("Lists the calls whose charge the account disputes or disputed, newest first. Open to customers.")
            .who(Customer).account_role(Viewer).scope(SupportWrite).limit(Limit::Reads).under(tags::SUPPORT),
        get("/disputes/{id}", disputes::show, "getDispute", "Get call dispute")
            .about("Returns a call dispute with the team's decision. Open to customers.")
            .who(Customer).account_role(Viewer).scope(SupportWrite).limit(Limit::Reads).under(tags::SUPPORT),
        get("/notices", notices::list, "listNotices", "List current notices")
            .about("Lists the operator's announcements that are in force now, by start time, newest first. Open to any \
                    signed-in user.")
            .who(SignedIn).account_role(Viewer).scope(AccountRead).limit(Limit::Reads).under(tags::SUPPORT),

        get("/admin/customers", customers::list, "listCustomers", "List customers")
            .about("Lists customers, newest first, or those that `q` finds by id, email, number, IP address or name. \
                    Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::CUSTOMERS),
        get("/admin/customers/{id}", customers::show, "getCustomer", "Get customer")
            .about("Returns a customer with its status, balance, spend of the last 30 days and VAT decisions. Open to \
                    the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::CUSTOMERS),
        patch("/admin/customers/{id}", customers::update, "updateCustomer", "Update customer")
            .about("Suspends or reinstates a customer, assigns its account manager, or decides its VAT. The customer \
                    is informed of a suspension and a reinstatement by notification and mail; calls of a suspended account \
                    are denied. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("customer.update").problems(&[StateConflict]).under(tags::CUSTOMERS),
        get("/admin/customers/{id}/notes", notes::list, "listCustomerNotes", "List notes about a customer")
            .about("Lists the team's notes about a customer, newest first; customers never see them. Open to the team \
                    (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::CUSTOMERS),
        post("/admin/customers/{id}/notes", notes::create, "createCustomerNote", "Create note about a customer")
            .about("Adds a note about a customer; notes cannot be changed or deleted. Open to the team (admin or \
                    support).")
            .who(Team).limit(Limit::Writes).audit("note.create").under(tags::CUSTOMERS),
        get("/admin/customers/{id}/users", staff::list_of_customer, "listCustomerUsers", "List users of a customer")
            .about("Lists the users who sign in for a customer, newest first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::CUSTOMERS),
        get("/admin/customers/{id}/webhook-endpoints", webhook_endpoints::list_of_customer,
            "listWebhookEndpointsOfCustomer", "List webhook endpoints of a customer")
            .about("Lists the URLs that events of a customer are sent to, without their secrets, newest first. Open to \
                    the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::CUSTOMERS),
        post("/admin/customers/{id}/users/{user_id}/sign-out", staff::sign_out_user,
             "signOutCustomerUser", "Sign out a customer's user")
            .about("Ends all sessions of a customer's user and revokes its tokens at once; the user is told by mail and \
                    can sign in again. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("customer_user.sign_out").problems(&[StateConflict])
            .under(tags::CUSTOMERS),
        post("/admin/customers/{id}/users/{user_id}/deactivate", staff::deactivate_user,
             "deactivateCustomerUser", "Deactivate a customer's user")
            .about("Ends all sessions of a customer's user, voids its links and refuses further sign-ins, until the \
                    user is reactivated. The user is told by mail. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("customer_user.deactivate").problems(&[StateConflict])
            .under(tags::CUSTOMERS),
        post("/admin/customers/{id}/users/{user_id}/reactivate", staff::reactivate_user,
             "reactivateCustomerUser", "Reactivate a customer's user")
            .about("Lets a deactivated user of a customer sign in again. The user is told by mail. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("customer_user.reactivate").problems(&[StateConflict])
            .under(tags::CUSTOMERS),
        get("/admin/onboarding", customers::list_unapproved,
            "listCustomersInOnboarding", "List customers in onboarding")
            .about("Lists the customers whose KYB is not approved yet, newest first, including suspended ones. Open to \
                    the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::CUSTOMERS),
        get("/admin/account-managers", account_managers::list, "listAccountManagers", "List account managers")
            .about("Lists the account managers that customers can be assigned to, newest first. Open to the team \
                    (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::CUSTOMERS),
        post("/admin/account-managers", account_managers::create, "createAccountManager", "Create account manager")
            .about("Adds an account manager, a name and an address that customers see; it is not a user who signs in. \
                    Admins only.")
            .who(Admin).limit(Limit::Writes).audit("account_manager.create").problems(&[ResourceInUse])
            .under(tags::CUSTOMERS),
        patch("/admin/account-managers/{id}", account_managers::update,
              "updateAccountManager", "Update account manager")
            .about("Changes an account manager's name, email or whether it is active; customers do not see an inactive \
                    one. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("account_manager.update").problems(&[ResourceInUse])
            .under(tags::CUSTOMERS),

        get("/admin/tickets", tickets::list_all, "adminListTickets", "List tickets of all customers")
            .about("Lists the support tickets of all customers without their messages, newest first. Open to the team \
                    (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_SUPPORT),
        get("/admin/tickets/{id}", tickets::admin_show, "adminGetTicket", "Get ticket of any customer")
            .about("Returns a support ticket of any customer with its messages. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_SUPPORT),
        patch("/admin/tickets/{id}", tickets::update, "adminUpdateTicket", "Update ticket of any customer")
            .about("Sets a ticket's priority, or resolves or closes it; closing is final. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("ticket.update").problems(&[StateConflict])
            .under(tags::ADMIN_SUPPORT),
        post("/admin/tickets/{id}/messages", tickets::admin_reply, "adminReplyToTicket", "Reply to a customer's ticket")
            .about("Adds a team message to a ticket, which then waits for the customer (`pending_customer`). The \
                    account gets a `ticket.reply` notification and the ticket's author a mail. Open to the team (admin \
                    or support).")
            .who(Team).limit(Limit::Writes).audit("ticket.answer").problems(&[StateConflict])
            .under(tags::ADMIN_SUPPORT),

        get("/admin/disputes", disputes::list_all, "adminListDisputes", "List call disputes of all customers")
            .about("Lists the calls whose charge customers dispute or disputed, newest first. Open to the team (admin or \
                    support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_SUPPORT),
        get("/admin/disputes/{id}", disputes::admin_show, "adminGetDispute", "Get call dispute of any customer")
            .about("Returns a call dispute of any customer. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_SUPPORT),
        post("/admin/disputes/{id}/resolve", disputes::resolve, "resolveDispute", "Resolve call dispute")
            .about("Credits a disputed call to the customer's balance, in whole or in part, or rejects the dispute; the note \
                    becomes a message of its ticket, which is resolved. A credit is a line of the next invoice, with the \
                    VAT that the call was charged with. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("dispute.resolve").recent_sign_in().idempotent()
            .problems(&[StateConflict]).under(tags::ADMIN_SUPPORT),
        get("/admin/notices", notices::list_all, "adminListNotices", "List all notices")
            .about("Lists all notices, whether past, in force or planned, by start time, newest first. Open to the \
                    team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_SUPPORT),
        post("/admin/notices", notices::create, "adminCreateNotice", "Create notice")
            .about("Announces something to all users from `starts_at` until `ends_at`, or until it is deleted. Admins \
                    only.")
            .who(Admin).limit(Limit::Writes).audit("notice.create").under(tags::ADMIN_SUPPORT),
        get("/admin/notices/{id}", notices::show, "adminGetNotice", "Get notice")
            .about("Returns a notice, whether past, in force or planned. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_SUPPORT),
        patch("/admin/notices/{id}", notices::update, "adminUpdateNotice", "Update notice")
            .about("Changes a notice's severity, text or times; fields left out keep their value. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("notice.update").under(tags::ADMIN_SUPPORT),
        delete("/admin/notices/{id}", notices::delete, "adminDeleteNotice", "Delete notice")
            .about("Deletes a notice, so that nobody sees it any more. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("notice.remove").under(tags::ADMIN_SUPPORT),

        get("/admin/users", staff::list, "listTeamMembers", "List team members")
            .about("Lists the team members with their roles, newest first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::TEAM),
        post("/admin/users", staff::create, "inviteTeamMember", "Invite team member")
            .about("Creates a team member with role `admin`, `support` or both, and mails a magic link valid for 72 \
                    hours. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("staff.create").recent_sign_in()
            .problems(&[ResourceInUse]).under(tags::TEAM),
        patch("/admin/users/{id}", staff::update, "updateTeamMember", "Update team member")
            .about("Changes a team member's roles, or deactivates or reactivates it. Any change ends the member's \
                    sessions at once; the last active admin stays one. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("staff.update").recent_sign_in()
            .problems(&[StateConflict]).under(tags::TEAM),
        post("/admin/users/{id}/2fa-reset", staff::reset_second_factor,
             "resetSecondFactor", "Reset a user's second factor")
            .about("Removes the lost second factor of another team member or of a customer's user. Ends the user's \
                    sessions and notifies the user by mail. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("two_factor.reset").recent_sign_in().under(tags::TEAM),
        get("/admin/audit-log", audit_log::list, "listAuditLogEntries", "List audit log entries")
            .about("Lists who did what and with which outcome, newest first. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::TEAM),

        get("/admin/beta", beta::list, "listBetaSignups", "List beta signups")
            .about("Lists the accounts of the private beta with their KYB and card status, newest first. Open to the \
                    team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::BETA_QUEUE),
        get("/admin/beta/stats", beta::stats, "getBetaStats", "Get beta queue statistics")
            .about("Returns how many accounts there are, how many are pending, and how many were approved or declined \
                    in the last 7 days. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::BETA_QUEUE),
        get("/admin/beta/{id}", beta::show, "getBetaSignup", "Get beta signup")
            .about("Returns a beta account with its traffic profile, KYB intake, card status and user emails. Open to \
                    the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::BETA_QUEUE),
        post("/admin/beta/{id}/approve", beta::approve, "approveBetaSignup", "Approve beta signup")
            .about("Moves an account to `beta_approved` and mails it a magic link with the reviewer's note. A declined \
                    account can still be approved. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("beta.approve").problems(&[StateConflict]).under(tags::BETA_QUEUE),
        post("/admin/beta/{id}/decline", beta::decline, "declineBetaSignup", "Decline beta signup")
            .about("Moves an account to `beta_declined` and mails it the reviewer's note. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("beta.decline").problems(&[StateConflict]).under(tags::BETA_QUEUE),

        get("/admin/service", service::show, "getServiceStatus", "Get service status")
            .about("Returns the version, the database with its migrations, the nodes, the job classes with what waits in \
                    them, dead jobs, and the edges that were seen in the last day. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::DASHBOARDS),
        get("/admin/demo-data", demo_data::show, "getDemoData", "Get demo data status")
            .about("Returns whether demo data can be made, and how far they are. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_ACCESS),
        post("/admin/demo-data", demo_data::create, "createDemoData", "Create demo data")
            .about("Fills the database with customers, calls, payments and invoices of the last months, in the \
                    background. Only in a lab, and only while there is no customer. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("demo_data.create").problems(&[StateConflict])
            .under(tags::ADMIN_ACCESS),

        get("/admin/inbox", inbox::show, "getInbox", "Get inbox of the team")
            .about("Returns how many tickets, intakes, waitlisted accounts, customers in dunning, upstreams, imports, jobs \
                    and suspended CDRs wait for the team, and since when the oldest of a queue does; each count stops at \
                    1000. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::DASHBOARDS),
        get("/admin/search", search::search, "searchAll", "Search customers, calls and documents")
            .about("Finds customers, users, numbers, networks, calls, invoices and tickets by one text, at most 20: names, \
                    addresses, numbers and subjects by how they begin in any letter case, networks, Call-IDs and ids as a \
                    whole. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).reads_replica().under(tags::CUSTOMERS),
        get("/admin/dashboard/operational", dashboards::operational,
            "getOperationalDashboard", "Get operational dashboard")
            .about("Returns requests, errors, latency and audit volume of the last hour, day or week. Open to the team \
                    (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::DASHBOARDS),
        get("/admin/dashboard/security", dashboards::security, "getSecurityDashboard", "Get security dashboard")
            .about("Returns the admins' second factors, failed sign-ins and rate limits of the last 24 hours, token \
                    reuse and impersonations of the last 30 days, and locked users. Open to the team (admin or \
                    support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::DASHBOARDS),

        get("/events", events::list, "listEvents", "List events")
            .about("Lists what happened to the account in the last 30 days, oldest first, without `calls.ended`. There \
                    is always a `next_cursor`, also on the last page, to poll for what comes next. Open to customers.")
            .who(Customer).account_role(Viewer).scope(AccountRead).limit(Limit::Reads).under(tags::EVENTS),
        get("/events/stream", events::stream, "streamEvents", "Start event stream")
            .about("Sends events as they happen, as server-sent events with a comment every 15 seconds, until the \
                    token ends; `Last-Event-ID` resumes without a gap, without it the stream begins now. A user can \
                    have 5 streams open on each node. Open to customers.")
            .who(Customer).account_role(Viewer).scope(AccountRead).limit(Limit::Reads).problems(&[RateLimited, TokenExpired]).under(tags::EVENTS),
        get("/events/{id}", events::show, "getEvent", "Get event")
            .about("Returns one event of the account. Open to customers.")
            .who(Customer).account_role(Viewer).scope(AccountRead).limit(Limit::Reads).under(tags::EVENTS),
        get("/webhook-endpoints", webhook_endpoints::list, "listWebhookEndpoints", "List webhook endpoints")
            .about("Lists the URLs that events of the account are sent to, newest first. Open to customers.")
            .who(Customer).account_role(Viewer).scope(WebhooksWrite).limit(Limit::Reads).under(tags::EVENTS),
        post("/webhook-endpoints", webhook_endpoints::create, "createWebhookEndpoint", "Create webhook endpoint")
            .about("Creates a URL that events of the account are posted to, signed as Standard Webhooks with the \
                    `secret` that is returned once. It must use https and have a public address; there can be 10. Open \
                    to customers.")
            .who(Customer).account_role(Technical).scope(WebhooksWrite).limit(Limit::Writes).audit("webhook_endpoint.create").idempotent()
            .problems(&[StateConflict]).under(tags::EVENTS),
        get("/webhook-endpoints/{id}", webhook_endpoints::show, "getWebhookEndpoint", "Get webhook endpoint")
            .about("Returns a webhook endpoint, without its secret. Open to customers.")
            .who(Customer).account_role(Viewer).scope(WebhooksWrite).limit(Limit::Reads).under(tags::EVENTS),
        patch("/webhook-endpoints/{id}", webhook_endpoints::update, "updateWebhookEndpoint", "Update webhook endpoint")
            .about("Changes URL, description or types of events, or disables or enables a webhook endpoint. Enabling \
                    it also sends what was pending. Open to customers.")
            .who(Customer).account_role(Technical).scope(WebhooksWrite).limit(Limit::Writes).audit("webhook_endpoint.update").under(tags::EVENTS),
        delete("/webhook-endpoints/{id}", webhook_endpoints::delete, "deleteWebhookEndpoint", "Delete webhook endpoint")
            .about("Deletes a webhook endpoint; what was pending is not sent any more. Open to customers.")
            .who(Customer).account_role(Technical).scope(WebhooksWrite).limit(Limit::Writes).audit("webhook_endpoint.delete").under(tags::EVENTS),
        post("/webhook-endpoints/{id}/rotate-secret", webhook_endpoints::rotate_secret,
             "rotateWebhookSecret", "Rotate webhook secret")
            .about("Replaces the secret of a webhook endpoint and returns the new one once. For 24 hours deliveries \
                    carry the signatures of both. Open to customers.")
            .who(Customer).account_role(Technical).scope(WebhooksWrite).limit(Limit::Writes).audit("webhook_endpoint.rotate_secret").idempotent()
            .under(tags::EVENTS),
        post("/webhook-endpoints/{id}/test", webhook_endpoints::test, "testWebhookEndpoint", "Test webhook endpoint")
            .about("Sends an event `webhook.test` to a webhook endpoint and returns its delivery, which is attempted \
                    in the background. Open to customers.")
            .who(Customer).account_role(Technical).scope(WebhooksWrite).limit(Limit::Writes).audit("webhook_endpoint.test").problems(&[StateConflict])
            .under(tags::EVENTS),
        get("/webhook-endpoints/{id}/deliveries", webhook_endpoints::list_deliveries,
            "listWebhookDeliveries", "List webhook deliveries")
            .about("Lists the deliveries of a webhook endpoint of the last 30 days with their attempts, newest first. \
                    Open to customers.")
            .who(Customer).account_role(Viewer).scope(WebhooksWrite).limit(Limit::Reads).under(tags::EVENTS),
        get("/webhook-endpoints/{id}/deliveries/{delivery_id}", webhook_endpoints::show_delivery,
            "getWebhookDelivery", "Get webhook delivery")
            .about("Returns a delivery of a webhook endpoint with its attempts. Open to customers.")
            .who(Customer).account_role(Viewer).scope(WebhooksWrite).limit(Limit::Reads).under(tags::EVENTS),
        post("/webhook-endpoints/{id}/deliveries/{delivery_id}/retry", webhook_endpoints::retry,
             "retryWebhookDelivery", "Retry webhook delivery")
            .about("Attempts a delivery again at once, whatever its status, with the same `webhook-id`. Open to \
                    customers.")
            .who(Customer).account_role(Technical).scope(WebhooksWrite).limit(Limit::Writes).audit("webhook_endpoint.retry").problems(&[StateConflict])
            .under(tags::EVENTS),
        post("/webhook-endpoints/{id}/replay", webhook_endpoints::replay,
             "replayWebhookEvents", "Replay events to webhook endpoint")
            .about("Sends the events of a period again, each with its `webhook-id`, also those that a webhook endpoint \
                    missed while it was disabled; `only_failed` sends only those whose delivery failed. A period can \
                    have 10,000 events. Open to customers.")
            .who(Customer).account_role(Technical).scope(WebhooksWrite).limit(Limit::Writes).audit("webhook_endpoint.replay").problems(&[StateConflict])
            .under(tags::EVENTS),

        get("/admin/events", events::list_all, "adminListEvents", "List events of all customers")
            .about("Lists what happened to all customers in the last 30 days, oldest first. There is always a \
                    `next_cursor`, to poll for what comes next. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_EVENTS),
        get("/admin/events/stream", events::team_stream, "adminStreamEvents", "Start event stream of all customers")
            .about("Sends the events of all customers as they happen, like `GET /events/stream`. Open to the team \
                    (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).problems(&[RateLimited, TokenExpired]).under(tags::ADMIN_EVENTS),
        get("/admin/events/{id}", events::admin_show, "adminGetEvent", "Get event of any customer")
            .about("Returns one event with the customer it belongs to. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_EVENTS),
        get("/admin/webhook-endpoints", webhook_endpoints::team_list,
            "listTeamWebhookEndpoints", "List webhook endpoints of the team")
            .about("Lists the URLs that events of all customers are sent to, newest first. Open to the team (admin or \
                    support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_EVENTS),
        post("/admin/webhook-endpoints", webhook_endpoints::team_create,
             "createTeamWebhookEndpoint", "Create webhook endpoint of the team")
            .about("Creates a URL that events of all customers are posted to, signed as Standard Webhooks with the \
                    `secret` that is returned once. It must use https and have a public address; there can be 10. \
                    Admins only.")
            .who(Admin).limit(Limit::Writes).audit("webhook_endpoint.create").idempotent()
            .problems(&[StateConflict]).under(tags::ADMIN_EVENTS),
        get("/admin/webhook-endpoints/{id}", webhook_endpoints::team_show,
            "getTeamWebhookEndpoint", "Get webhook endpoint of the team")
            .about("Returns a webhook endpoint, without its secret. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_EVENTS),
        patch("/admin/webhook-endpoints/{id}", webhook_endpoints::team_update,
              "updateTeamWebhookEndpoint", "Update webhook endpoint of the team")
            .about("Changes URL, description or types of events, or disables or enables a webhook endpoint. Enabling \
                    it also sends what was pending. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("webhook_endpoint.update").under(tags::ADMIN_EVENTS),
        delete("/admin/webhook-endpoints/{id}", webhook_endpoints::team_delete,
               "deleteTeamWebhookEndpoint", "Delete webhook endpoint of the team")
            .about("Deletes a webhook endpoint; what was pending is not sent any more. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("webhook_endpoint.delete").under(tags::ADMIN_EVENTS),
        post("/admin/webhook-endpoints/{id}/rotate-secret", webhook_endpoints::team_rotate_secret,
             "rotateTeamWebhookSecret", "Rotate webhook secret of the team")
            .about("Replaces the secret of a webhook endpoint and returns the new one once. For 24 hours deliveries \
                    carry the signatures of both. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("webhook_endpoint.rotate_secret").idempotent()
            .under(tags::ADMIN_EVENTS),
        post("/admin/webhook-endpoints/{id}/test", webhook_endpoints::team_test,
             "testTeamWebhookEndpoint", "Test webhook endpoint of the team")
            .about("Sends an event `webhook.test` to a webhook endpoint and returns its delivery, which is attempted \
                    in the background. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("webhook_endpoint.test").problems(&[StateConflict])
            .under(tags::ADMIN_EVENTS),
        get("/admin/webhook-endpoints/{id}/deliveries", webhook_endpoints::team_list_deliveries,
            "listTeamWebhookDeliveries", "List webhook deliveries of the team")
            .about("Lists the deliveries of a webhook endpoint of the last 30 days with their attempts, newest first. \
                    Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_EVENTS),
        get("/admin/webhook-endpoints/{id}/deliveries/{delivery_id}", webhook_endpoints::team_show_delivery,
            "getTeamWebhookDelivery", "Get webhook delivery of the team")
            .about("Returns a delivery of a webhook endpoint with its attempts. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_EVENTS),
        post("/admin/webhook-endpoints/{id}/deliveries/{delivery_id}/retry", webhook_endpoints::team_retry,
             "retryTeamWebhookDelivery", "Retry webhook delivery of the team")
            .about("Attempts a delivery again at once, whatever its status, with the same `webhook-id`. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("webhook_endpoint.retry").problems(&[StateConflict])
            .under(tags::ADMIN_EVENTS),
        post("/admin/webhook-endpoints/{id}/replay", webhook_endpoints::team_replay,
             "replayTeamWebhookEvents", "Replay events to webhook endpoint of the team")
            .about("Sends the events of a period again, each with its `webhook-id`, also those that a webhook endpoint \
                    missed while it was disabled; `only_failed` sends only those whose delivery failed. A period can \
                    have 10,000 events. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("webhook_endpoint.replay").problems(&[StateConflict])
            .under(tags::ADMIN_EVENTS),
    ]
}
