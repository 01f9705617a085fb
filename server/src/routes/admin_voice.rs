//! Calls as the team sees them: quotas, live calls, dashboards, CDRs.

use super::tags;
use api::auth::Who::{Admin, Team};
use api::endpoint::{Endpoint, get, post, put};
use api::problem::Code::StateConflict;
use backoffice::dashboards;
use platform::limits::Limit;
use voice::{calls, cdrs, concurrency};

#[rustfmt::skip]
pub fn live_calls() -> Vec<Endpoint> {
    vec![
        get("/admin/customers/{id}/quotas", concurrency::admin_quotas, "getCustomerZoneQuotas", "Get zone quotas of a customer")
            .about("Returns how many concurrent calls a customer may have in each zone. Open to the team (admin or \
                    support).")
            .who(Team).limit(Limit::Reads).under(tags::LIVE_CALLS),
        put("/admin/customers/{id}/quotas", concurrency::set_quotas, "setCustomerZoneQuotas", "Set zone quotas of a customer")
            .about("Sets how many concurrent calls a customer may have in each zone; zones left out return to the \
                    default quota. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("quotas.update").under(tags::LIVE_CALLS),
        get("/admin/calls", calls::list_live, "listLiveCalls", "List live calls")
            .about("Lists the live calls of all customers, newest first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::LIVE_CALLS),
        post("/admin/calls/{id}/hangup", calls::hang_up, "hangUpCall", "Hang up live call")
            .about("Marks a live call to be ended; its switch is told in the response to its next events. Poll `GET \
                    /admin/calls` until it is gone. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("call.hang_up").problems(&[StateConflict]).under(tags::LIVE_CALLS),
    ]
}

#[rustfmt::skip]
pub fn dashboards_and_cdrs() -> Vec<Endpoint> {
    vec![
        get("/admin/dashboard/operational", dashboards::operational,
            "getOperationalDashboard", "Get operational dashboard")
            .about("Returns requests, errors, latency and audit volume of the last hour, day or week. Open to the team \
                    (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::DASHBOARDS),
        get("/admin/dashboard/security", dashboards::security, "getSecurityDashboard", "Get security dashboard")
            .about("Returns the admins' second factors, failed sign-ins and rate limits of the last 24 hours, token \
                    reuse and impersonations of the last 30 days, and locked users. Open to the team (admin or \
                    support).")
            .who(Team).limit(Limit::Reads).under(tags::DASHBOARDS),

        get("/admin/cdrs", cdrs::list_all, "adminListCdrs", "List CDRs of all customers")
            .about("Lists the CDRs of all customers with cost and margin, newest first. A page looks at 10,000 CDRs at \
                    most, so with filters it can be short or empty and still have a `next_cursor`. Open to the team \
                    (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::ADMIN_CDRS),
        get("/admin/cdrs/{id}", cdrs::admin_show, "adminGetCdr", "Get CDR of any customer")
            .about("Returns a CDR with its cost and margin, and the rate deck, markup and exchange rate that its price \
                    follows from. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::ADMIN_CDRS),
    ]
}
