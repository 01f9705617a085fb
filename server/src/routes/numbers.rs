//! Rented numbers, the inventory that customers order from, and number orders.

use super::tags;
use api::auth::Who::Customer;
use api::endpoint::{Endpoint, delete, get, patch, post};
use api::problem::Code::{
    AccountNotActive, BalanceInsufficient, InventoryExhausted, NotFound, StateConflict, UpstreamUnavailable,
};
use numbers::{inventory, orders, rented};
use platform::limits::Limit;

#[rustfmt::skip]
pub fn rows() -> Vec<Endpoint> {
    vec![
        get("/numbers", rented::list, "listNumbers", "List numbers")
            .about("Lists the DIDs that the account rents, newest first. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::NUMBERS),
        get("/numbers/{id}", rented::show, "getNumber", "Get number")
            .about("Returns a rented DID with its trunk, monthly price and next renewal. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::NUMBERS),
        patch("/numbers/{id}", rented::update, "updateNumber", "Update number")
            .about("Routes a DID's inbound calls to another trunk of the account. Open to customers with an approved \
                    account.")
            .who(Customer).limit(Limit::Writes).audit("number.update").idempotent().problems(&[AccountNotActive])
            .under(tags::NUMBERS),
        delete("/numbers/{id}", rented::delete, "releaseNumber", "Release number")
            .about("Ends the rental of a DID at once; the rest of the paid month is not refunded. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("number.release").idempotent().problems(&[AccountNotActive])
            .under(tags::NUMBERS),
        get("/trunks/{id}/dids", rented::list_of_trunk, "listTrunkNumbers", "List numbers of a trunk")
            .about("Lists the DIDs whose inbound calls go to the trunk, newest first. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::NUMBERS),
        get("/numbers/inventory", inventory::list, "listInventoryGroups", "List inventory groups")
            .about("Lists the inventory groups with free numbers, newest first; the numbers of a group share country, \
                    type, area, capabilities, price and document rules. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::NUMBERS),
        get("/numbers/inventory/{id}", inventory::show, "getInventoryGroup", "Get inventory group")
            .about("Returns an inventory group, whether or not it has a free number now. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::NUMBERS),
        get("/numbers/orders", orders::list, "listNumberOrders", "List number orders")
            .about("Lists the account's number orders, newest first. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::NUMBERS),
        post("/numbers/orders", orders::create, "createNumberOrder", "Create number order")
            .about("Orders a number of an inventory group for a trunk and charges setup and first month. \
                    `pending_documents` asks for the documents of `compliance_intake_id`; after a 503 repeat with the \
                    same `Idempotency-Key`. Open to customers with an approved account.")
            .who(Customer).limit(Limit::Writes).audit("number_order.create").idempotent()
            .problems(&[NotFound, AccountNotActive, BalanceInsufficient, InventoryExhausted, StateConflict,
                        UpstreamUnavailable]).under(tags::NUMBERS),
        get("/numbers/orders/{id}", orders::show, "getNumberOrder", "Get number order")
            .about("Returns a number order with the history of its status. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::NUMBERS),
        post("/numbers/orders/{id}/cancel", orders::cancel, "cancelNumberOrder", "Cancel number order")
            .about("Cancels a number order in `pending_documents`, refunds it in full and closes its compliance \
                    intake. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("number_order.cancel").idempotent()
            .problems(&[AccountNotActive, StateConflict]).under(tags::NUMBERS),
        post("/numbers/order", orders::create_in_area, "createNumberOrderByArea", "Create number order by area")
            .about("Orders any free number of a country, type and area code for the default trunk, the cheapest first, \
                    and charges setup and first month. Continue as after `POST /numbers/orders`. Open to customers \
                    with an approved account.")
            .who(Customer).limit(Limit::Writes).audit("number_order.create").idempotent()
            .problems(&[NotFound, AccountNotActive, BalanceInsufficient, InventoryExhausted, StateConflict,
                        UpstreamUnavailable]).under(tags::NUMBERS),
    ]
}
