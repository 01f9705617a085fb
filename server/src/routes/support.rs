//! Support as customers see it: tickets and notices.

use super::tags;
use api::auth::Who::{Customer, SignedIn};
use api::endpoint::{Endpoint, get, post};
use api::problem::Code::StateConflict;
use backoffice::{notices, tickets};
use platform::limits::Limit;

#[rustfmt::skip]
pub fn rows() -> Vec<Endpoint> {
    vec![
        get("/tickets", tickets::list, "listTickets", "List tickets")
            .about("Lists the account's support tickets without their messages, newest first. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::SUPPORT),
        post("/tickets", tickets::create, "createTicket", "Create ticket")
            .about("Opens a support ticket with a first message; it may refer to a `request_id` and to CDRs of the \
                    account. The team's reply arrives as a `ticket.reply` notification and by mail. Open to customers, \
                    also while suspended.")
            .who(Customer).limit(Limit::Writes).audit("ticket.create").problems(&[StateConflict]).under(tags::SUPPORT),
        get("/tickets/{id}", tickets::show, "getTicket", "Get ticket")
            .about("Returns a support ticket with its messages. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::SUPPORT),
        post("/tickets/{id}/messages", tickets::reply, "replyToTicket", "Reply to a ticket")
            .about("Adds a message to a ticket, which then waits for the team (`pending_team`), also after it was \
                    resolved. A closed ticket accepts no messages. Open to customers, also while suspended.")
            .who(Customer).limit(Limit::Writes).audit("ticket.write").problems(&[StateConflict]).under(tags::SUPPORT),
        post("/tickets/{id}/close", tickets::close, "closeTicket", "Close ticket")
            .about("Closes a ticket for good; open a new one to continue. Open to customers, also while suspended.")
            .who(Customer).limit(Limit::Writes).audit("ticket.close").problems(&[StateConflict]).under(tags::SUPPORT),
        get("/notices", notices::list, "listNotices", "List current notices")
            .about("Lists the operator's announcements that are in force now, by start time, newest first. Open to any \
                    signed-in user.")
            .who(SignedIn).limit(Limit::Reads).under(tags::SUPPORT),
    ]
}
