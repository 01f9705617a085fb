//! Trunks, their allow-lists, and fraud caps.

use super::tags;
use api::auth::Who::Customer;
use api::endpoint::{Endpoint, delete, get, patch, post, put};
use api::problem::Code::{AccountNotActive, NotFound, ResourceInUse, StateConflict};
use numbers::trunks;
use platform::limits::Limit;
use voice::fraud_caps;

#[rustfmt::skip]
pub fn rows() -> Vec<Endpoint> {
    vec![
        get("/trunks", trunks::list, "listTrunks", "List trunks")
            .about("Lists the account's SIP trunks, newest first. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::TRUNKS),
        post("/trunks", trunks::create, "createTrunk", "Create trunk")
            .about("Creates a SIP trunk in a zone; the account's first trunk becomes its default. Add the source \
                    networks of its calls to the IP allow-list next. Open to customers with an approved account.")
            .who(Customer).limit(Limit::Writes).audit("trunk.create").idempotent()
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::TRUNKS),
        get("/trunks/{id}", trunks::show, "getTrunk", "Get trunk")
            .about("Returns a trunk with the SIP address of its zone in `sip_endpoint_hint`. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::TRUNKS),
        patch("/trunks/{id}", trunks::change, "updateTrunk", "Update trunk")
            .about("Changes a trunk's name, zone, limits or inbound URI, or makes it the default; fields left out keep \
                    their value. Open to customers with an approved account.")
            .who(Customer).limit(Limit::Writes).audit("trunk.update").idempotent()
            .problems(&[AccountNotActive, StateConflict]).under(tags::TRUNKS),
        delete("/trunks/{id}", trunks::remove, "deleteTrunk", "Delete trunk")
            .about("Deletes a trunk and its IP allow-list, unless it is the default among several or has numbers, \
                    number orders or live calls. Open to customers with an approved account.")
            .who(Customer).limit(Limit::Writes).audit("trunk.remove").idempotent()
            .problems(&[AccountNotActive, ResourceInUse]).under(tags::TRUNKS),
        get("/trunks/{id}/ip-allow-list", trunks::list_allowed, "listIpAllowListEntries", "List allow-list entries")
            .about("Lists the networks from which the trunk accepts calls, newest first. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::TRUNKS),
        post("/trunks/{id}/ip-allow-list", trunks::allow, "createIpAllowListEntry", "Create allow-list entry")
            .about("Lets the trunk accept calls from a network, in force on every node within two seconds. A network \
                    that overlaps another entry of the account or of another customer is a 409. Open to customers with \
                    an approved account.")
            .who(Customer).limit(Limit::Writes).audit("ip_allow_list.add").idempotent()
            .problems(&[AccountNotActive, StateConflict, ResourceInUse]).under(tags::TRUNKS),
        delete("/trunks/{id}/ip-allow-list/{entry_id}", trunks::disallow,
               "deleteIpAllowListEntry", "Delete allow-list entry")
            .about("Removes a network from the trunk's IP allow-list; within two seconds every node denies its calls. \
                    Open to customers with an approved account.")
            .who(Customer).limit(Limit::Writes).audit("ip_allow_list.remove").idempotent().problems(&[AccountNotActive])
            .under(tags::TRUNKS),
        get("/fraud-caps", fraud_caps::show, "getFraudCaps", "Get fraud caps")
            .about("Returns the maximum spend per UTC day and the maximum rate per minute of the account's calls. Open \
                    to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::TRUNKS),
        put("/fraud-caps", fraud_caps::update, "setFraudCaps", "Set fraud caps")
            .about("Sets the maximum spend per UTC day and the maximum rate per minute; calls beyond them are denied. \
                    A raise is confirmed to the account's contact by mail. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("fraud_caps.update").problems(&[NotFound, AccountNotActive])
            .under(tags::TRUNKS),
    ]
}
