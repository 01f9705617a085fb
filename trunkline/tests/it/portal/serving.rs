//! Screens, assets and addresses that do not exist.

use reqwest::Method;
use serde_json::json;

use super::{BROWSER, FONT, PAGE, SCRIPT, portal, visitor};
use crate::world::World;
use crate::world::client::Answer;
use crate::world::engines::sqlite;

const SCREENS: [&str; 5] = ["/", "/trunks", "/trunks/{id}", "/calls/{id}", "/calls/live"];
const ADDRESSES: [&str; 6] = ["/", "/trunks", "/trunks/0198c0de", "/trunks/a%2Fb?tab=calls", "/calls/1", "/calls/live"];

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html";

fn assert_page(answer: &Answer, context: &str) {
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-cache"),
        ("content-security-policy", POLICY),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name} of {context}");
    }
    assert!(varies_by(answer, "accept-encoding"), "{context}");
}

fn varies_by(answer: &Answer, header: &str) -> bool {
    let values = answer.headers.get_all("vary").iter();
    values.flat_map(|value| value.to_str().unwrap().split(',')).any(|name| name.trim() == header)
}

sqlite! {
    async fn every_screen_is_the_page_of_the_portal_under_its_policy(db) {
        let world = World::with_portal(db, portal(&SCREENS)).await.unwrap();
        for accept in [BROWSER, "*/*"] {
            let (visitor, url) = visitor(&world, accept);
            for address in ADDRESSES {
                let answer = visitor.get(&url(address)).await;
                assert_eq!((answer.status, answer.bytes.as_slice()), (200, PAGE), "{address}");
                assert_page(&answer, address);
                assert!(answer.header("etag").is_some() && answer.header("content-encoding").is_none(), "{address}");
            }
        }
        // What the service has beside it stays.
        let (visitor, url) = visitor(&world, BROWSER);
        assert_eq!(visitor.get(&url("/docs")).await.status, 200);
        assert!(visitor.get(&url("/v1/portal")).await.ok()["bootstrap_required"].is_boolean());
        world.end().await;
    }

    async fn screens_and_assets_come_in_the_coding_that_the_caller_likes_best(db) {
        let world = World::with_portal(db, portal(&SCREENS)).await.unwrap();
        let (visitor, url) = visitor(&world, BROWSER);
        for (accepted, coding) in [
            ("gzip, deflate, br, zstd", Some("br")),
            ("gzip, deflate", Some("gzip")),
            ("br;q=0.5, gzip", Some("gzip")),
            ("br;q=0, gzip", Some("gzip")),
            ("identity", None),
            ("zstd", None),
        ] {
            for (path, name, plain) in [("/trunks", "page", PAGE), ("/assets/base-Ab12.js", "script", SCRIPT)] {
                let answer = visitor.header("Accept-Encoding", accepted).get(&url(path)).await;
                let expected = coding.map_or(plain.to_vec(), |coding| format!("{name}, {coding}").into_bytes());
                assert_eq!((answer.status, answer.header("content-encoding")), (200, coding), "{path} {accepted}");
                assert_eq!(answer.bytes, expected, "{path} {accepted}");
                assert!(varies_by(&answer, "accept-encoding"), "{path} {accepted}");
                let tag = answer.header("etag").unwrap();
                assert_eq!(tag.ends_with(&format!(".{}\"", coding.unwrap_or("br"))), coding.is_some(), "{tag}");

                let again = visitor.header("Accept-Encoding", accepted).header("If-None-Match", tag);
                let unchanged = again.get(&url(path)).await;
                assert_eq!((unchanged.status, unchanged.bytes.len()), (304, 0), "{path} {accepted}");
                assert_eq!(unchanged.header("etag"), Some(tag));
                assert_eq!(unchanged.header("cache-control"), answer.header("cache-control"));
            }
        }
        let changed = visitor.header("If-None-Match", "\"another\"").get(&url("/trunks")).await;
        assert_eq!(changed.status, 200);
        world.end().await;
    }

    async fn assets_are_kept_for_ever_and_other_files_are_asked_for_again(db) {
        let world = World::with_portal(db, portal(&SCREENS)).await.unwrap();
        let (visitor, url) = visitor(&world, "*/*");
        let immutable = "public, max-age=31536000, immutable";
        for (path, media_type, caching) in [
            ("/assets/base-Ab12.js", "text/javascript; charset=utf-8", immutable),
            ("/assets/font-Cd34.woff2", "font/woff2", immutable),
            ("/favicon.svg", "image/svg+xml", "no-cache"),
        ] {
            let answer = visitor.get(&url(path)).await;
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.header("content-type"), Some(media_type));
            assert_eq!(answer.header("cache-control"), Some(caching), "{path}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
            assert_eq!(answer.header("content-security-policy"), Some("default-src 'none'; frame-ancestors 'none'"));
        }
        // What has no compressed form is sent as it is.
        let font = visitor.header("Accept-Encoding", "br, gzip").get(&url("/assets/font-Cd34.woff2")).await;
        assert_eq!((font.bytes.as_slice(), font.header("content-encoding")), (FONT, None));
        world.end().await;
    }

    async fn an_unknown_address_is_a_page_for_browsers_and_a_problem_for_programs(db) {
        let world = World::with_portal(db, portal(&SCREENS)).await.unwrap();
        let unknown = ["/nowhere", "/trunks/", "/trunks/1/2", "/assets/base-Gone.js", "/index.html", "/screens.json"];
        let (browser, url) = visitor(&world, BROWSER);
        for path in unknown {
            // A page that the browser kept under this address does not make it exist.
            for browser in [browser.clone(), browser.header("If-None-Match", "*")] {
                let answer = browser.get(&url(path)).await;
                assert_eq!((answer.status, answer.bytes.as_slice()), (404, PAGE), "{path}");
                assert_page(&answer, path);
                assert!(answer.header("etag").is_none() && varies_by(&answer, "accept"), "{path}");
            }
            let packed = browser.header("Accept-Encoding", "br").get(&url(path)).await;
            assert_eq!((packed.status, packed.bytes.as_slice()), (404, b"page, br".as_slice()));
            let head = browser.call(Method::HEAD, &url(path), None).await;
            assert_eq!((head.status, head.bytes.len()), (404, 0));
            assert_eq!(head.header("content-length"), Some(PAGE.len().to_string().as_str()));

            browser.post(&url(path), json!({})).await.problem(404, "not_found");
            for accept in ["*/*", "application/json", "text/html;q=0, */*"] {
                let (program, _) = visitor(&world, accept);
                assert_eq!(program.get(&url(path)).await.problem(404, "not_found")["instance"], path);
            }
            world.anyone().get(&url(path)).await.problem(404, "not_found");
        }
        // The API speaks in problems only.
        for path in ["/v1", "/v1/nowhere"] {
            browser.get(&url(path)).await.problem(404, "not_found");
        }
        world.end().await;
    }

    async fn a_screen_answers_head_like_get_and_refuses_other_methods(db) {
        let world = World::with_portal(db, portal(&SCREENS)).await.unwrap();
        let (visitor, url) = visitor(&world, BROWSER);
        for path in ["/trunks/1", "/assets/base-Ab12.js"] {
            let whole = visitor.get(&url(path)).await;
            let head = visitor.call(Method::HEAD, &url(path), None).await;
            assert_eq!((head.status, head.bytes.len()), (200, 0));
            assert_eq!(head.header("content-length"), Some(whole.bytes.len().to_string().as_str()));
            for name in ["etag", "content-type", "cache-control", "content-security-policy"] {
                assert_eq!(head.header(name), whole.header(name), "{path}");
            }
            let refused = visitor.post(&url(path), json!({})).await;
            assert_eq!(refused.header("allow"), Some("GET, HEAD, OPTIONS"));
            refused.problem(405, "method_not_allowed");
        }
        world.end().await;
    }

    async fn a_portal_with_a_path_of_the_service_does_not_start(db) {
        for path in [
            "/docs", "/manual", "/manual/rates", "/v1", "/v1/openapi.json", "/v1/trunks/{trunk}", "/v1/a/new/path", "/.well-known/security.txt",
            "/sandbox/checkout/{id}", "/sandbox/checkout/new",
        ] {
            let refused = World::with_portal(db, portal(&["/", path])).await.err().unwrap().to_string();
            assert_eq!(refused, format!("the portal has {path}, which is a path of the service"));
        }
        for screens in [["/trunks/{id}", "/trunks/{trunk}"], ["/", "/favicon.svg"], ["/", "/trunks/{"]] {
            let refused = World::with_portal(db, portal(&screens)).await.err().unwrap().to_string();
            assert!(refused.starts_with("portal: /"), "{refused}");
        }
        let unreadable = api::portal::Portal { screens: "/trunks\n/calls", ..portal(&[]) };
        let refused = World::with_portal(db, unreadable).await.err().unwrap().to_string();
        assert!(refused.starts_with("screens of the portal: "), "{refused}");
    }
}
