//! Who acts for an account: its users and its API keys, and the keys of the team.

use api::auth::Who::{Admin, Customer, Team};
use api::endpoint::{Endpoint, delete, get, patch, post};
use api::problem::Code::{NotFound, StateConflict};
use api::tags;
use platform::limits::Limit;
use values::AccountRole::{Owner, Technical, Viewer};

use crate::{account_users, api_keys};

#[rustfmt::skip]
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/account/users", account_users::list, "listAccountUsers", "List users of the account")
            .about("Lists the users of the account with their roles, newest first. Open to owners.")
            .who(Customer).account_role(Owner).limit(Limit::Reads).under(tags::ACCOUNT),
        post("/account/users", account_users::invite, "inviteAccountUser", "Invite user to the account")
            .about("Adds a user to the account and mails it a magic link, valid for 72 hours; it then chooses a password \
                    with `POST /me/password`. An address that has a user already gets the same response and another mail. \
                    Open to owners.")
            .who(Customer).account_role(Owner).limit(Limit::Writes).audit("account_user.create").recent_sign_in()
            .idempotent().problems(&[NotFound, StateConflict]).under(tags::ACCOUNT),
        patch("/account/users/{id}", account_users::update, "updateAccountUser", "Update user of the account")
            .about("Changes a user's name or role, or deactivates or reactivates it; a new role counts from the next \
                    request. The last owner stays an active one, and whom the operator deactivated stays so. Open to owners.")
            .who(Customer).account_role(Owner).limit(Limit::Writes).audit("account_user.update").recent_sign_in()
            .problems(&[StateConflict]).under(tags::ACCOUNT),
        delete("/account/users/{id}", account_users::delete, "deleteAccountUser", "Delete user of the account")
            .about("Removes a user from the account and ends its sessions; its address can be invited again. Neither the \
                    last owner nor a user whom the operator deactivated can be removed. Open to owners.")
            .who(Customer).account_role(Owner).limit(Limit::Writes).audit("account_user.remove").recent_sign_in()
            .problems(&[StateConflict]).under(tags::ACCOUNT),

        get("/account/api-keys", api_keys::list, "listApiKeys", "List API keys of the account")
            .about("Lists the API keys of the account without their secrets, newest first. Open to customers.")
            .who(Customer).account_role(Viewer).limit(Limit::Reads).under(tags::ACCOUNT),
        post("/account/api-keys", api_keys::create, "createApiKey", "Create API key of the account")
            .about("Creates a key with which a program calls what its scopes open, and returns its secret, shown only \
                    once. A key outlives its creator and ignores second factors. Open to owners and technical users.")
            .who(Customer).account_role(Technical).limit(Limit::Writes).audit("api_key.create").recent_sign_in().idempotent()
            .problems(&[StateConflict]).under(tags::ACCOUNT),
        patch("/account/api-keys/{id}", api_keys::update, "updateApiKey", "Update API key of the account")
            .about("Changes a key's name, networks or expiry; its scopes and its secret stay. Open to owners and technical users.")
            .who(Customer).account_role(Technical).limit(Limit::Writes).audit("api_key.update").recent_sign_in().under(tags::ACCOUNT),
        delete("/account/api-keys/{id}", api_keys::delete, "deleteApiKey", "Delete API key of the account")
            .about("Revokes a key; every node refuses it within a second. Open to owners and technical users.")
            .who(Customer).account_role(Technical).limit(Limit::Writes).audit("api_key.remove").recent_sign_in().under(tags::ACCOUNT),

        get("/admin/customers/{id}/api-keys", api_keys::list_of_customer,
            "listApiKeysOfCustomer", "List API keys of a customer")
            .about("Lists the API keys of a customer, without their secrets, newest first. Open to the team (admin or \
                    support).")
            .who(Team).limit(Limit::Reads).under(tags::CUSTOMERS),
        get("/admin/api-keys", api_keys::admin_list, "listTeamApiKeys", "List API keys of the team")
            .about("Lists the API keys of the team without their secrets, newest first. Admins only.")
            .who(Admin).limit(Limit::Reads).under(tags::ADMIN_ACCESS),
        post("/admin/api-keys", api_keys::admin_create, "createTeamApiKey", "Create API key of the team")
            .about("Creates a key with which a program calls what its scopes open, and returns its secret, shown only \
                    once. A key outlives its creator and ignores second factors. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("api_key.create").recent_sign_in().idempotent()
            .problems(&[StateConflict]).under(tags::ADMIN_ACCESS),
        patch("/admin/api-keys/{id}", api_keys::admin_update, "updateTeamApiKey", "Update API key of the team")
            .about("Changes a key's name, networks or expiry; its scopes and its secret stay. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("api_key.update").recent_sign_in().under(tags::ADMIN_ACCESS),
        delete("/admin/api-keys/{id}", api_keys::admin_delete, "deleteTeamApiKey", "Delete API key of the team")
            .about("Revokes a key; every node refuses it within a second. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("api_key.remove").recent_sign_in().under(tags::ADMIN_ACCESS),
    ]
}
