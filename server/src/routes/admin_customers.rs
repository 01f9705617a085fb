//! Customers as the team sees them, and their account managers.

use super::tags;
use api::auth::Who::{Admin, Team};
use api::endpoint::{Endpoint, get, patch, post};
use api::problem::Code::{ResourceInUse, StateConflict};
use backoffice::{account_managers, customers, notes, staff};
use billing::vat;
use identity::sessions;
use platform::limits::Limit;

#[rustfmt::skip]
pub fn rows() -> Vec<Endpoint> {
    vec![
        get("/admin/customers", customers::list, "listCustomers", "List customers")
            .about("Lists customers, newest first, or those that `q` finds by id, email, number, IP address or name. \
                    Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::CUSTOMERS),
        get("/admin/customers/{id}", customers::show, "getCustomer", "Get customer")
            .about("Returns a customer with its status, balance, spend of the last 30 days and VAT decisions. Open to \
                    the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::CUSTOMERS),
        patch("/admin/customers/{id}", customers::update, "updateCustomer", "Update customer")
            .about("Suspends or reinstates a customer, assigns its account manager, or decides its VAT. The customer \
                    is told of a suspension and a reinstatement by notification and mail; calls of a suspended account \
                    are denied. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("customer.update").problems(&[StateConflict]).under(tags::CUSTOMERS),
        post("/admin/customers/{id}/impersonate", sessions::impersonate, "impersonateCustomer", "Impersonate customer")
            .about("Returns a read-only access token for the customer's first user, valid for 15 minutes. Every \
                    request made with it is written to the audit log. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("customer.impersonate").problems(&[StateConflict])
            .under(tags::CUSTOMERS),
        get("/admin/customers/{id}/notes", notes::list, "listCustomerNotes", "List notes about a customer")
            .about("Lists the team's notes about a customer, newest first; customers never see them. Open to the team \
                    (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::CUSTOMERS),
        post("/admin/customers/{id}/notes", notes::create, "createCustomerNote", "Create note about a customer")
            .about("Adds a note about a customer; notes cannot be changed or deleted. Open to the team (admin or \
                    support).")
            .who(Team).limit(Limit::Writes).audit("note.create").under(tags::CUSTOMERS),
        get("/admin/customers/{id}/users", staff::list_of_customer, "listCustomerUsers", "List users of a customer")
            .about("Lists the users who sign in for a customer, newest first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::CUSTOMERS),
        get("/admin/customers/{id}/vat/proof-documents", vat::list_evidence,
            "listCustomerVatEvidence", "List VAT evidence of a customer")
            .about("Lists a customer's VAT evidence with download links valid for 5 minutes; the audit log records who \
                    asked. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).audited_read("vat.documents_shown").under(tags::CUSTOMERS),
        get("/admin/onboarding", customers::list_unapproved,
            "listCustomersInOnboarding", "List customers in onboarding")
            .about("Lists the customers whose KYB is not approved yet, newest first, including suspended ones. Open to \
                    the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::CUSTOMERS),
        get("/admin/account-managers", account_managers::list, "listAccountManagers", "List account managers")
            .about("Lists the account managers that customers can be assigned to, newest first. Open to the team \
                    (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::CUSTOMERS),
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
    ]
}
