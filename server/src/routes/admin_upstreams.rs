//! Upstreams, their rate decks and routes, and the DID inventory.

use super::tags;
use api::auth::Who::{Admin, Team};
use api::endpoint::{Endpoint, delete, get, patch, post};
use api::problem::Code::{ResourceInUse, StateConflict};
use numbers::inventory;
use platform::limits::Limit;
use voice::{decks, rates, upstreams};

#[rustfmt::skip]
pub fn upstreams() -> Vec<Endpoint> {
    vec![
        get("/admin/upstreams", upstreams::list, "listUpstreams", "List upstreams")
            .about("Lists the upstreams, newest first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::UPSTREAMS),
        post("/admin/upstreams", upstreams::create, "createUpstream", "Create upstream")
            .about("Adds an upstream with its dispatcher group, currency and markup. Import its rate deck next. Admins \
                    only.")
            .who(Admin).limit(Limit::Writes).audit("upstream.create").idempotent().problems(&[ResourceInUse])
            .under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}", upstreams::show, "getUpstream", "Get upstream")
            .about("Returns an upstream with its terms, health and import settings. Open to the team (admin or \
                    support).")
            .who(Team).limit(Limit::Reads).under(tags::UPSTREAMS),
        patch("/admin/upstreams/{id}", upstreams::update, "updateUpstream", "Update upstream")
            .about("Changes an upstream's status, markup, import settings, gateways or signaling IPs; status and \
                    markup change the sell rates at once. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("upstream.update").idempotent().under(tags::UPSTREAMS),
        delete("/admin/upstreams/{id}", upstreams::delete, "deleteUpstream", "Delete upstream")
            .about("Deletes an upstream of which no rates or numbers were ever imported; disable any other instead. \
                    Admins only.")
            .who(Admin).limit(Limit::Writes).audit("upstream.remove").idempotent().problems(&[ResourceInUse])
            .under(tags::UPSTREAMS),
        post("/admin/upstreams/{id}/rates/import", decks::import, "importRateDeck", "Import rate deck")
            .about("Queues the import of a rate deck from the CSV body or, without a body, from `rate_import_url`. \
                    Poll `GET /admin/upstreams/{id}/imports/{import_id}`; a deck with any error changes nothing. \
                    Admins only.")
            .who(Admin).limit(Limit::Writes).audit("deck.import").idempotent().problems(&[StateConflict])
            .under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}/imports", decks::list, "listRateDeckImports", "List rate deck imports")
            .about("Lists the rate deck imports of an upstream without their errors, newest first. Open to the team \
                    (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}/imports/{import_id}", decks::show, "getRateDeckImport", "Get rate deck import")
            .about("Returns the progress and result of a rate deck import with its first 1000 errors. Open to the team \
                    (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::UPSTREAMS),
    ]
}

#[rustfmt::skip]
pub fn inventory() -> Vec<Endpoint> {
    vec![
        get("/admin/did-inventory", inventory::list_all, "listDidInventory", "List DID inventory")
            .about("Lists all DIDs of the inventory in the order of their numbers. Open to the team (admin or \
                    support).")
            .who(Team).limit(Limit::Reads).under(tags::DID_INVENTORY),
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
            .who(Team).limit(Limit::Reads).under(tags::DID_INVENTORY),
        patch("/admin/did-inventory/{id}", inventory::update, "updateInventoryDid", "Update DID in inventory")
            .about("Withdraws a DID from sale or offers it again, or overrides whether it needs documents. A customer \
                    who rents it is not affected. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("did_inventory.update").idempotent().under(tags::DID_INVENTORY),
    ]
}

#[rustfmt::skip]
pub fn rates() -> Vec<Endpoint> {
    vec![
        get("/admin/rates", rates::list_all, "listUpstreamRates", "List upstream rates")
            .about("Lists what upstreams charge, by prefix. With `q` a page can be short or empty and still have a \
                    `next_cursor`. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::UPSTREAMS),
        get("/admin/routes", rates::routes, "lookUpRoutes", "Look up routes to a number")
            .about("Returns the sell rate for a number and every upstream with its cost, margin and the reason why it \
                    is used or not, the cheapest first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::UPSTREAMS),
    ]
}
