//! Every endpoint of this crate: who may call it, what it counts against, what the audit log calls it.

use api::auth::Who::{Admin, Customer, Team};
use api::endpoint::{Endpoint, delete, get, patch, post, put};
use api::problem::Code::{
    AccountNotActive, BalanceInsufficient, InventoryExhausted, NotFound, ResourceInUse, StateConflict,
    UpstreamUnavailable,
};
use api::scopes::Scope::{AdminRead, NumbersRead, NumbersWrite, TrunksRead, TrunksWrite};
use api::tags;
use platform::limits::Limit;
use values::AccountRole::{Technical, Viewer};

use crate::{inventory, orders, rented, trunks};

#[rustfmt::skip]
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/trunks", trunks::list, "listTrunks", "List trunks")
            .about("Lists the account's SIP trunks, newest first. Open to customers.")
            .who(Customer).account_role(Viewer).scope(TrunksRead).limit(Limit::Reads).under(tags::TRUNKS),
        post("/trunks", trunks::create, "createTrunk", "Create trunk")
            .about("Creates a SIP trunk in a zone; the account's first trunk becomes its default. Add the source \
                    networks of its calls to the IP allow-list next. Open to customers with an approved account.")
            .who(Customer).account_role(Technical).scope(TrunksWrite).limit(Limit::Writes).audit("trunk.create").recent_sign_in_for("inbound_uri").idempotent()
            .problems(&[NotFound, AccountNotActive, StateConflict]).under(tags::TRUNKS),
        get("/trunks/{id}", trunks::show, "getTrunk", "Get trunk")
            .about("Returns a trunk with the SIP address of its zone in `sip_endpoint_hint`. Open to customers.")
            .who(Customer).account_role(Viewer).scope(TrunksRead).limit(Limit::Reads).under(tags::TRUNKS),
        patch("/trunks/{id}", trunks::update, "updateTrunk", "Update trunk")
            .about("Changes a trunk's name, zone, limits or inbound URI, or makes it the default; fields left out keep \
                    their value. Open to customers with an approved account.")
            .who(Customer).account_role(Technical).scope(TrunksWrite).limit(Limit::Writes).audit("trunk.update").recent_sign_in_for("inbound_uri").idempotent()
            .problems(&[AccountNotActive, StateConflict]).under(tags::TRUNKS),
        delete("/trunks/{id}", trunks::delete, "deleteTrunk", "Delete trunk")
            .about("Deletes a trunk and its IP allow-list, unless it is the default among several or has numbers, \
                    number orders or live calls. Open to customers with an approved account.")
            .who(Customer).account_role(Technical).scope(TrunksWrite).limit(Limit::Writes).audit("trunk.remove").idempotent()
            .problems(&[AccountNotActive, ResourceInUse]).under(tags::TRUNKS),
        get("/trunks/{id}/ip-allow-list", trunks::list_entries, "listIpAllowListEntries", "List allow-list entries")
            .about("Lists the networks from which the trunk accepts calls, newest first. Open to customers.")
            .who(Customer).account_role(Viewer).scope(TrunksRead).limit(Limit::Reads).under(tags::TRUNKS),
        post("/trunks/{id}/ip-allow-list", trunks::create_entry, "createIpAllowListEntry", "Create allow-list entry")
            .about("Lists a network that the trunk's calls come from, which counts once it is verified: send SIP \
                    OPTIONS or a call from it to the user `verify` with the credentials in `proof`, or, if it is wider \
                    than an IPv4 address or an IPv6 /64, ask the operator's team. A network that overlaps another \
                    entry of the account is a 409. Open to customers with an approved account.")
            .who(Customer).account_role(Technical).scope(TrunksWrite).limit(Limit::Writes).audit("ip_allow_list.add").recent_sign_in().idempotent()
            .problems(&[AccountNotActive, StateConflict]).under(tags::TRUNKS),
        delete("/trunks/{id}/ip-allow-list/{entry_id}", trunks::delete_entry,
               "deleteIpAllowListEntry", "Delete allow-list entry")
            .about("Removes a network from the trunk's IP allow-list; within two seconds every node denies its calls. \
                    Open to customers with an approved account.")
            .who(Customer).account_role(Technical).scope(TrunksWrite).limit(Limit::Writes).audit("ip_allow_list.remove").recent_sign_in().idempotent()
            .problems(&[AccountNotActive])
            .under(tags::TRUNKS),

        get("/numbers", rented::list, "listNumbers", "List numbers")
            .about("Lists the DIDs that the account rents, newest first, or by number with `q`, where a page can be short \
                    and still have a `next_cursor`. Open to customers.")
            .who(Customer).account_role(Viewer).scope(NumbersRead).limit(Limit::Reads).under(tags::NUMBERS),
        get("/numbers/{id}", rented::show, "getNumber", "Get number")
            .about("Returns a rented DID with its trunk, monthly price and next renewal. Open to customers.")
            .who(Customer).account_role(Viewer).scope(NumbersRead).limit(Limit::Reads).under(tags::NUMBERS),
        patch("/numbers/{id}", rented::update, "updateNumber", "Update number")
            .about("Routes a DID's inbound calls to another trunk of the account. Open to customers with an approved \
                    account.")
            .who(Customer).account_role(Technical).scope(NumbersWrite).limit(Limit::Writes).audit("number.update").idempotent().problems(&[AccountNotActive])
            .under(tags::NUMBERS),
        delete("/numbers/{id}", rented::delete, "releaseNumber", "Release number")
            .about("Ends the rental of a DID at once; the rest of the paid month is not refunded. Open to customers.")
            .who(Customer).account_role(Technical).scope(NumbersWrite).limit(Limit::Writes).audit("number.release").idempotent().problems(&[AccountNotActive])
            .under(tags::NUMBERS),
        get("/trunks/{id}/dids", rented::list_of_trunk, "listTrunkNumbers", "List numbers of a trunk")
            .about("Lists the DIDs whose inbound calls go to the trunk, newest first. Open to customers.")
            .who(Customer).account_role(Viewer).scope(NumbersRead).limit(Limit::Reads).under(tags::NUMBERS),
        get("/numbers/inventory", inventory::list, "listInventoryGroups", "List inventory groups")
            .about("Lists the inventory groups with free numbers, newest first; the numbers of a group share country, \
                    type, area, capabilities, price and document rules. Open to customers.")
            .who(Customer).account_role(Viewer).scope(NumbersRead).limit(Limit::Reads).under(tags::NUMBERS),
        get("/numbers/inventory/countries", inventory::countries, "listInventoryCountries", "List countries with numbers")
            .about("Lists the countries with free numbers, each with its lowest monthly rental. Open to customers.")
            .who(Customer).account_role(Viewer).scope(NumbersRead).limit(Limit::Reads).under(tags::NUMBERS),
        get("/numbers/inventory/{id}", inventory::show, "getInventoryGroup", "Get inventory group")
            .about("Returns an inventory group, whether or not it has a free number now. Open to customers.")
            .who(Customer).account_role(Viewer).scope(NumbersRead).limit(Limit::Reads).under(tags::NUMBERS),
        get("/numbers/orders", orders::list, "listNumberOrders", "List number orders")
            .about("Lists the account's number orders, newest first. Open to customers.")
            .who(Customer).account_role(Viewer).scope(NumbersRead).limit(Limit::Reads).under(tags::NUMBERS),
        post("/numbers/orders", orders::create, "createNumberOrder", "Create number order")
            .about("Orders a number of an inventory group for a trunk and charges setup and first month. \
                    `pending_documents` asks for the documents of `compliance_intake_id`; after a 503 repeat with the \
                    same `Idempotency-Key`. Open to customers with an approved account.")
            .who(Customer).account_role(Technical).scope(NumbersWrite).limit(Limit::Writes).audit("number_order.create").idempotent()
            .problems(&[NotFound, AccountNotActive, BalanceInsufficient, InventoryExhausted, StateConflict,
                        UpstreamUnavailable]).under(tags::NUMBERS),
        get("/numbers/orders/{id}", orders::show, "getNumberOrder", "Get number order")
            .about("Returns a number order with the history of its status. Open to customers.")
            .who(Customer).account_role(Viewer).scope(NumbersRead).limit(Limit::Reads).under(tags::NUMBERS),
        post("/numbers/orders/{id}/cancel", orders::cancel, "cancelNumberOrder", "Cancel number order")
            .about("Cancels a number order in `pending_documents`, refunds it in full and closes its compliance \
                    intake. Open to customers.")
            .who(Customer).account_role(Technical).scope(NumbersWrite).limit(Limit::Writes).audit("number_order.cancel").idempotent()
            .problems(&[AccountNotActive, StateConflict]).under(tags::NUMBERS),
        post("/numbers/order", orders::create_in_area, "createNumberOrderByArea", "Create number order by area")
            .about("Orders any free number of a country, type and area code for the default trunk, the cheapest first, \
                    and charges setup and first month. Continue as after `POST /numbers/orders`. Open to customers \
                    with an approved account.")
            .who(Customer).account_role(Technical).scope(NumbersWrite).limit(Limit::Writes).audit("number_order.create").idempotent()
            .problems(&[NotFound, AccountNotActive, BalanceInsufficient, InventoryExhausted, StateConflict,
                        UpstreamUnavailable]).under(tags::NUMBERS),

        get("/admin/customers/{id}/trunks", trunks::list_of_customer, "listTrunksOfCustomer", "List trunks of a customer")
            .about("Lists a customer's SIP trunks as the customer sees them, newest first. Open to the team (admin or \
                    support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::CUSTOMERS),
        get("/admin/customers/{id}/numbers", rented::list_of_customer,
            "listNumbersOfCustomer", "List numbers of a customer")
            .about("Lists the DIDs that a customer rents, newest first, or by number with `q`. Open to the team (admin or \
                    support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::CUSTOMERS),
        get("/admin/customers/{id}/orders", orders::list_of_customer,
            "listNumberOrdersOfCustomer", "List number orders of a customer")
            .about("Lists a customer's number orders, newest first. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::CUSTOMERS),
        get("/admin/trunks", trunks::list_all, "listCustomerTrunks", "List trunks of customers")
            .about("Lists the trunks of all customers, or of one, newest first. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::CUSTOMERS),
        get("/admin/trunks/{id}", trunks::show_any, "getCustomerTrunk", "Get trunk of a customer")
            .about("Returns a customer's trunk with the inbound host that the team allowed, and its allow-list. Open to \
                    the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::CUSTOMERS),
        put("/admin/trunks/{id}/inbound-host", trunks::set_inbound_host,
            "setTrunkInboundHost", "Set allowed inbound host of a trunk")
            .about("Lets inbound calls of a trunk go to a host outside its allow-list, or withdraws that with null. It \
                    counts while the trunk's `inbound_uri` names this host. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("trunk.allow_inbound_host").recent_sign_in().idempotent().under(tags::CUSTOMERS),
        post("/admin/trunks/{id}/ip-allow-list/{entry_id}/verify", trunks::vouch,
             "verifyIpAllowListEntry", "Verify allow-list entry")
            .about("Vouches for a network that the customer cannot prove: it counts as if it had. A network that \
                    overlaps a verified entry of another customer, an edge or an upstream is a 409. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("ip_allow_list.vouch").recent_sign_in().idempotent()
            .problems(&[ResourceInUse])
            .under(tags::CUSTOMERS),
        delete("/admin/trunks/{id}/ip-allow-list/{entry_id}", trunks::delete_any_entry,
               "deleteCustomerIpAllowListEntry", "Delete allow-list entry of a customer")
            .about("Removes a network from the IP allow-list of a customer's trunk, verified or not; within two seconds \
                    every node denies its calls. The customer is informed by notification and mail. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("ip_allow_list.remove_by_team").recent_sign_in().idempotent()
            .under(tags::CUSTOMERS),

        get("/admin/did-inventory", inventory::list_all, "listDidInventory", "List DID inventory")
            .about("Lists all DIDs of the inventory in the order of their numbers. Open to the team (admin or \
                    support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::DID_INVENTORY),
        post("/admin/did-inventory/import", inventory::import, "importDidInventory", "Import DID inventory")
            .about("Queues the import of DIDs of an upstream from the CSV body. Poll `GET \
                    /admin/did-inventory/imports/{import_id}`; a file with any error changes nothing, and rented DIDs \
                    stay as they are. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("did_inventory.import").idempotent().problems(&[StateConflict])
            .under(tags::DID_INVENTORY),
        get("/admin/did-inventory/imports/{import_id}", inventory::show_import,
            "getDidInventoryImport", "Get DID inventory import")
            .about("Returns the progress and result of a DID inventory import with its first 1000 errors. Open to the \
                    team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::DID_INVENTORY),
        get("/admin/did-inventory/{id}", inventory::show_did, "getInventoryDid", "Get DID in inventory")
            .about("Returns a DID of the inventory, whether free, taken or withdrawn. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::DID_INVENTORY),
        patch("/admin/did-inventory/{id}", inventory::update, "updateInventoryDid", "Update DID in inventory")
            .about("Withdraws a DID from sale or offers it again, or overrides whether it needs documents. A customer \
                    who rents it is not affected. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("did_inventory.update").idempotent().under(tags::DID_INVENTORY),
    ]
}
