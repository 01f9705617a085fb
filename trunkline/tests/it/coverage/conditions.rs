//! Methods, ETags and preconditions on every path.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use api::endpoint::Endpoint;
use hyper::Method;
use server::routes;
use values::Role;

use super::examples::{Request, example, needs_example, send};
use super::{name, unfounded};
use crate::world::World;
use crate::world::client::Answer;
use crate::world::engines::{both, uuid};
use crate::world::fixtures::key;

const METHODS: [Method; 6] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::TRACE];

both! {
    async fn a_change_with_a_stale_etag_fails_and_with_the_current_one_succeeds(db) {
        let world = World::unlimited(db).await;
        for endpoint in routes::table().iter().filter(|endpoint| endpoint.is_conditional()) {
            let mut request = example(&world, endpoint).await;
            let caller = world.bearing(request.caller.token());
            // Another version is another operation, and so has a key of its own.
            let holding = |tag: &str| caller.with_key(key()).header("If-Match", tag);
            request.caller = holding("\"a version that never was\"");
            let answer = send(&request, &endpoint.method).await;
            assert_eq!(answer.status, 412, "{}: {}", name(endpoint), answer.body);
            answer.problem(412, "precondition.failed");

            let tag = caller.get(&request.path).await.header("etag").map(str::to_owned);
            let Some(tag) = tag else { continue };
            request.caller = holding(&tag);
            let changed = send(&request, &endpoint.method).await;
            assert_eq!(changed.status, endpoint.handler.status().as_u16(), "{}", name(endpoint));
            let current = caller.get(&request.path).await;
            assert_eq!(changed.header("etag"), current.header("etag"), "{}: {}", name(endpoint), changed.body);
            if current.header("etag") != Some(tag.as_str()) {
                request.caller = holding(&tag);
                send(&request, &endpoint.method).await.problem(412, "precondition.failed");
            }
        }
        world.end().await;
    }

    async fn options_names_the_allowed_methods_and_others_are_refused(db) {
        let world = World::unlimited(db).await;
        for (path, methods) in methods_by_path() {
            let path = path.replace(['{', '}'], "");
            let options = world.anyone().call(Method::OPTIONS, &path, None).await;
            assert_eq!(options.status, 204, "{path}");
            assert_eq!(allowed(&options), methods, "OPTIONS {path}");
            for method in METHODS.iter().filter(|method| !methods.contains(method.as_str())) {
                let answer = world.anyone().call(method.clone(), &path, None).await;
                assert_eq!(allowed(&answer), methods, "{method} {path}");
                answer.problem(405, "method_not_allowed");
            }
        }
        world.end().await;
    }

    async fn head_answers_like_get_without_the_body(db) {
        let world = World::unlimited(db).await;
        for endpoint in routes::table().iter().filter(|endpoint| !endpoint.changes()) {
            let request = readable(&world, endpoint).await;
            let get = send(&request, &Method::GET).await;
            let head = send(&request, &Method::HEAD).await;
            assert_eq!(get.status, 200, "{}", name(endpoint));
            assert_eq!((head.status, head.bytes.len()), (200, 0), "{}", name(endpoint));
            for header in ["content-type", "content-length", "etag", "cache-control"] {
                // A dashboard counts the requests for itself, so the next is longer now and then; so does a delivery
                // with its attempts.
                let grows = endpoint.path.starts_with("/admin/dashboard/") || endpoint.path.contains("/deliveries");
                if header == "content-length" && grows {
                    continue;
                }
                assert_eq!(head.header(header), get.header(header), "{header} of {}", name(endpoint));
            }
            let path = unfounded(endpoint, &uuid().to_string());
            let nothing = Request { path, caller: world.anyone(), body: None, form: None, table: None };
            let (get, head) = (send(&nothing, &Method::GET).await, send(&nothing, &Method::HEAD).await);
            assert_eq!((head.status, head.bytes.len()), (get.status, 0), "{}", name(endpoint));
        }
        world.end().await;
    }

    async fn a_single_resource_has_a_strong_etag_and_answers_not_modified(db) {
        let world = World::unlimited(db).await;
        for endpoint in routes::table().iter().filter(|endpoint| endpoint.handler.is_tagged()) {
            let mut request = readable(&world, endpoint).await;
            let first = send(&request, &Method::GET).await;
            let tag = first.header("etag").unwrap_or_else(|| panic!("{} has no ETag", name(endpoint))).to_owned();
            assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 10, "{}: {tag}", name(endpoint));
            request.caller = request.caller.header("If-None-Match", &tag);
            let again = send(&request, &Method::GET).await;
            assert_eq!((again.status, again.bytes.len()), (304, 0), "{}", name(endpoint));
            assert_eq!(again.header("etag"), Some(tag.as_str()), "{}", name(endpoint));
        }
        world.end().await;
    }
}

/// A GET that succeeds.
pub async fn readable(world: &World, endpoint: &Endpoint) -> Request {
    if needs_example(endpoint) {
        return example(world, endpoint).await;
    }
    let role = Role::ALL.iter().find(|role| endpoint.who.roles().contains(&role.as_str()));
    let caller = match role {
        Some(role) => world.minted(*role).await,
        None => world.anyone(),
    };
    Request { caller, path: endpoint.path.to_owned(), body: None, form: None, table: None }
}

fn methods_by_path() -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut paths: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    for endpoint in routes::table() {
        let methods = paths.entry(endpoint.path).or_insert_with(|| ["OPTIONS".to_owned()].into());
        methods.insert(endpoint.method.to_string());
        if endpoint.method == Method::GET {
            methods.insert("HEAD".to_owned());
        }
    }
    paths
}

#[track_caller]
fn allowed(answer: &Answer) -> BTreeSet<String> {
    answer.header("allow").unwrap_or_default().split(", ").map(str::to_owned).collect()
}
