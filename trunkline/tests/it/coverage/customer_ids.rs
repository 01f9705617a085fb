//! The team's lists name customers alike: `customer_id`, a plain UUID, so that they can be joined.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use server::routes;
use values::{AccountId, Role};

use super::document::description;
use super::examples::{example, needs_example};
use crate::world::World;
use crate::world::engines::both;

/// Lists whose items are accounts: their `id` is the account's.
const ACCOUNTS: [&str; 4] = ["/admin/customers", "/admin/onboarding", "/admin/dunning", "/admin/beta"];

/// The properties of a schema, with those of the schemas it refers to and consists of.
fn properties<'d>(document: &'d Value, schema: &'d Value) -> BTreeMap<&'d str, &'d Value> {
    let mut found: BTreeMap<&str, &Value> =
        schema["properties"].as_object().into_iter().flatten().map(|(name, schema)| (name.as_str(), schema)).collect();
    let parts = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    let referred = schema["$ref"].as_str().and_then(|reference| document.pointer(reference.trim_start_matches('#')));
    for part in parts.chain(referred) {
        found.extend(properties(document, part));
    }
    found
}

/// The items of every list in a schema.
fn items<'d>(document: &'d Value, schema: &'d Value, found: &mut Vec<&'d Value>) {
    found.extend(schema.get("items"));
    for property in properties(document, schema).into_values().chain(schema.get("items")) {
        items(document, property, found);
    }
}

/// The objects in every list of a response.
fn rows<'r>(value: &'r Value, found: &mut Vec<&'r Value>) {
    match value {
        Value::Object(fields) => fields.values().for_each(|field| rows(field, found)),
        Value::Array(list) => {
            found.extend(list.iter().filter(|row| row.is_object()));
            list.iter().for_each(|row| rows(row, found));
        }
        _ => {}
    }
}

#[test]
fn every_list_of_the_team_that_names_an_account_has_its_customer_id() {
    let document = description();
    let mut lists = 0;
    for (path, methods) in document["paths"].as_object().unwrap().iter().filter(|(path, _)| path.starts_with("/admin/"))
    {
        let mut found = Vec::new();
        items(&document, &methods["get"]["responses"]["200"]["content"]["application/json"]["schema"], &mut found);
        for item in found {
            let properties = properties(&document, item);
            let has = |name: &str| properties.contains_key(name);
            let is_account = ACCOUNTS.contains(&path.as_str()) && has("id");
            if !is_account && !has("account_id") && !has("customer_id") {
                continue;
            }
            let schema = properties.get("customer_id").unwrap_or_else(|| panic!("{path} has no customer_id: {item}"));
            let kind = &schema["type"];
            assert!(*kind == json!("string") || *kind == json!(["string", "null"]), "{path}: {schema}");
            assert_eq!(schema["format"], "uuid", "{path}");
            lists += 1;
        }
    }
    assert!(lists >= 14, "only {lists} lists were found");
}

both! {
    async fn a_customer_id_is_the_account_id_as_a_plain_uuid(db) {
        let world = World::unlimited(db).await;
        let table = routes::table();
        // What the examples of single resources need is then in the lists.
        for endpoint in table.iter().filter(|endpoint| endpoint.path.starts_with("/admin/") && endpoint.path.contains('{')) {
            assert!(needs_example(endpoint));
            example(&world, endpoint).await;
        }
        let team = world.minted(Role::Support).await;
        let mut named = BTreeSet::new();
        for endpoint in &table {
            if endpoint.changes() || !endpoint.path.starts_with("/admin/") || endpoint.path.contains('{') {
                continue;
            }
            let answer = team.get(endpoint.path).await;
            let mut found = Vec::new();
            rows(&answer.body, &mut found);
            for row in found {
                let account = if ACCOUNTS.contains(&endpoint.path) && row.get("id").is_some() { &row["id"] } else { &row["account_id"] };
                let Some(account) = account.as_str() else { continue };
                let account: AccountId = account.parse().unwrap();
                assert_eq!(row["customer_id"], json!(account.uuid()), "{} {row}", endpoint.path);
                named.insert(endpoint.path);
            }
        }
        let lists = ["audit-log", "calls", "cdrs", "compliance/intakes", "customers", "dunning", "kyb", "onboarding", "tickets"];
        for list in lists {
            assert!(named.contains(format!("/admin/{list}").as_str()), "nothing was in {list}: {named:?}");
        }
        world.end().await;
    }
}
