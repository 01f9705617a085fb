//! What the team does for everybody: support, notices, its own members, the audit log.

use super::tags;
use api::auth::Who::{Admin, Team};
use api::endpoint::{Endpoint, delete, get, patch, post};
use api::problem::Code::{ResourceInUse, StateConflict};
use backoffice::{audit_log, notices, staff, tickets};
use platform::limits::Limit;

#[rustfmt::skip]
pub fn support() -> Vec<Endpoint> {
    vec![
        get("/admin/tickets", tickets::list_all, "adminListTickets", "List tickets of all customers")
            .about("Lists the support tickets of all customers without their messages, newest first. Open to the team \
                    (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::ADMIN_SUPPORT),
        get("/admin/tickets/{id}", tickets::admin_show, "adminGetTicket", "Get ticket of any customer")
            .about("Returns a support ticket of any customer with its messages. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::ADMIN_SUPPORT),
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
        get("/admin/notices", notices::list_all, "adminListNotices", "List all notices")
            .about("Lists all notices, whether past, in force or planned, by start time, newest first. Open to the \
                    team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::ADMIN_SUPPORT),
        post("/admin/notices", notices::create, "adminCreateNotice", "Create notice")
            .about("Announces something to all users from `starts_at` until `ends_at`, or until it is deleted. Admins \
                    only.")
            .who(Admin).limit(Limit::Writes).audit("notice.create").under(tags::ADMIN_SUPPORT),
        patch("/admin/notices/{id}", notices::update, "adminUpdateNotice", "Update notice")
            .about("Changes a notice's severity, text or times; fields left out keep their value. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("notice.update").under(tags::ADMIN_SUPPORT),
        delete("/admin/notices/{id}", notices::delete, "adminDeleteNotice", "Delete notice")
            .about("Deletes a notice, so that nobody sees it any more. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("notice.remove").under(tags::ADMIN_SUPPORT),
    ]
}

#[rustfmt::skip]
pub fn members() -> Vec<Endpoint> {
    vec![
        get("/admin/users", staff::list, "listTeamMembers", "List team members")
            .about("Lists the team members with their roles, newest first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::TEAM),
        post("/admin/users", staff::create, "inviteTeamMember", "Invite team member")
            .about("Creates a team member with role `admin`, `support` or both, and mails a magic link valid for 72 \
                    hours. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("staff.create").problems(&[ResourceInUse]).under(tags::TEAM),
        patch("/admin/users/{id}", staff::update, "updateTeamMember", "Update team member")
            .about("Changes a team member's roles, or deactivates or reactivates it. Any change ends the member's \
                    sessions at once; the last active admin stays one. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("staff.update").problems(&[StateConflict]).under(tags::TEAM),
        post("/admin/users/{id}/2fa-reset", staff::reset_second_factor,
             "resetSecondFactor", "Reset a user's second factor")
            .about("Removes the lost second factor of another team member or of a customer's user. Ends the user's \
                    sessions and tells the user by mail. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("two_factor.reset").under(tags::TEAM),
        get("/admin/audit-log", audit_log::list, "listAuditLogEntries", "List audit log entries")
            .about("Lists who did what and with which outcome, newest first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::TEAM),
    ]
}
