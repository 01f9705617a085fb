//! Every row that customers may call says which of an account's users may.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;
use server::routes;
use values::AccountRole;

use super::document::description;
use super::name;

/// Changes that every user may make: what is its own, and what all users of an account share. A simulation changes
/// nothing.
const OPEN_TO_ALL: [&str; 8] = [
    "/auth/",
    "/me/password",
    "/me/2fa",
    "/me/passkeys",
    "/notifications/",
    "/tickets",
    "/cdrs/{id}/dispute",
    "/calls/simulate",
];
const OWN: [&str; 3] = ["/me/sessions", "/me/email-verification", "/me/notification-preferences"];

#[test]
fn every_row_for_customers_names_the_least_role_of_their_users() {
    for endpoint in routes::table() {
        let (is_named, is_theirs) = (endpoint.account_role.is_some(), endpoint.who.admits_customers());
        assert_eq!(is_named, is_theirs, "{}: add .account_role(…) where customers may call it", name(&endpoint));
    }
}

#[test]
fn only_what_is_a_users_own_is_changed_by_viewers() {
    for endpoint in routes::table().iter().filter(|endpoint| endpoint.changes()) {
        let is_open = OPEN_TO_ALL.iter().chain(&OWN).any(|start| endpoint.path.starts_with(start));
        let is_viewers = endpoint.account_role == Some(AccountRole::Viewer);
        assert!(!is_viewers || is_open, "{} lets a viewer change something", name(endpoint));
    }
}

#[test]
fn everyone_reads_all_of_the_account_except_its_users() {
    for endpoint in routes::table().iter().filter(|endpoint| !endpoint.changes() && endpoint.who.admits_customers()) {
        let expected = match endpoint.path {
            "/account/users" => AccountRole::Owner,
            _ => AccountRole::Viewer,
        };
        assert_eq!(endpoint.account_role, Some(expected), "{}", name(endpoint));
    }
}

#[test]
fn the_description_names_the_roles_of_users() {
    let description = description();
    for endpoint in routes::table() {
        let operation = &description["paths"][endpoint.path][endpoint.method.as_str().to_lowercase()];
        let expected = match endpoint.who.admits_customers() {
            true => json!(endpoint.account_roles()),
            false => json!(null),
        };
        assert_eq!(operation["x-account-roles"], expected, "{}", name(&endpoint));
    }
}
