//! Who hears what at every row: the table in `docs/callers.md`, made from the endpoints and held against the service.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use api::auth::Who;
use api::endpoint::{Endpoint, RecentSignIn, Tag};
use serde_json::json;
use server::routes;
use values::{AccountRole, Role};

use super::examples::key;
use super::{name, unfounded};
use crate::world::authenticator::Authenticator;
use crate::world::client::Client;
use crate::world::engines::{both, uuid};
use crate::world::fixtures::api_keys::{all_scopes, make_key, make_team_key};
use crate::world::{PASSWORD, World};

/// Somebody at the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    /// Without a token.
    Nobody,
    /// With a token that is past its time.
    Late,
    /// With the token between password and second factor.
    Halfway,
    /// A customer's user with this role in the account.
    Customer(AccountRole),
    Support,
    /// Without a second factor; with one it is the same.
    Admin,
    /// An admin who reads as a customer.
    Impersonator,
    /// A program with an API key that has every scope of customers, or of the team.
    Key {
        is_team: bool,
    },
}

const CALLERS: [(Caller, &str); 12] = [
    (Caller::Nobody, "no token"),
    (Caller::Late, "late token"),
    (Caller::Halfway, "`tmp_token`"),
    (Caller::Customer(AccountRole::Owner), "owner"),
    (Caller::Customer(AccountRole::Billing), "billing"),
    (Caller::Customer(AccountRole::Technical), "technical"),
    (Caller::Customer(AccountRole::Viewer), "viewer"),
    (Caller::Support, "support"),
    (Caller::Admin, "admin"),
    (Caller::Impersonator, "impersonation"),
    (Caller::Key { is_team: false }, "key"),
    (Caller::Key { is_team: true }, "team key"),
];

/// The refusal that the caller hears before anything else, if it hears one.
fn refusal(endpoint: &Endpoint, caller: Caller) -> Option<(u16, &'static str)> {
    if endpoint.who == Who::Anyone {
        return None;
    }
    let admits = |role: Role| endpoint.who.roles().contains(&role.as_str());
    let forbidden = Some((403, "auth.forbidden"));
    match caller {
        Caller::Nobody | Caller::Halfway => Some((401, "auth.token_invalid")),
        Caller::Late => Some((401, "auth.token_expired")),
        Caller::Customer(role) => {
            forbidden.filter(|_| !admits(Role::Customer) || !endpoint.account_roles().contains(&role.as_str()))
        }
        Caller::Support => forbidden.filter(|_| !admits(Role::Support)),
        Caller::Admin => forbidden.filter(|_| !admits(Role::Admin)),
        Caller::Impersonator => forbidden.filter(|_| endpoint.changes() || !admits(Role::Customer)),
        Caller::Key { is_team } => {
            let role = if is_team { Role::Admin } else { Role::Customer };
            let has_scope = endpoint.scopes.iter().any(|scope| scope.is_team() == is_team);
            forbidden.filter(|_| !admits(role) || !has_scope)
        }
    }
}

/// Whether a customer who names what is another's hears that it is not there.
fn names_something_of_a_customer(endpoint: &Endpoint) -> bool {
    endpoint.path.contains('{') && matches!(endpoint.who, Who::SignedIn | Who::Customer)
}

fn table() -> String {
    let mut text = "# Who may call what\n\n\
        Generated from the table of endpoints, and checked against a running service by the tests. A number is the status\n\
        of the refusal; a dot means that the caller is admitted. An asterisk: what belongs to another customer is 404.\n\
        Owner, billing, technical and viewer are the roles of a customer's users in their account. A key is an API key that\n\
        has all scopes of customers or of the team; one without the scope that is named gets 403 with `required_scope`.\n\
        Its scope stands in for a recent sign-in.\n\
        The last column: what needs a sign-in of the last 15 minutes, all of it or a change of one field; an older one\n\
        gets 403 `auth.reauthentication_required`.\n\
        After a change of the table, run `make access-table` to update this page.\n"
        .to_owned();
    let rows = routes::table();
    let mut tags: Vec<Tag> = rows.iter().map(|endpoint| endpoint.tag).collect();
    let mut known = BTreeSet::new();
    tags.retain(|tag| known.insert(tag.name));
    for tag in tags {
        write!(text, "\n## {}\n\n| Endpoint |", tag.name).unwrap();
        for (_, title) in CALLERS {
            write!(text, " {title} |").unwrap();
        }
        writeln!(text, " scope of a key | recent sign-in |\n|---|{}", "---|".repeat(CALLERS.len() + 2)).unwrap();
        rows.iter().filter(|endpoint| endpoint.tag == tag).for_each(|endpoint| write_row(&mut text, endpoint));
    }
    text
}

fn write_row(text: &mut String, endpoint: &Endpoint) {
    write!(text, "| `{}` |", name(endpoint)).unwrap();
    for (caller, _) in CALLERS {
        let mark = match refusal(endpoint, caller) {
            Some((status, _)) => status.to_string(),
            None if names_something_of_a_customer(endpoint) => "· *".to_owned(),
            None => "·".to_owned(),
        };
        write!(text, " {mark} |").unwrap();
    }
    let scopes: Vec<String> = endpoint.scopes.iter().map(|scope| format!("`{scope}`")).collect();
    write!(text, " {} |", scopes.join(" or ")).unwrap();
    match endpoint.recent_sign_in {
        RecentSignIn::NotNeeded => writeln!(text, " |"),
        RecentSignIn::Needed => writeln!(text, " needed |"),
        RecentSignIn::NeededFor(field) => writeln!(text, " `{field}` |"),
    }
    .unwrap();
}

#[test]
fn the_page_about_callers_is_the_one_of_this_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/callers.md");
    if std::env::var_os("TRUNKLINE_WRITE_CALLERS").is_some() {
        std::fs::write(&path, table()).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(kept == table(), "docs/callers.md is stale: run `make access-table` and commit the result");
}

both! {
    async fn every_caller_hears_at_every_row_what_the_page_says(db) {
        let world = World::unlimited(db).await;
        let late = world.minted(Role::Customer).await;
        world.advance(901).await;
        for (caller, _) in CALLERS {
            let client = match caller {
                Caller::Nobody => world.anyone(),
                Caller::Late => late.clone(),
                Caller::Halfway => halfway(&world).await,
                Caller::Customer(role) => world.minted_member(role).await,
                Caller::Support => world.minted(Role::Support).await,
                Caller::Admin => world.minted(Role::Admin).await,
                Caller::Impersonator => impersonator(&world).await,
                Caller::Key { is_team: false } => {
                    let owner = world.minted(Role::Customer).await;
                    world.program(&make_key(&owner, &all_scopes(false)).await)
                }
                Caller::Key { is_team: true } => {
                    let admin = world.minted(Role::Admin).await;
                    world.program(&make_team_key(&admin, &all_scopes(true)).await)
                }
            };
            for endpoint in routes::table().iter().filter(|endpoint| endpoint.who != Who::Anyone) {
                let path = unfounded(endpoint, &uuid().to_string());
                let answer = client.with_key(key()).call(endpoint.method.clone(), &path, None).await;
                match refusal(endpoint, caller) {
                    Some((status, code)) => {
                        assert_eq!(answer.status, status, "{caller:?} at {}", name(endpoint));
                        answer.problem(status, code);
                    }
                    None => assert!(!matches!(answer.status, 401 | 403), "{caller:?} at {}: {}", name(endpoint), answer.body),
                }
            }
        }
        world.end().await;
    }
}

/// Somebody whose password was right and whose code is still to come, with the token of that moment.
async fn halfway(world: &World) -> Client {
    let email = "halfway@customer.example";
    let customer = world.customer(email).await;
    Authenticator::confirmed(world, &customer, "/me/2fa").await;
    let challenge = world.try_sign_in(email, PASSWORD).await.ok();
    world.bearing(challenge["tmp_token"].as_str().unwrap())
}

async fn impersonator(world: &World) -> Client {
    let (admin, customer) = (world.minted(Role::Admin).await, world.minted(Role::Customer).await);
    let account = customer.get("/account").await.ok()["id"].as_str().unwrap().to_owned();
    let path = format!("/admin/customers/{account}/impersonate");
    let given = admin.post(&path, json!({"reason": "A look at every door"})).await.ok();
    world.bearing(given["access_token"].as_str().unwrap())
}
